/**
 * The routing of a code: where it leads, for whom and when. engine/routes/ compiles it into a program for the redirect
 * threads.
 *
 *   states   deleted, paused, not begun, expired, used up     -> `fallbackUrl`, or a page with the reason
 *   rules    the first one that matches                       -> its target, or a variant of its split
 *   split    when no rule matches                             -> the visitor's variant
 *   target   without a split, and always for bots, previews and prefetches
 */
import type { BrowserName, DeviceName, OsName } from '../scan.ts';
import type { Weekday } from '../day.ts';
import type { RouteLabel } from './labels.ts';

export const rulesMax = 20;
export const conditionsMax = 6;
/** Per condition. */
export const countriesMax = 60;
export const languagesMax = 20;
export const queryPairsMax = 5;
export const queryNameLengthMax = 40;
export const queryValueLengthMax = 120;
export const splitLeast = 2;
export const splitMax = 8;
export const weightMax = 1_000;
/** All rules and splits together: this bounds the program. */
export const routeTargetsMax = 28;

export const utmLengthMax = 120;

export interface TimeWindow {
  /** Absent = every day. A window that spans midnight belongs to the day on which it begins. */
  readonly days?: readonly Weekday[];
  /** `HH:MM`, included. Absent = 00:00. */
  readonly from?: string;
  /** `HH:MM`, excluded. Absent = 24:00. */
  readonly to?: string;
  /** IANA zone, as written. */
  readonly timezone: string;
}

/** ISO 8601; `from` is included, `to` excluded. */
export interface DateWindow {
  readonly from?: string;
  readonly to?: string;
}

/** All conditions must match; in an array one value must. */
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
  /** Parameters of the short link; `*` = any value. */
  readonly query?: Readonly<Record<string, string>>;
}

export interface RouteVariant {
  readonly label: string;
  readonly target: string;
  /** Its share of the sum. */
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
/** Values as written, with the tokens `{slug}`, `{label}` and `{campaign}`. */
export type Utm = Readonly<Partial<Record<UtmKey, string>>>;

export interface Routing {
  readonly rules: readonly RouteRule[];
  readonly split?: readonly RouteVariant[];
  readonly utm?: Utm;
  /** Whether the short link's query is added to the target. */
  readonly passQuery: boolean;
  readonly startsAtMs?: number;
  readonly paused: boolean;
  readonly fallbackUrl?: string;
  /** The label at index i has route number i + 1. */
  readonly labels: readonly RouteLabel[];
  /** When the code got its first label; events of earlier scans have no route. Never changes. */
  readonly labelsSinceMs?: number;
  /** The value of `{campaign}`: the campaign's name when the code was last stored. */
  readonly campaign: string;
  /** 16 random bytes, base64url: the key that assigns visitors to variants. Never changes. */
  readonly seed: string;
}

/** Whether the link needs a program: `utm` alone is part of its target. */
export function needsProgram(routing: Routing): boolean {
  const { rules, split, passQuery, startsAtMs, paused, fallbackUrl } = routing;
  const hasState = startsAtMs !== undefined || paused || fallbackUrl !== undefined;
  return rules.length > 0 || split !== undefined || passQuery || hasState;
}
