/**
 * What strings of blocks stand for: the number of a name, or whether they are what a filter asks for. A string is in
 * every block that has it, so it is known again by its bytes, and made a text once.
 *
 *   number in the block --of this block--> value        no look at the string
 *                       --bytes, hash--> value          0.03 µs
 *                       --text, URL, map--> value       1 µs
 *
 * Bounds: `keptMax` strings of `keptBytesMax` together; when they are full all are let go, and are found by text again.
 */
import type { BlockReader } from './block-reader.ts';

const keptMax = 65_536;
const keptBytesMax = 4_194_304;
const wordBytes = 4;
/** Visitors choose referers: longer ones are made texts each time. */
const stringBytesMax = 256;
/** Twice `keptMax`, so that a free place is near. */
const slots = 131_072;
const factor = 0x9e3779b1;
/** Strings of a block before the list first grows. */
const firstStrings = 1_024;

export class StringValues {
  readonly #reader: BlockReader;
  readonly #valueOf: (text: string) => number;
  /** Of the block that is open, by number; known where `#opened` is that of the block. */
  #values = new Int32Array(firstStrings);
  #opened = new Uint32Array(firstStrings);
  #empty: number | undefined;
  /** By slot: number of a kept string, 0 = free. */
  readonly #slots = new Int32Array(slots);
  readonly #keptAt = new Uint32Array(keptMax + 1);
  readonly #keptValues = new Int32Array(keptMax + 1);
  readonly #keptBytes = new DataView(new ArrayBuffer(keptBytesMax));
  #kept = 0;

  /** @param valueOf asked once or more for the same text, and always gives the same */
  constructor(reader: BlockReader, valueOf: (text: string) => number) {
    this.#reader = reader;
    this.#valueOf = valueOf;
  }

  /** Of a string of the block that the reader has open. */
  of(number: number): number {
    if (number === 0) return (this.#empty ??= this.#valueOf(''));
    const { opened } = this.#reader;
    if (number < this.#values.length && this.#opened[number] === opened) {
      return this.#values[number]!;
    }
    if (number >= this.#values.length) this.#grow(number);
    const value = this.#find(this.#reader.stringAt(number));
    this.#values[number] = value;
    this.#opened[number] = opened;
    return value;
  }

  #find(at: number): number {
    const length = this.#reader.stringBytes(at);
    if (length < wordBytes || length > stringBytesMax) {
      return this.#valueOf(this.#reader.text(at));
    }
    const { view } = this.#reader;
    let slot = hashOf(view, at, length) & (slots - 1);
    for (let kept = this.#slots[slot]!; kept !== 0; kept = this.#slots[slot]!) {
      if (this.#isKept(kept, view, at, length)) return this.#keptValues[kept]!;
      slot = (slot + 1) & (slots - 1);
    }
    const value = this.#valueOf(this.#reader.text(at));
    this.#keep(slot, at, length, value);
    return value;
  }

  #isKept(kept: number, view: DataView, at: number, length: number): boolean {
    const from = this.#keptAt[kept]!;
    if (this.#keptAt[kept + 1]! - from !== length) return false;
    const bytes = this.#keptBytes;
    const last = length - wordBytes;
    for (let index = 0; index < last; index += wordBytes) {
      if (bytes.getInt32(from + index, true) !== view.getInt32(at + index, true)) return false;
    }
    return bytes.getInt32(from + last, true) === view.getInt32(at + last, true);
  }

  #keep(slot: number, at: number, length: number, value: number): void {
    const from = this.#keptAt[this.#kept + 1]!;
    if (this.#kept + 1 === keptMax || from + length > keptBytesMax) {
      this.#slots.fill(0);
      this.#kept = 0;
      return;
    }
    const kept = ++this.#kept;
    for (let index = 0; index < length; index++) {
      this.#keptBytes.setUint8(from + index, this.#reader.view.getUint8(at + index));
    }
    this.#keptAt[kept + 1] = from + length;
    this.#keptValues[kept] = value;
    this.#slots[slot] = kept;
  }

  #grow(number: number): void {
    const values = new Int32Array(number * 2);
    values.set(this.#values);
    const opened = new Uint32Array(number * 2);
    opened.set(this.#opened);
    this.#values = values;
    this.#opened = opened;
  }
}

/** The last word overlaps with the one before. @param length at least a word */
function hashOf(view: DataView, at: number, length: number): number {
  const last = at + length - wordBytes;
  let hash = length;
  for (let from = at; from < last; from += wordBytes) {
    hash = Math.imul(hash ^ view.getInt32(from, true), factor);
    hash ^= hash >>> 15;
  }
  hash = Math.imul(hash ^ view.getInt32(last, true), factor);
  return hash ^ (hash >>> 15);
}
