/**
 * What strings of blocks stand for: the number of a name, or whether they are what a filter asks for. A string is in
 * every block that has it, so it is known again by its bytes, and made a text once.
 *
 *   number in the block --of this block--> value        no look at the string
 *                       --bytes, hash--> value          0.03 µs
 *                       --text, URL, map--> value       1 µs
 */
import type { BlockReader } from './block-reader.ts';
import { KeptStrings } from './kept-strings.ts';

/** Shorter ones are rare, and visitors choose referers: longer ones are made texts each time. */
const keptLengthMin = 4;
const keptLengthMax = 256;
/** Strings of a block before the list first grows. */
const firstStrings = 1_024;

export class StringValues {
  readonly #reader: BlockReader;
  readonly #valueOf: (text: string) => number;
  /** Of the block that is open, by number; known where `#opened` is that of the block. */
  #values = new Int32Array(firstStrings);
  #opened = new Uint32Array(firstStrings);
  #empty: number | undefined;
  readonly #kept = new KeptStrings();

  /** @param valueOf 0 or more; asked once or more for the same text, and always gives the same */
  constructor(reader: BlockReader, valueOf: (text: string) => number) {
    this.#reader = reader;
    this.#valueOf = valueOf;
  }

  /** Of a string of the block that the reader has open. @throws Failure data_damaged */
  of(number: number): number {
    if (number === 0) return (this.#empty ??= this.#valueOf(''));
    const { opened } = this.#reader;
    if (number < this.#values.length && this.#opened[number] === opened) {
      return this.#values[number]!;
    }
    // Before there is space for it: the number of a damaged block may be any.
    const value = this.#find(this.#reader.stringAt(number));
    if (number >= this.#values.length) this.#grow(number);
    this.#values[number] = value;
    this.#opened[number] = opened;
    return value;
  }

  #find(at: number): number {
    const { view } = this.#reader;
    const length = this.#reader.stringBytes(at);
    const isKept = length >= keptLengthMin && length <= keptLengthMax;
    const known = isKept ? this.#kept.find(view, at, length) : -1;
    if (known !== -1) return known;
    const value = this.#valueOf(this.#reader.text(at));
    if (isKept) this.#kept.keep(view, at, length, value);
    return value;
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
