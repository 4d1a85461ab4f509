/** Previews what a scan would get, by the same program as a redirect thread and the runtime's clocks of time zones. */
import { codeStatusAt, type QrCodeRecord } from '../../model/code.ts';
import { labelOfRoute, type MissedReason, targetLabel } from '../../model/routing/labels.ts';
import type { RouteVariant } from '../../model/routing/routing.ts';
import { countryNumber } from '../../model/scan.ts';
import { compileLink, taggedTarget } from './compile.ts';
import { preferredLanguage } from './language.ts';
import { programWords, programZones } from './program-layout.ts';
import { ProgramReader, type RouteFacts } from './program-reader.ts';
import { queryPairs, withPassedQuery } from './query-text.ts';
import { localMinutes } from '../../model/zones/calendar.ts';

/** The previewed scan of a person. Device, os and browser are numbers of model/scan.ts. */
export interface AskedScan extends Pick<RouteFacts, 'nowMs' | 'device' | 'os' | 'browser'> {
  readonly country: string;
  readonly language: string;
  /** Raw, without its `?`. */
  readonly query: string;
}

interface ResolvedVariant {
  readonly label: string;
  readonly location: string;
  readonly share: number;
}

export interface ResolvedRoute {
  readonly status: 302 | 404 | 410;
  /** Null = a page is shown. */
  readonly location: string | null;
  readonly label: string;
  readonly reason: 'target' | 'rule' | 'split' | MissedReason;
  /** All variants of the deciding split; location and label are those of the largest. */
  readonly variants?: readonly ResolvedVariant[];
}

/** @param code dynamic and not deleted @param scans lifetime scans, called for limited codes only */
export function resolveRoute(
  code: QrCodeRecord,
  asked: AskedScan,
  scans: () => number,
  { target, program } = compileLink(code),
): ResolvedRoute {
  const { routing } = code;
  const status = codeStatusAt({ ...code, ...routing }, asked.nowMs, scans);
  if (status !== 'active') return ended(status, routing?.fallbackUrl);
  if (program === undefined || routing === undefined) {
    return { status: 302, location: target, label: targetLabel, reason: 'target' };
  }
  const route = routeOf(program, asked);
  const label = labelOfRoute(routing.labels, route);
  const passed = (address: string): string =>
    routing.passQuery ? withPassedQuery(address, asked.query) : address;
  if (label === targetLabel) {
    return { status: 302, location: passed(target), label, reason: 'target' };
  }
  const split = splitOf(code, label);
  if (split !== undefined) return splitAnswer(code, split, passed);
  const rule = routing.rules.find((one) => one.label === label && 'target' in one.then);
  const address = rule !== undefined && 'target' in rule.then ? rule.then.target : code.target;
  const location = passed(taggedTarget(code, address, label));
  return { status: 302, location, label, reason: 'rule' };
}

function ended(reason: MissedReason, fallbackUrl: string | undefined): ResolvedRoute {
  if (fallbackUrl !== undefined) {
    return { status: 302, location: fallbackUrl, label: reason, reason };
  }
  const status = reason === 'not_started' ? 404 : 410;
  return { status, location: null, label: reason, reason };
}

/** The number of the route; for a split that of its first variant. */
function routeOf(program: Uint8Array, asked: AskedScan): number {
  const words = programWords(program);
  const zones = programZones(words);
  for (const [index, { word }] of zones.entries()) words[word] = index;
  const reader = new ProgramReader();
  reader.open(words, 0);
  reader.follow({
    ...asked,
    country: countryNumber(asked.country),
    language: preferredLanguage(asked.language),
    query: queryPairs(asked.query),
    localMinutes: (zone) => localMinutes(zones[zone]!.name, asked.nowMs),
    splitPoint: () => 0,
  });
  return reader.route;
}

function splitOf({ routing }: QrCodeRecord, label: string): readonly RouteVariant[] | undefined {
  const splits = [
    ...(routing?.rules ?? []).flatMap(({ then }) => ('split' in then ? [then.split] : [])),
    ...(routing?.split === undefined ? [] : [routing.split]),
  ];
  return splits.find((split) => split.some((variant) => variant.label === label));
}

function splitAnswer(
  code: QrCodeRecord,
  split: readonly RouteVariant[],
  passed: (address: string) => string,
): ResolvedRoute {
  const sum = split.reduce((total, { weight }) => total + weight, 0);
  const variants = split.map(({ label, target, weight }) => ({
    label,
    location: passed(taggedTarget(code, target, label)),
    share: weight / sum,
  }));
  const largest = variants.reduce((best, one) => (one.share > best.share ? one : best));
  const { label, location } = largest;
  return { status: 302, location, label, reason: 'split', variants };
}
