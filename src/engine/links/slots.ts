/**
 * The write side of the slots: inserts, swaps, and growth without a pause. A generation that is 3/4 full gets a successor
 * of twice its size. Each write then moves 64 slots: 10 million at once would stall the control thread for half a second.
 *
 * During a move, a new key goes to the newest generation only. A changed key is swapped in the newest generation first,
 * then in the older one: no slot refers to a freed entry, and a reader that found the new entry never finds the old one
 * again. The older generation is never cleared or reused: a reader may still be in it.
 */
import { Failure } from '../../model/failure.ts';
import {
  controlWord,
  generationEndBytes,
  type LinkTableMemory,
  slotLoadGrow,
  slotLoadMax,
  viewGeneration,
} from './layout.ts';

const slotsMovedPerWrite = 64;

export class Slots {
  readonly #control: Int32Array;
  readonly #buffer: SharedArrayBuffer;
  readonly #firstBits: number;
  #generation = 0;
  #newest: Int32Array;
  #older: Int32Array | undefined;
  #cursor = 0;
  #used = 0;
  #growAt: number;

  constructor(memory: LinkTableMemory, control: Int32Array) {
    this.#control = control;
    this.#buffer = memory.slots;
    this.#firstBits = control[controlWord.firstGenerationBits]!;
    this.#newest = viewGeneration(this.#buffer, this.#firstBits, 0);
    this.#growAt = this.#slotCount * slotLoadGrow;
  }

  get used(): number {
    return this.#used;
  }

  get #slotCount(): number {
    return this.#newest.length / 2;
  }

  /** Ensures that one more key fits. Call it before any change. @throws Failure `storage_full` */
  reserve(): void {
    if (this.#used + 1 <= this.#growAt) return;
    if (this.#older !== undefined) this.move(this.#older.length / 2);
    if (this.#startGeneration()) return;
    if (this.#used + 1 <= this.#slotCount * slotLoadMax) return;
    throw new Failure(
      'storage_full',
      `Cannot add a link: all ${this.#slotCount} slots for links are in use`,
    );
  }

  /** Makes the entry of a new key visible to every reader. Call `reserve` first. */
  insert(tag: number, entry: number): void {
    place(this.#newest, tag, entry);
    this.#used += 1;
  }

  swap(tag: number, before: number, after: number): void {
    const inNewest = exchange(this.#newest, tag, before, after);
    const inOlder = this.#older !== undefined && exchange(this.#older, tag, before, after);
    if (!inNewest && !inOlder) throw new Error(`Cannot swap entry ${before}: no slot refers to it`);
  }

  moveSome(): void {
    if (this.#older !== undefined) this.move(slotsMovedPerWrite);
  }

  move(slotsMax: number): void {
    const older = this.#older;
    if (older === undefined) return;
    const end = Math.min(this.#cursor + slotsMax, older.length / 2);
    for (let slot = this.#cursor; slot < end; slot += 1) {
      const entry = older[slot * 2 + 1]!;
      if (entry !== 0) place(this.#newest, older[slot * 2]!, entry);
    }
    this.#cursor = end;
    if (end < older.length / 2) return;
    this.#older = undefined;
    Atomics.store(this.#control, controlWord.generations, this.#generation * 2);
  }

  #startGeneration(): boolean {
    const next = this.#generation + 1;
    const bytes = generationEndBytes(this.#firstBits, next);
    if (bytes > this.#buffer.maxByteLength) return false;
    try {
      this.#buffer.grow(bytes);
    } catch (error) {
      if (error instanceof RangeError) return false;
      throw error;
    }
    this.#older = this.#newest;
    this.#newest = viewGeneration(this.#buffer, this.#firstBits, next);
    this.#generation = next;
    this.#cursor = 0;
    this.#growAt = this.#slotCount * slotLoadGrow;
    Atomics.store(this.#control, controlWord.generations, next * 2 + 1);
    return true;
  }
}

/** Index of a key's first slot, in the readers' order, that holds `entry` or is empty. */
function firstSlot(slots: Int32Array, tag: number, entry: number): number {
  const lineMask = (slots.length >>> 4) - 1;
  const start = tag >>> 29;
  let line = tag & lineMask;
  for (;;) {
    for (let i = start; i < start + 8; i += 1) {
      const at = (line << 4) | ((i & 7) << 1);
      const held = slots[at + 1]!;
      if (held === entry || held === 0) return at;
    }
    line = (line + 1) & lineMask;
  }
}

function place(slots: Int32Array, tag: number, entry: number): void {
  const at = firstSlot(slots, tag, 0);
  slots[at] = tag;
  Atomics.store(slots, at + 1, entry);
}

function exchange(slots: Int32Array, tag: number, before: number, after: number): boolean {
  const at = firstSlot(slots, tag, before | 0);
  if (slots[at + 1] === 0) return false;
  Atomics.store(slots, at + 1, after);
  return true;
}
