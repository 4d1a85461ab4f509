/**
 * A counted scan as clients see it: the `qr.scanned` envelope, and the row of the raw scans. They show no more of a visitor
 * than the fields here. An entry always gives the same event: the label of a number does not change while it has scans, and
 * scans from before a code's first label name no route.
 */
import { isoTime } from '../../model/day.ts';
import type { ScannedCode } from '../../model/code.ts';
import type { EventEnvelope } from '../../model/event.ts';
import { type IdPrefix, positionId } from '../../model/ids.ts';
import {
  isMissed,
  labelOfRoute,
  type RouteLabel,
  targetRoute,
} from '../../model/routing/labels.ts';
import type { Routing } from '../../model/routing/routing.ts';
import { botReasonNames, browserNames, deviceNames, osNames } from '../../model/scan.ts';
import type { ScanBlock } from './block.ts';

/** Ids have 40 bits of a position; the time and the journal make them unique. */
const idPositions = 2 ** 40;

export interface RawScan {
  /** `scn_…` */
  readonly id: string;
  readonly scannedAt: string;
  /** Two letters; `ZZ` = unknown. */
  readonly country: string;
  /** Empty = unknown. */
  readonly city: string;
  readonly device: string;
  readonly os: string;
  readonly browser: string;
  readonly referer: string | null;
  /** Why it does not count as a scan; null = it counts. */
  readonly bot: string | null;
  /** Label of the route, or `target`; null = the code has never had labels, or the scan led nowhere. */
  readonly route: string | null;
}

/** Scans that readers in this thread skipped, counted at each read. */
export const unshown = { scans: 0 };

/** Whether it can be an event or a raw scan: ids have 48 bits for the time. */
export function takeShown(block: ScanBlock, entry: number): boolean {
  const timeMs = block.timeMs(entry);
  if (timeMs >= 0 && timeMs < 2 ** 48) return true;
  unshown.scans++;
  return false;
}

export function scannedEvent(
  block: ScanBlock,
  entry: number,
  { id: qrId, routing }: ScannedCode,
): EventEnvelope {
  const at = isoTime(block.timeMs(entry));
  const route = routing && routeOfEvent(block, entry, routing);
  return {
    id: scannedEventId(block, entry),
    event: 'qr.scanned',
    createdAt: at,
    data: {
      qrId,
      scannedAt: at,
      country: block.country(entry),
      city: block.city(entry),
      device: deviceNames[block.device(entry)] ?? 'other',
      os: osNames[block.os(entry)] ?? 'other',
      referer: block.referer(entry) === '' ? null : block.referer(entry),
      ...(route === undefined ? {} : { route }),
    },
  };
}

export const scannedEventId = (block: ScanBlock, entry: number): string =>
  entryId('evt', block, entry);

/** @param labels of its code */
export function rawScan(block: ScanBlock, entry: number, labels: readonly RouteLabel[]): RawScan {
  const bot = block.bot(entry);
  const route = block.route(entry);
  return {
    id: entryId('scn', block, entry),
    scannedAt: isoTime(block.timeMs(entry)),
    country: block.country(entry),
    city: block.city(entry),
    device: deviceNames[block.device(entry)] ?? 'other',
    os: osNames[block.os(entry)] ?? 'other',
    browser: browserNames[block.browser(entry)] ?? 'other',
    referer: block.referer(entry) === '' ? null : block.referer(entry),
    bot: bot === 0 ? null : (botReasonNames[bot] ?? 'other'),
    route: labels.length === 0 || isMissed(route) ? null : labelOfRoute(labels, route),
  };
}

/** Undefined for a scan older than the code's labels. */
function routeOfEvent(
  block: ScanBlock,
  entry: number,
  { labels, labelsSinceMs = 0 }: Routing,
): string | undefined {
  const route = block.route(entry);
  const isBefore = route === targetRoute && block.timeMs(entry) < labelsSinceMs;
  return labels.length === 0 || isBefore ? undefined : labelOfRoute(labels, route);
}

function entryId(prefix: IdPrefix, block: ScanBlock, entry: number): string {
  const position = block.position(entry) % idPositions;
  return positionId(prefix, block.timeMs(entry), block.journal(entry), position);
}
