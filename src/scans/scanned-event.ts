/**
 * A counted scan as clients see it: the `qr.scanned` envelope for events and webhooks, and the row
 * of the raw scans. Both are made from a block's entry alone, so the same entry gives the same bytes
 * whenever it is read, and neither shows more of a visitor than what is named here.
 */
import { isoTime } from '../model/day.ts';
import type { EventEnvelope } from '../model/event.ts';
import { type IdPrefix, positionId } from '../model/ids.ts';
import { botReasonNames, browserNames, deviceNames, osNames } from '../model/scan.ts';
import type { ScanBlock } from './block.ts';

/** Ids carry 40 bits of a position; with the time and the journal beside them that stays unique. */
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
  /** Why it is not counted as a scan; null = it is counted. */
  readonly bot: string | null;
}

/** The event of a person's scan; its id is the scan's own, so reading it again gives the same one. */
export function scannedEvent(block: ScanBlock, entry: number, qrId: string): EventEnvelope {
  const at = isoTime(block.timeMs(entry));
  return {
    id: entryId('evt', block, entry),
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
    },
  };
}

export function rawScan(block: ScanBlock, entry: number): RawScan {
  const bot = block.bot(entry);
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
  };
}

function entryId(prefix: IdPrefix, block: ScanBlock, entry: number): string {
  const position = block.position(entry) % idPositions;
  return positionId(prefix, block.timeMs(entry), block.journal(entry), position);
}
