/**
 * Where freed blocks wait until no reader can be looking at them (quiescent-state-based reclamation;
 * Hart, McKenney, Brown, Walpole, "Performance of memory reclamation for lockless synchronization",
 * 2007).
 *
 * A block enters after the slot that showed it was swapped, marked with the current epoch; later the
 * epoch advances. A reader publishes the epoch in which it begins its cycle of the event loop. A reader
 * with a later epoch than the block's mark loaded that epoch after the swap, and can't have found the
 * block. A reader with no epoch loads slots only after this check, hence after the swap: epochs, swaps
 * and the generations word that every look-up loads first are `Atomics`, one total order, and the plain
 * loads of slots stay behind that one. So a block is free when every reader is idle or in a later epoch.
 * A reader that publishes a stale epoch, because it was interrupted in `enter`, only delays the block.
 *
 * Epochs wrap; differences are taken modulo 2^32 and stay small, because the epoch advances only when
 * something entered since, and at most 65,536 blocks wait. Beyond that the writer waits for readers,
 * then refuses, until the reader that is stuck ends its cycle, or dies and is replaced.
 */
import { controlWord, readerWord } from './layout.ts';

/** 3 words each, 768 KiB; one cycle of a redirect thread lasts far less than so many changes. */
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

  /** Units that wait. */
  get waitingUnits(): number {
    return this.#waitingUnits;
  }

  get size(): number {
    return this.#size;
  }

  hasCapacityFor(blocks: number): boolean {
    return this.#size + blocks <= waitingMax;
  }

  /** Takes a block that no slot shows any more. */
  add(block: number, units: number): void {
    if (this.#size === waitingMax)
      throw new Error('Cannot quarantine a block: all places are taken, expected a check before');
    const at = (this.#head + this.#size) & ringMask;
    this.#blocks[at] = block;
    this.#units[at] = units;
    this.#epochs[at] = this.#control[controlWord.epoch]!;
    this.#size += 1;
    this.#waitingUnits += units;
  }

  /** Hands every block that no reader can see to `release`, oldest first. */
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

  /** Starts a new epoch if a block entered in this one; 0 is skipped, it means idle. */
  #advance(): number {
    const epoch = this.#control[controlWord.epoch]!;
    const newest = (this.#head + this.#size - 1) & ringMask;
    if (this.#epochs[newest] !== epoch) return epoch;
    const next = epoch === -1 ? 1 : (epoch + 1) | 0;
    Atomics.store(this.#control, controlWord.epoch, next);
    return next;
  }

  /** How many epochs the reader that is farthest back is behind; -1 when all are idle. */
  #behind(epoch: number): number {
    let behind = -1;
    for (let reader = 0; reader < this.#readersMax; reader += 1) {
      const entered = Atomics.load(this.#control, readerWord(reader));
      if (entered !== 0) behind = Math.max(behind, (epoch - entered) | 0);
    }
    return behind;
  }
}
