/**
 * Where a code leads, to whom, and when: the words of it, as a code's record has them.
 *
 *   states   deleted, paused, not begun, expired, used up     -> `fallbackUrl`, or a page that says so
 *   rules    the first whose conditions all hold              -> its target, or a variant of its split
 *   split    where no rule holds                              -> a variant, the same one for the same visitor
 *   target   where there is no split                          and for bots, previews and prefetches always
 *
 * A code that uses none of it has no `Routing`, and costs what it did. src/routes/ makes a program of it, which the
 * redirect threads follow.
 */
import type { BrowserName, DeviceName, OsName } from '../scan.ts';
import type { RouteLabel } from './labels.ts';

export const rulesMax = 20;
export const conditionsMax = 6;
/** Of one condition. */
export const countriesMax = 60;
export const languagesMax = 20;
export const queryPairsMax = 5;
export const queryNameLengthMax = 40;
export const queryValueLengthMax = 120;
export const splitLeast = 2;
export const splitMax = 8;
export const weightMax = 1_000;
/** Of rules and splits together, so that a program has a bound. */
export const routeTargetsMax = 28;

export const utmLengthMax = 120;

export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type Weekday = (typeof weekdays)[number];

/** Of a day's clock; `24:00` only as an end. */
export interface TimeWindow {
  /** Absent = every day. A window that spans midnight belongs to the day it begins on. */
  readonly days?: readonly Weekday[];
  /** `HH:MM`, counts. Absent = 00:00. */
  readonly from?: string;
  /** `HH:MM`, does not count. Absent = 24:00. */
  readonly to?: string;
  /** IANA zone, as it was given. */
  readonly timezone: string;
}

/** ISO 8601; `from` counts, `to` does not. */
export interface DateWindow {
  readonly from?: string;
  readonly to?: string;
}

/** All must hold; of an array any value does. */
export interface RouteConditions {
  readonly device?: readonly DeviceName[];
  readonly os?: readonly OsName[];
  readonly browser?: readonly BrowserName[];
  /** ISO 3166-1 alpha-2, `ZZ` = unknown. */
  readonly country?: readonly string[];
  /** BCP 47 ranges, compared without case. */
  readonly language?: readonly string[];
  readonly time?: TimeWindow;
  readonly date?: DateWindow;
  /** Of the short link's own query; `*` = any value. */
  readonly query?: Readonly<Record<string, string>>;
}

export interface RouteVariant {
  readonly label: string;
  readonly target: string;
  /** Its share is this of the sum. */
  readonly weight: number;
}

export type RouteOutcome =
  | { readonly target: string }
  | { readonly split: readonly RouteVariant[] };

export interface RouteRule {
  readonly label: string;
  readonly if: RouteConditions;
  readonly then: RouteOutcome;
}

export const utmKeys = ['source', 'medium', 'campaign', 'term', 'content'] as const;
export type UtmKey = (typeof utmKeys)[number];
/** Values as they were given, with `{slug}`, `{label}` and `{campaign}` in them. */
export type Utm = Readonly<Partial<Record<UtmKey, string>>>;

export interface Routing {
  readonly rules: readonly RouteRule[];
  readonly split?: readonly RouteVariant[];
  readonly utm?: Utm;
  /** The short link's own query is added to where it leads. */
  readonly passQuery: boolean;
  readonly startsAtMs?: number;
  readonly paused: boolean;
  readonly fallbackUrl?: string;
  /** The label at index i has the number i + 1 in scans. */
  readonly labels: readonly RouteLabel[];
  /** When it got the first of them, and never changed: events of earlier scans keep naming no route. */
  readonly labelsSinceMs?: number;
  /** What `{campaign}` stands for: the name of the code's campaign when it was last stored. */
  readonly campaign: string;
  /** 16 random bytes, base64url: the key that deals visitors out to variants. Never changes. */
  readonly seed: string;
}

/** Whether a redirect thread needs a program for it: `utm` alone is in the link's target already. */
export function needsProgram(routing: Routing): boolean {
  const { rules, split, passQuery, startsAtMs, paused, fallbackUrl } = routing;
  const hasState = startsAtMs !== undefined || paused || fallbackUrl !== undefined;
  return rules.length > 0 || split !== undefined || passQuery || hasState;
}
