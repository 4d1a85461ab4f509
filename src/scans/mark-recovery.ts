/**
 * Watermarks, checkpoints and the blocks' sequence when their record is damaged: each is found again, exactly, from
 * what it was written with.
 *
 *   watermark    journal and partition    behind the newest scan of both that is in a block
 *   checkpoint   partition                the newest block that a summary of the partition knows of
 *   sequence                              the newest block, or the newest checkpoint where blocks have expired
 *
 * A partition's scans come into blocks in the order of their journal, in the transaction that moves the watermark:
 * so what lies behind the newest one is in no block. It may lie below the lost mark, where the journal holds nothing of
 * this partition. In the same way a summary names the newest block that is in it, and all of a partition are saved
 * together: between that block and the lost checkpoint no block has the partition's scans. Where those blocks have
 * expired, their journals and summaries are long past: no segment outlives its scans' blocks by more than a minute.
 *
 * A damaged block or summary on the way is passed over. Where it held the newest scan, the mark comes out too low, and
 * its scans would count twice: two damages at once, which `MarkRepair.isExact` tells apart.
 */
import { partitionCount, partitionOf } from '../model/code.ts';
import { readOr } from '../model/failure.ts';
import {
  type Counted,
  newestSequence,
  readCheckpoints,
  type ScanStore,
  workspaceCounter,
  writeCheckpoints,
} from '../store/scans/scans.ts';
import { newestNumber } from '../store/sequence-search.ts';
import type { ScanBlock } from './block.ts';
import { storedBlocks } from './stored-blocks.ts';
import { namesPerDayMax, Summaries } from './summaries.ts';

export interface MarkRepair {
  /** For the log: `watermark of journal 0, partition 17`. */
  readonly mark: string;
  /** Where it stands now. */
  readonly at: number;
  /** No damaged block or summary was passed over. */
  readonly isExact: boolean;
}

/** Writes anew what is damaged of the marks. @returns what was, mostly nothing */
export function repairMarks(store: ScanStore): MarkRepair[] {
  if (!isAnyDamaged(store)) return [];
  return store.environment.transactionSync(() => [
    ...repairSequence(store),
    ...repairCheckpoints(store, 'codes'),
    ...repairCheckpoints(store, 'workspaces'),
    ...repairWatermarks(store),
  ]);
}

/** Blocks looked through for a mark: hours of them, some seconds. What is older is counted, and its journal deleted. */
const walkMax = 100_000;
const kinds: readonly Counted[] = ['codes', 'workspaces'];

function isAnyDamaged(store: ScanStore): boolean {
  return (
    isDamaged(() => newestSequence(store)) ||
    kinds.some((of) => isDamaged(() => readCheckpoints(store, of))) ||
    damagedWatermarks(store).length > 0
  );
}

function isDamaged(read: () => unknown): boolean {
  return readOr(() => void read(), 'damaged') === 'damaged';
}

function* repairSequence(store: ScanStore): Generator<MarkRepair> {
  if (!isDamaged(() => newestSequence(store))) return;
  const last = newestNumber(store.blocks);
  const sound = kinds.filter((of) => !isDamaged(() => readCheckpoints(store, of)));
  const saved = sound.flatMap((of) => [...readCheckpoints(store, of)]);
  const at = Math.max(last, ...saved);
  store.meta.put('sequence', at);
  yield { mark: 'sequence of the blocks', at, isExact: true };
}

function* repairCheckpoints(store: ScanStore, of: Counted): Generator<MarkRepair> {
  if (!isDamaged(() => readCheckpoints(store, of))) return;
  const counterOf = (block: ScanBlock, group: number): number =>
    of === 'codes' ? block.codeNo(group) : workspaceCounter(block.workspaceNo(group));
  const summaries = new Summaries(store, namesPerDayMax);
  const checkpoints = new Float64Array(partitionCount);
  let left = partitionCount;
  for (const [sequence, block] of storedBlocks(store, newestFirst)) {
    if (block === undefined) continue;
    for (let group = 0; group < block.groups; group++) {
      const counter = counterOf(block, group);
      const partition = partitionOf(counter);
      if (checkpoints[partition]! > 0 || !isCounted(summaries, counter, sequence)) continue;
      checkpoints[partition] = sequence;
      left--;
    }
    if (left === 0) break;
  }
  writeCheckpoints(store, checkpoints, of);
  yield { mark: `checkpoints of ${of}`, at: Math.min(...checkpoints), isExact: true };
}

/** What is damaged or frozen knows nothing: its neighbours do. */
function isCounted(summaries: Summaries, counter: number, sequence: number): boolean {
  return readOr(() => summaries.newestBlock(counter) >= sequence, false);
}

function damagedWatermarks({ watermarks }: ScanStore): number[] {
  return [...watermarks.keys({})].filter((key) => isDamaged(() => watermarks.get(key)));
}

function* repairWatermarks(store: ScanStore): Generator<MarkRepair> {
  const found = new Map<number, number>(damagedWatermarks(store).map((key) => [key, 0]));
  if (found.size === 0) return;
  let left = found.size;
  let isExact = true;
  for (const [, block] of storedBlocks(store, newestFirst)) {
    if (left === 0) break;
    if (block === undefined) isExact = false;
    else left -= raiseTo(found, block);
  }
  for (const [key, behind] of found) {
    const journal = Math.floor(key / partitionCount);
    const at = isExact ? behind : Math.max(behind, lowestSound(store, journal));
    store.watermarks.put(key, at);
    const mark = `watermark of journal ${journal}, partition ${key % partitionCount}`;
    yield { mark, at, isExact };
  }
}

const newestFirst = { start: Number.MAX_SAFE_INTEGER, reverse: true, limit: walkMax };

/** @returns how many of the marks that were not found before it has found */
function raiseTo(found: Map<number, number>, block: ScanBlock): number {
  const before = new Map(found);
  for (let group = 0; group < block.groups; group++) {
    const partition = partitionOf(block.codeNo(group));
    const end = block.first(group) + block.count(group);
    for (let entry = block.first(group); entry < end; entry++) {
      const key = block.journal(entry) * partitionCount + partition;
      if (before.get(key) !== 0) continue;
      found.set(key, Math.max(found.get(key) ?? 0, block.position(entry) + 1));
    }
  }
  return [...found].filter(([key, at]) => at > 0 && before.get(key) === 0).length;
}

function lowestSound(store: ScanStore, journal: number): number {
  const first = journal * partitionCount;
  const keys = Array.from({ length: partitionCount }, (_, partition) => first + partition);
  const sound = keys.filter((key) => !isDamaged(() => store.watermarks.get(key)));
  return Math.min(...sound.map((key) => store.watermarks.get(key) ?? 0));
}
