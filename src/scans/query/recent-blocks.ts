/**
 * The blocks since the last checkpoint: scans of the last seconds, which no summary or day has yet.
 *
 * A block is immutable: it is read once and kept until all checkpoints, of codes and workspaces, have passed it. A counter is
 * a code or a workspace (store/scans/scans.ts). For each counter the newest block with its scans is known, so asking for a
 * code without any costs a look into a map. Beyond `keptMax` blocks and `codesMax` codes, blocks are read again when asked
 * for: slower, never wrong. A damaged block may have any code: numbers are refused until the checkpoints have passed it,
 * which takes seconds, because the shard counts a block from memory.
 */
import { partitionOf } from '../../model/code.ts';
import {
  type CounterKind,
  counterKindOf,
  readCheckpoints,
  type ScanStore,
  workspaceOfCounter,
  workspaceCounter,
} from '../../store/scans/scans.ts';
import { Failure } from '../../model/failure.ts';
import type { ScanBlock } from '../block.ts';
import { storedBlocks } from '../stored-blocks.ts';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';

/** Bounds memory when a shard reaches no checkpoint: 1,024 windows are two minutes. */
const keptMax = 1_024;
/** About 50 MB of map. */
const codesMax = 1_000_000;

/** Checkpoints come every few seconds (shard.ts). */
const checkpointSeconds = 10;

type Visit = (block: ScanBlock, entry: number) => void;

export class RecentBlocks {
  readonly #store: ScanStore;
  readonly #blocks = new Map<number, ScanBlock>();
  /** By counter: sequence of its newest block here. */
  readonly #newestOf = new Map<number, number>();
  #checkpoints: Readonly<Record<CounterKind, Float64Array>> = {
    codes: new Float64Array(),
    workspaces: new Float64Array(),
  };
  #from = 0;
  #to = 0;
  /** Blocks up to this sequence were too many to keep. */
  #freedTo = 0;
  #damagedAt = 0;
  /** Codes of blocks up to this sequence were too many to know. */
  #crowdedTo = 0;

  constructor(store: ScanStore) {
    this.#store = store;
  }

  refresh(): void {
    const codes = readCheckpoints(this.#store, 'codes');
    const workspaces = readCheckpoints(this.#store, 'workspaces');
    this.#checkpoints = { codes, workspaces };
    const from = Math.min(...codes, ...workspaces);
    if (from > this.#from) this.#free(from);
    for (const [key, block] of storedBlocks(this.#store, { start: this.#to + 1 })) {
      this.#to = key;
      if (block === undefined) this.#damagedAt = key;
      else this.#take(key, block);
    }
  }

  /** All sound blocks from a sequence on, oldest first. */
  *from(sequence: number): Generator<readonly [sequence: number, block: ScanBlock]> {
    if (sequence > this.#from && sequence > this.#freedTo) {
      for (const entry of this.#blocks) if (entry[0] >= sequence) yield entry;
      return;
    }
    for (const [key, block] of storedBlocks(this.#store, { start: sequence })) {
      if (block !== undefined) yield [key, block];
    }
  }

  /** Sequence of a code's newest block since its checkpoint; 0 = none. */
  newestOf(codeNo: CodeNo): number {
    const newest = this.#newestOf.get(codeNo) ?? 0;
    const checkpoint = this.#checkpointOf(codeNo);
    if (newest > checkpoint) return newest;
    if (this.#crowdedTo <= checkpoint) return 0;
    let found = 0;
    this.#each(checkpoint, this.#crowdedTo, (block, sequence) => {
      if (block.find(codeNo) !== -1) found = sequence;
    });
    return found;
  }

  each(counter: number, visit: Visit): void {
    const checkpoint = this.#checkpointOf(counter);
    const isKnown = this.#crowdedTo <= checkpoint;
    if (isKnown && (this.#newestOf.get(counter) ?? 0) <= checkpoint) return;
    const workspaceNo = workspaceOfCounter(counter);
    this.#each(checkpoint, this.#to, (block) => {
      if (workspaceNo === undefined) {
        const group = block.find(counter);
        if (group !== -1) eachEntry(block, group, visit);
        return;
      }
      for (let group = 0; group < block.groups; group++) {
        if (block.workspaceNo(group) === workspaceNo) eachEntry(block, group, visit);
      }
    });
  }

  /** As `each`, for a workspace, by the groups of a block. */
  eachGroup(workspaceNo: WorkspaceNo, visit: (block: ScanBlock, group: number) => void): void {
    this.#each(this.#checkpointOf(workspaceCounter(workspaceNo)), this.#to, (block) => {
      for (let group = 0; group < block.groups; group++) {
        if (block.workspaceNo(group) === workspaceNo) visit(block, group);
      }
    });
  }

  #each(checkpoint: number, to: number, visit: (block: ScanBlock, sequence: number) => void): void {
    if (this.#freedTo > checkpoint) {
      const range = { start: checkpoint + 1, end: Math.min(this.#freedTo, to) + 1 };
      for (const [key, block] of storedBlocks(this.#store, range)) {
        if (block !== undefined) visit(block, key);
      }
    }
    for (const [sequence, block] of this.#blocks) {
      if (sequence > checkpoint && sequence <= to) visit(block, sequence);
    }
  }

  /** @throws Failure data_damaged */
  #checkpointOf(counter: number): number {
    const checkpoint = this.#checkpoints[counterKindOf(counter)][partitionOf(counter)]!;
    if (this.#damagedAt > checkpoint) {
      throw new Failure('data_damaged', 'The newest scans cannot be read', {
        retryAfterSeconds: checkpointSeconds,
      });
    }
    return checkpoint;
  }

  #take(sequence: number, block: ScanBlock): void {
    this.#blocks.set(sequence, block);
    for (let group = 0; group < block.groups; group++) {
      this.#newestOf.set(block.codeNo(group), sequence);
      this.#newestOf.set(workspaceCounter(block.workspaceNo(group)), sequence);
    }
    if (this.#newestOf.size > codesMax) {
      this.#newestOf.clear();
      this.#crowdedTo = sequence;
    }
    if (this.#blocks.size <= keptMax) return;
    for (const oldest of this.#blocks.keys()) {
      this.#blocks.delete(oldest);
      this.#freedTo = oldest;
      return;
    }
  }

  /** All checkpoints have passed `from`. */
  #free(from: number): void {
    for (const sequence of this.#blocks.keys()) {
      if (sequence <= from) this.#blocks.delete(sequence);
    }
    for (const [counter, newest] of this.#newestOf) {
      if (newest <= from) this.#newestOf.delete(counter);
    }
    this.#from = from;
    this.#to = Math.max(this.#to, from);
  }
}

function eachEntry(block: ScanBlock, group: number, visit: Visit): void {
  const first = block.first(group);
  for (let entry = first; entry < first + block.count(group); entry++) visit(block, entry);
}
