/** The blocks of the store, for all their readers. A damaged one keeps no later ones from being counted or delivered. */
import { partitionOf } from '../../model/code.ts';
import { dayMs } from '../../model/day.ts';
import { readOr } from '../../model/failure.ts';
import { idTimeMs } from '../../model/ids.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';
import type { Range } from '../../store/environment.ts';
import { newestSequence, readCheckpoints, type ScanStore } from '../../store/scans/scans.ts';
import { firstReached } from '../../store/sequence-search.ts';
import { ScanBlock } from './block.ts';
import { scannedEventId } from './scanned-event.ts';

/** Cores of a cluster have a scan at different times: what one continues of another begins so much earlier. */
export const coresMsMax = 60_000;
/** A search for an event reads the first blocks that have its time, about 20 ms. */
const lookedAtMax = 64;
const lookedAtBytesMax = 16_777_216;

/** `undefined` = damaged. */
export type StoredBlock = readonly [sequence: number, block: ScanBlock | undefined];

export function* storedBlocks(
  { blocks }: Pick<ScanStore, 'blocks'>,
  range: Range<number>,
): Generator<StoredBlock> {
  const damaged: number[] = [];
  for (const { key, value } of blocks.range(range, (at) => damaged.push(at))) {
    for (const at of damaged.splice(0)) yield [at, undefined];
    yield [key, readOr(() => new ScanBlock(value), undefined)];
  }
  for (const at of damaged) yield [at, undefined];
}

/**
 * Recovery: visits the groups of these partitions' codes that are not saved yet.
 * @returns the sequence it began after, and the number of unreadable blocks
 */
export function eachSinceCheckpoint(
  store: ScanStore,
  partitions: readonly number[],
  visit: (block: ScanBlock, group: number) => void,
): { readonly from: number; readonly damaged: number } {
  const checkpoints = readCheckpoints(store);
  const own = new Set(partitions);
  const from = Math.min(...partitions.map((partition) => checkpoints[partition]!));
  let damaged = 0;
  for (const [sequence, block] of storedBlocks(store, { start: from + 1 })) {
    if (block === undefined) damaged++;
    else {
      for (let group = 0; group < block.groups; group++) {
        const partition = partitionOf(block.codeNo(group));
        if (own.has(partition) && sequence > checkpoints[partition]!) visit(block, group);
      }
    }
  }
  return { from, damaged };
}

/** Scans of a damaged block may be this much older than the newest scan before it, within this many blocks. */
const overlapMs = 10_000;
const overlapBlocks = 8_192;

/** Which scans below the watermarks are in no block: those of the only damaged one. Undefined if a checkpoint is past it. */
export function missingScans(
  store: ScanStore,
  partitions: readonly number[],
): ((journal: number, position: number, timeMs: number) => boolean) | undefined {
  const checkpoints = readCheckpoints(store);
  const own = partitions.map((partition) => checkpoints[partition]!);
  const savedTo = Math.max(...own, ...readCheckpoints(store, 'workspaces'));
  const range = { start: Math.max(1, savedTo - overlapBlocks) };
  const damaged: number[] = [];
  let newestMs = -Infinity;
  for (const [sequence, block] of storedBlocks(store, range)) {
    if (block === undefined) damaged.push(sequence);
    else if (damaged.length === 0) newestMs = Math.max(newestMs, block.newestMs);
  }
  const [only = 0] = damaged;
  // Without a block before it, it must be the very first one.
  if (damaged.length !== 1 || only <= savedTo || (newestMs === -Infinity && only > 1))
    return undefined;
  const sinceMs = newestMs - overlapMs;
  const found = new Set<string>();
  for (const [, block] of storedBlocks(store, range)) {
    if (block === undefined) continue;
    for (let entry = 0; entry < block.entries; entry++) {
      if (block.timeMs(entry) < sinceMs) continue;
      found.add(`${block.journal(entry)} ${block.position(entry)}`);
    }
  }
  return (journal, position, timeMs) => timeMs >= sinceMs && !found.has(`${journal} ${position}`);
}

/** The block with the scan of a workspace's event; undefined for an unknown id. */
export function blockOfEvent(
  store: ScanStore,
  workspaceNo: WorkspaceNo,
  eventId: string,
): number | undefined {
  const timeMs = idTimeMs(eventId);
  const start = firstBlockOf(store, timeMs);
  let bytes = 0;
  for (const [sequence, block] of storedBlocks(store, { start, limit: lookedAtMax })) {
    if (block !== undefined && hasEvent(block, workspaceNo, timeMs, eventId)) return sequence;
    bytes += block?.length ?? 0;
    if (bytes >= lookedAtBytesMax) return undefined;
  }
  return undefined;
}

/** The last block that may have scans of this time: blocks of different shards overlap. */
export function lastBlockOf(store: ScanStore, timeMs: number): number {
  return Math.min(newestSequence(store), firstBlockOf(store, timeMs) + lookedAtMax);
}

/** The last block before the first with a scan of this time or later. */
export function lastBlockBefore(store: ScanStore, timeMs: number): number {
  return firstBlockOf(store, timeMs) - 1;
}

/** The first block with a scan of this time or later; newest + 1 when none has one. */
export function firstBlockOf(store: ScanStore, timeMs: number): number {
  const to = newestSequence(store) + 1;
  const [from = to] = store.blocks.keys({ limit: 1 });
  return firstReached(
    store.blocks,
    { from, to },
    (bytes) => new ScanBlock(bytes).newestMs >= timeMs,
  );
}

/** Only scans of the id's millisecond can have it. */
function hasEvent(
  block: ScanBlock,
  workspaceNo: WorkspaceNo,
  timeMs: number,
  eventId: string,
): boolean {
  for (let group = 0; group < block.groups; group++) {
    if (block.workspaceNo(group) !== workspaceNo) continue;
    const first = block.first(group);
    for (let entry = first; entry < first + block.count(group); entry++) {
      if (Math.trunc(block.timeMs(entry)) !== timeMs) continue;
      if (scannedEventId(block, entry) === eventId) return true;
    }
  }
  return false;
}

/** Without retention of raw scans, blocks stay this long for their events. */
const eventsOnlyMs = 3_600_000;

interface BlockRetention {
  readonly nowMs: number;
  /** 0 = kept only as long as events need them. */
  readonly rawRetentionDays: number;
  readonly doneTo: number;
  readonly limit: number;
}

/** Removes some of the oldest blocks: those whose scans are all old enough, counted and delivered. Inside a transaction. */
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
    // A damaged block, or one dated by a clock that ran ahead, goes with the next expired block.
    const newestMs = block?.newestMs ?? Infinity;
    if (newestMs < nowMs - keptMs) expired = keys.length;
    else if (newestMs <= nowMs) break;
  }
  if (expired === 0) return;
  for (const key of keys.slice(0, expired)) store.blocks.remove(key);
}
