/**
 * Holds freed blocks until no reader can use them (quiescent-state-based reclamation; Hart, McKenney, Brown,
 * Walpole, "Performance of memory reclamation for lockless synchronization", 2007).
 *
 * A block enters with the current epoch, after its slot was swapped; then the epoch advances. A reader publishes
 * the current epoch when it begins a cycle of its event loop. A reader in a later epoch than the block's loaded
 * that epoch after the swap, so it cannot have found the block. An idle reader loads slots only after this check,
 * so after the swap: epochs, swaps and the generations word, which every look-up loads first, are `Atomics` in one
 * total order, and the plain loads of slots follow that word. So a block is free when every reader is idle or in
 * a later epoch. A reader that was interrupted in `enter` publishes a stale epoch, which only delays the block.
 *
 * Epochs wrap, and their differences modulo 2^32 stay small: an epoch advances only when a block entered in it,
 * and at most 65,536 blocks wait. When quarantine is full, the writer waits for readers and then refuses changes
 * until the stuck reader ends its cycle or is replaced.
 */
import { controlWord, readerWord } from './layout.ts';

/** 768 KiB; a cycle of a redirect thread is far shorter than this many changes. */
const waitingMax = 65_536;
const ringMask = waitingMax - 1;

export class Quarantine {
  readonly #control: Int32Array;
  readonly #readersMax: number;
  readonly #blocks = new Int32Array(waitingMax);
  readonly #units = new Int32Array(waitingMax);
  readonly #epochs = new Int32Array(waitingMax);
  #head = 0;
  #size = 0;
  #waitingUnits = 0;

  constructor(control: Int32Array) {
    this.#control = control;
    this.#readersMax = control[controlWord.readersMax]!;
  }

  get waitingUnits(): number {
    return this.#waitingUnits;
  }

  get size(): number {
    return this.#size;
  }

  hasCapacityFor(blocks: number): boolean {
    return this.#size + blocks <= waitingMax;
  }

  add(block: number, units: number): void {
    if (this.#size === waitingMax)
      throw new Error('Cannot quarantine a block: quarantine is full, expected a check before');
    const at = (this.#head + this.#size) & ringMask;
    this.#blocks[at] = block;
    this.#units[at] = units;
    this.#epochs[at] = this.#control[controlWord.epoch]!;
    this.#size += 1;
    this.#waitingUnits += units;
  }

  /** Passes every block that no reader can see to `release`, oldest first. */
  free(release: (block: number, units: number) => void): void {
    if (this.#size === 0) return;
    const epoch = this.#advance();
    const behind = this.#behind(epoch);
    while (this.#size > 0) {
      const at = this.#head;
      if (((epoch - this.#epochs[at]!) | 0) <= behind) return;
      this.#head = (at + 1) & ringMask;
      this.#size -= 1;
      this.#waitingUnits -= this.#units[at]!;
      release(this.#blocks[at]! >>> 0, this.#units[at]!);
    }
  }

  /** Starts a new epoch if a block entered in this one. Skips 0, which means idle. */
  #advance(): number {
    const epoch = this.#control[controlWord.epoch]!;
    const newest = (this.#head + this.#size - 1) & ringMask;
    if (this.#epochs[newest] !== epoch) return epoch;
    const next = epoch === -1 ? 1 : (epoch + 1) | 0;
    Atomics.store(this.#control, controlWord.epoch, next);
    return next;
  }

  /** Lag of the slowest reader in epochs; -1 when all are idle. */
  #behind(epoch: number): number {
    let behind = -1;
    for (let reader = 0; reader < this.#readersMax; reader += 1) {
      const entered = Atomics.load(this.#control, readerWord(reader));
      if (entered !== 0) behind = Math.max(behind, (epoch - entered) | 0);
    }
    return behind;
  }
}
