/**
 * The blocks since the last checkpoint: scans of the last seconds, which no summary or day has yet. A counter is a code or a
 * workspace (store/scans/scans.ts).
 *
 * A block is immutable: it is read once and cached until all checkpoints, of codes and workspaces, have passed it; beyond
 * `cachedMax` it is read again each time. For each counter the newest block with its scans is known, so a code without any
 * costs a look into a map. A damaged block may have any code: numbers are refused until the checkpoints have passed it, which
 * takes seconds, because the shard counts a block from memory.
 */
import { partitionOf } from '../../model/code.ts';
import { Failure, readOr } from '../../model/failure.ts';
import {
  type CounterKind,
  counterKindOf,
  readCheckpoints,
  type ScanStore,
  workspaceOfCounter,
  workspaceCounter,
} from '../../store/scans/scans.ts';
import { ScanBlock } from '../counting/block.ts';
import { storedBlocks } from '../counting/stored-blocks.ts';

/** Bounds memory when a shard reaches no checkpoint: 1,024 windows are two minutes. */
const cachedMax = 1_024;
/** Checkpoints come every few seconds (shard.ts). */
const checkpointSeconds = 10;

type NumberedBlock = readonly [sequence: number, block: ScanBlock];

export class RecentBlocks {
  readonly #store: ScanStore;
  readonly #cached = new Map<number, ScanBlock>();
  /** By counter: sequence of its newest block here. */
  readonly #newestOf = new Map<number, number>();
  #checkpoints: Readonly<Record<CounterKind, Float64Array>> = {
    codes: new Float64Array(),
    workspaces: new Float64Array(),
  };
  /** All checkpoints have passed this sequence. */
  #from = 0;
  #to = 0;
  #damagedAt = 0;

  constructor(store: ScanStore) {
    this.#store = store;
  }

  refresh(): void {
    const codes = readCheckpoints(this.#store, 'codes');
    const workspaces = readCheckpoints(this.#store, 'workspaces');
    this.#checkpoints = { codes, workspaces };
    const from = Math.min(...codes, ...workspaces);
    if (from > this.#from) this.#free(from);
    for (const [sequence, block] of storedBlocks(this.#store, { start: this.#to + 1 })) {
      this.#to = sequence;
      if (block === undefined) this.#damagedAt = sequence;
      else this.#take(sequence, block);
    }
  }

  /** All sound blocks from a sequence on, oldest first. */
  *from(sequence: number): Generator<NumberedBlock> {
    if (sequence > this.#from) {
      yield* this.#since(sequence);
      return;
    }
    for (const [key, block] of storedBlocks(this.#store, { start: sequence })) {
      if (block !== undefined) yield [key, block];
    }
  }

  /** Sequence of a counter's newest block since its checkpoint; 0 = none. @throws Failure data_damaged */
  newestOf(counter: number): number {
    const newest = this.#newestOf.get(counter) ?? 0;
    return newest > this.#checkpointOf(counter) ? newest : 0;
  }

  /** Visits the entries of a counter. @throws Failure data_damaged */
  each(counter: number, visit: (block: ScanBlock, entry: number, group: number) => void): void {
    if (this.newestOf(counter) === 0) return;
    const workspaceNo = workspaceOfCounter(counter);
    const eachEntry = (block: ScanBlock, group: number): void => {
      const end = block.first(group) + block.count(group);
      for (let entry = block.first(group); entry < end; entry++) visit(block, entry, group);
    };
    for (const [, block] of this.#since(this.#checkpointOf(counter) + 1)) {
      if (workspaceNo === undefined) {
        const group = block.find(counter);
        if (group !== -1) eachEntry(block, group);
        continue;
      }
      for (let group = 0; group < block.groups; group++) {
        if (block.workspaceNo(group) === workspaceNo) eachEntry(block, group);
      }
    }
    // A block beyond `cachedMax` may have been damaged since.
    this.#checkpointOf(counter);
  }

  *#since(sequence: number): Generator<NumberedBlock> {
    for (let at = sequence; at <= this.#to; at++) {
      const block = this.#cached.get(at) ?? this.#read(at);
      if (block === undefined) this.#damagedAt = Math.max(this.#damagedAt, at);
      else yield [at, block];
    }
  }

  #read(sequence: number): ScanBlock | undefined {
    return readOr(() => {
      const bytes = this.#store.blocks.get(sequence);
      return bytes && new ScanBlock(bytes);
    }, undefined);
  }

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
    if (this.#cached.size < cachedMax) this.#cached.set(sequence, block);
    for (let group = 0; group < block.groups; group++) {
      this.#newestOf.set(block.codeNo(group), sequence);
      this.#newestOf.set(workspaceCounter(block.workspaceNo(group)), sequence);
    }
  }

  /** All checkpoints have passed `from`. */
  #free(from: number): void {
    for (const sequence of this.#cached.keys()) {
      if (sequence <= from) this.#cached.delete(sequence);
    }
    for (const [counter, newest] of this.#newestOf) {
      if (newest <= from) this.#newestOf.delete(counter);
    }
    this.#from = from;
    this.#to = Math.max(this.#to, from);
  }
}
