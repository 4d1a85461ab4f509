/**
 * Sums of whole workspaces, kept by the engine so that a summary costs the same over ten codes and over
 * 100,000: a union over the codes took 20 µs for each day of each code that has scans, seconds in all.
 *
 *   blocks of all shards, in order --> workspace actor --> summary, days, months under `workspaceCounter`
 *                                  --> scans by code and day (code-counts.ts)
 *
 * Each workspace belongs to a partition, as a code does; the shard that owns it follows the blocks of
 * ALL shards, a few each cycle, and saves with its checkpoint the sequence that it has come to. So the sums
 * are applied from the blocks as the codes' summaries are, exactly once, and the read side adds the blocks
 * since. They keep the scans of codes that were deleted since: a union cannot be taken back.
 */
import { partitionOf } from '../model/code.ts';
import {
  newestSequence,
  putCheckpoints,
  readCheckpoints,
  type ScanStore,
  workspaceCounter,
} from '../store/scans/scans.ts';
import type { ScanBlock } from './block.ts';
import { CodeActor } from './code-actor.ts';
import { addCounts, PieceCounts } from './code-counts.ts';
import { type Place, wholePlace } from './days/day.ts';
import type { Stretch } from '../model/zones/local-range.ts';
import type { ZoneCuts } from './days/zone-cuts.ts';
import { storedBlocks } from './stored-blocks.ts';
import { Summaries } from './summaries.ts';
import { UncountedBlocks } from './uncounted-blocks.ts';
import type { CodeNo, WorkspaceNo } from '../model/numbers.ts';

/** Cities and referer hosts of a workspace and day: ten codes' worth. A summary of 40 KB at most. */
const namesMax = 1_000;
/** Blocks applied in one cycle; more only wait when catching up. */
const blocksPerCycle = 64;
/** Workspaces kept in memory; beyond it those that are saved leave. */
const actorsMax = 10_000;

interface Sum {
  readonly workspaceNo: WorkspaceNo;
  /** Sequence up to which its scans had been saved when this shard began. */
  readonly from: number;
  readonly actor: CodeActor;
  readonly counts: PieceCounts;
}

export interface WorkspaceSumsOptions {
  readonly store: ScanStore;
  readonly shard: number;
  readonly shards: number;
  /** Those that this shard owns. */
  readonly partitions: readonly number[];
  /** Absent = no day is cut. */
  readonly cuts?: ZoneCuts;
}

export class WorkspaceSums {
  readonly #options: WorkspaceSumsOptions;
  readonly #summaries: Summaries;
  readonly #sums = new Map<number, Sum>();
  /** By partition: sequence up to which it had been saved when this shard began. */
  readonly #saved: Float64Array;
  readonly #uncounted = new UncountedBlocks();
  /** Sequence up to which blocks are in memory or saved. */
  #applied: number;
  /** Blocks that could not be read: their scans are in no sum. */
  lostBlocks = 0;

  constructor(options: WorkspaceSumsOptions) {
    const { store, partitions, cuts } = options;
    this.#options = options;
    this.#summaries = new Summaries(store, namesMax, cuts);
    this.#saved = readCheckpoints(store, 'workspaces');
    this.#applied = Math.min(...partitions.map((partition) => this.#saved[partition]!));
  }

  /** Takes up a block that this shard has just committed, if it is the next one. */
  take(block: ScanBlock): void {
    if (block.sequence !== this.#applied + 1) return;
    this.#add(block);
    this.#applied = block.sequence;
  }

  /** No block waits. */
  get isCaughtUp(): boolean {
    return newestSequence(this.#options.store) <= this.#applied;
  }

  /** Takes up the next blocks, whichever shard wrote them. */
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

  /** Counts the blocks that were added; before a save. */
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

  /** Writes what changed, inside the checkpoint's transaction; `settle` follows once it has committed. */
  save(): void {
    const { store, partitions } = this.#options;
    for (const { workspaceNo, actor, counts } of this.#sums.values()) {
      if (!actor.isDirty) continue;
      actor.save();
      addCounts(store, workspaceNo, counts);
    }
    // A partition that another shard had saved further than this one has come stays there.
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

  /** Undefined when it is another shard's. */
  #sumOf(workspaceNo: WorkspaceNo): Sum | undefined {
    const known = this.#sums.get(workspaceNo);
    if (known !== undefined) return known;
    const { shard, shards } = this.#options;
    const counter = workspaceCounter(workspaceNo);
    const partition = partitionOf(counter);
    if (partition % shards !== shard) return undefined;
    const actor = new CodeActor(counter, this.#summaries);
    const sum = { workspaceNo, from: this.#saved[partition]!, actor, counts: new PieceCounts() };
    this.#sums.set(workspaceNo, sum);
    return sum;
  }
}

/** Scans of one code in one window are of one piece, but for midnight: they are added in one go. */
function countInto({ actor, counts }: Sum, codeNo: CodeNo, block: ScanBlock, group: number): void {
  const end = block.first(group) + block.count(group);
  let piece: (Place & Stretch) | undefined;
  let scans = 0;
  const add = (place: Place): void => {
    if (scans > 0) counts.add(place, codeNo, scans);
    scans = 0;
  };
  for (let entry = block.first(group); entry < end; entry++) {
    if (!block.isScan(entry)) continue;
    const timeMs = block.timeMs(entry);
    if (piece === undefined || timeMs >= piece.endMs || timeMs < piece.fromMs) {
      if (piece !== undefined) add(piece);
      // Where its sums froze the codes are counted on, by UTC day.
      piece = actor.pieceOf(block, entry) ?? wholePlace(block.day(entry));
    }
    scans++;
  }
  if (piece !== undefined) add(piece);
}
