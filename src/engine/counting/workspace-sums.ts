/**
 * Sums of whole workspaces: a summary of 100,000 codes costs as much as one of ten. A union over the codes took seconds.
 *
 *   blocks of all shards, in order --> workspace actor --> summary, days, months under `workspaceCounter`
 *                                  --> scans by code and day (code-counts.ts)
 *
 * The shard that owns a workspace's partition follows the blocks of ALL shards, a few each cycle, and saves the sequence it
 * has reached with its checkpoint: each block counts once, and queries add the blocks since. The sums keep the scans of
 * deleted codes: a union cannot be undone.
 */
import { partitionOf } from '../../model/code.ts';
import {
  newestSequence,
  putCheckpoints,
  readCheckpoints,
  type ScanStore,
  workspaceCounter,
} from '../../store/scans/scans.ts';
import type { ScanBlock } from './block.ts';
import { CodeActor } from './code-actor.ts';
import { addCounts, countScans, type PieceCounts } from './code-counts.ts';
import { type DayPiece, wholeDayPiece } from './days/day.ts';
import type { TimeRange } from '../../model/zones/local-range.ts';
import type { ZoneCuts } from './days/zone-cuts.ts';
import { storedBlocks } from './stored-blocks.ts';
import { Summaries } from './summaries.ts';
import { UncountedBlocks } from './uncounted-blocks.ts';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';

/** Cities and referer hosts of a day: ten codes' worth. A summary has at most 40 KB. */
const namesMax = 1_000;
/** Blocks applied in one cycle; only catching up needs more. */
const blocksPerCycle = 64;
/** Workspaces in memory; beyond it all are freed after a save. */
const actorsMax = 10_000;

interface Sum {
  readonly workspaceNo: WorkspaceNo;
  /** Sequence up to which its scans were saved when this shard started. */
  readonly from: number;
  readonly actor: CodeActor;
  readonly counts: PieceCounts;
}

export interface WorkspaceSumsOptions {
  readonly store: ScanStore;
  readonly shard: number;
  readonly shards: number;
  readonly partitions: readonly number[];
  readonly cuts?: ZoneCuts;
}

export class WorkspaceSums {
  readonly #options: WorkspaceSumsOptions;
  readonly #summaries: Summaries;
  readonly #sums = new Map<number, Sum>();
  readonly #saved: Float64Array;
  readonly #uncounted = new UncountedBlocks();
  /** Sequence up to which blocks are in memory or saved. */
  #applied: number;
  /** Unreadable blocks, whose scans are in no sum. */
  lostBlocks = 0;

  constructor(options: WorkspaceSumsOptions) {
    const { store, partitions, cuts } = options;
    this.#options = options;
    this.#summaries = new Summaries(store, namesMax, cuts);
    this.#saved = readCheckpoints(store, 'workspaces');
    this.#applied = Math.min(...partitions.map((partition) => this.#saved[partition]!));
  }

  /** Adds a block that this shard has just committed, if it is the next one. */
  take(block: ScanBlock): void {
    if (block.sequence !== this.#applied + 1) return;
    this.#add(block);
    this.#applied = block.sequence;
  }

  get isCaughtUp(): boolean {
    return newestSequence(this.#options.store) <= this.#applied;
  }

  /** Adds the next blocks of any shard. */
  follow(): void {
    const { store } = this.#options;
    const newest = newestSequence(store);
    if (newest <= this.#applied) return;
    let looked = 0;
    const range = { start: this.#applied + 1, limit: blocksPerCycle };
    for (const [key, block] of storedBlocks(store, range)) {
      if (block === undefined) this.lostBlocks++;
      else this.#add(block);
      this.#applied = key;
      looked++;
    }
    if (looked === 0) this.#applied = newest;
  }

  /** Counts the added blocks; call before a save. */
  count(): void {
    let sum: Sum | undefined;
    this.#uncounted.each(
      (block, group) => block.workspaceNo(group),
      (workspaceNo, block, group) => {
        if (sum?.workspaceNo !== workspaceNo) sum = this.#sumOf(workspaceNo);
        if (sum !== undefined && block.sequence > sum.from) sum.actor.take(block, group);
      },
    );
    this.#uncounted.each(
      (block, group) => block.codeNo(group),
      (codeNo, block, group) => {
        const own = this.#sums.get(block.workspaceNo(group));
        if (own !== undefined && block.sequence > own.from) countInto(own, codeNo, block, group);
      },
    );
    this.#uncounted.clear();
  }

  /** Writes changes inside the checkpoint's transaction; call `settle` once it has committed. */
  save(): void {
    const { store, partitions } = this.#options;
    for (const { workspaceNo, actor, counts } of this.#sums.values()) {
      if (!actor.isDirty) continue;
      actor.save();
      addCounts(store, workspaceNo, counts);
    }
    // Another shard may have saved a partition further: its checkpoint stays.
    const moved = partitions.filter((partition) => this.#saved[partition]! < this.#applied);
    putCheckpoints(store, moved, this.#applied, 'workspaces');
  }

  settle(): void {
    for (const { actor, counts } of this.#sums.values()) {
      actor.settle();
      counts.clear();
    }
    if (this.#sums.size > actorsMax) this.#sums.clear();
  }

  #add(block: ScanBlock): void {
    this.#uncounted.add(block);
    if (this.#uncounted.isFull) this.count();
  }

  /** Undefined = owned by another shard. */
  #sumOf(workspaceNo: WorkspaceNo): Sum | undefined {
    const known = this.#sums.get(workspaceNo);
    if (known !== undefined) return known;
    const { shard, shards } = this.#options;
    const counter = workspaceCounter(workspaceNo);
    const partition = partitionOf(counter);
    if (partition % shards !== shard) return undefined;
    const actor = new CodeActor(counter, this.#summaries);
    const sum: Sum = { workspaceNo, from: this.#saved[partition]!, actor, counts: new Map() };
    this.#sums.set(workspaceNo, sum);
    return sum;
  }
}

/** Adds scans together: those of a code in one window mostly have one piece. */
function countInto({ actor, counts }: Sum, codeNo: CodeNo, block: ScanBlock, group: number): void {
  const end = block.first(group) + block.count(group);
  let piece: (DayPiece & TimeRange) | undefined;
  let scans = 0;
  const add = (dayPiece: DayPiece): void => {
    if (scans > 0) countScans(counts, dayPiece, codeNo, scans);
    scans = 0;
  };
  for (let entry = block.first(group); entry < end; entry++) {
    if (!block.isScan(entry)) continue;
    const timeMs = block.timeMs(entry);
    if (piece === undefined || timeMs >= piece.endMs || timeMs < piece.fromMs) {
      if (piece !== undefined) add(piece);
      // If its sums are frozen, its codes still count, by UTC day.
      piece = actor.pieceOf(block, entry) ?? wholeDayPiece(block.day(entry));
    }
    scans++;
  }
  if (piece !== undefined) add(piece);
}
