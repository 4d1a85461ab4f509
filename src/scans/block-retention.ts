/**
 * How long raw scans are kept: the oldest blocks expire, a few at a time, inside a checkpoint's
 * transaction; each whole, once all its scans are old enough, counted and delivered.
 */
import { dayMs } from '../model/day.ts';
import type { ScanStore } from '../store/scans/scans.ts';
import { expireMergedBlocks } from './query/raw/merged-blocks.ts';
import { storedBlocks } from './stored-blocks.ts';

/** With no retention of raw scans, blocks stay this long for their events. */
const eventsOnlyMs = 3_600_000;

export interface BlockRetention {
  readonly nowMs: number;
  /** 0 = only as long as events need them. */
  readonly rawRetentionDays: number;
  /** Sequence of the newest block that is counted and delivered: only its raw scans still matter. */
  readonly doneTo: number;
  /** Blocks read. */
  readonly limit: number;
}

/** Inside a transaction. */
export function expireBlocks(
  store: ScanStore,
  { nowMs, rawRetentionDays, doneTo, limit }: BlockRetention,
): void {
  const keptMs = rawRetentionDays > 0 ? rawRetentionDays * dayMs : eventsOnlyMs;
  const keys: number[] = [];
  let expired = 0;
  for (const [key, block] of storedBlocks(store, { limit })) {
    if (key > doneTo) break;
    keys.push(key);
    // A block that is damaged, or dated by a clock that ran ahead, goes with the first one after it that is expired.
    const newestMs = block?.newestMs ?? Infinity;
    if (newestMs < nowMs - keptMs) expired = keys.length;
    else if (newestMs <= nowMs) break;
  }
  if (expired === 0) return;
  for (const key of keys.slice(0, expired)) store.blocks.remove(key);
  expireMergedBlocks(store, keys[expired - 1]!);
}
