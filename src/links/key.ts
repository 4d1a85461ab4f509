/**
 * A short code as a key of the table: checked, folded to upper case, packed into words and hashed, straight
 * from the string's character codes. The object is reused, so a look-up allocates nothing.
 *
 * The hash is HalfSipHash-1-3 (Aumasson and Bernstein, SipHash, 2012; the Linux kernel's hsiphash) with a
 * random 64-bit key. Users choose slugs, and for FNV or Murmur they could build collisions without the seed.
 */
import { keyBytesMax } from './layout.ts';

const upperMask = 0x7f;
/** I, L or O: look-alikes of 1 and 0. */
const misreadFlag = 0x100;
/** U, `-`, `_`, `/`: never in a generated code. */
const neverGeneratedFlag = 0x200;
const characterMax = 'z'.charCodeAt(0);
/** Look-alikes are tried for generated codes only, which have this length. */
const generatedLength = 8;

/** By character code: 0 = not allowed in a code, else the upper-case character and its flags. */
function foldTable(replace: (character: string) => string): Uint16Array {
  const table = new Uint16Array(characterMax + 1);
  for (const character of '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_/') {
    const flags =
      ('ILO'.includes(character) ? misreadFlag : 0) |
      ('U-_/'.includes(character) ? neverGeneratedFlag : 0);
    const value = replace(character).charCodeAt(0) | flags;
    table[character.charCodeAt(0)] = value;
    table[character.toLowerCase().charCodeAt(0)] = value;
  }
  return table;
}

const asWritten = foldTable((character) => character);
const asMisread = foldTable((character) => ({ I: '1', L: '1', O: '0' })[character] ?? character);

export class FoldedKey {
  /** The folded characters, four per word, padded with zeros. */
  readonly words = new Int32Array(keyBytesMax / 4);
  length = 0;
  tag = 0;
  #flags = 0;
  readonly #seedLow: number;
  readonly #seedHigh: number;

  constructor(seedLow: number, seedHigh: number) {
    this.#seedLow = seedLow;
    this.#seedHigh = seedHigh;
  }

  /** Folds `text` from index `from`; false when that cannot be a code. */
  fold(text: string, from: number): boolean {
    return this.#pack(text, from, asWritten);
  }

  /** Whether the folded code may be a generated one in which a 1 or 0 was read as I, L or O. */
  get mayBeMisread(): boolean {
    return (
      this.length === generatedLength &&
      (this.#flags & (misreadFlag | neverGeneratedFlag)) === misreadFlag
    );
  }

  /** As `fold`, but reads I and L as 1, and O as 0. */
  foldMisread(text: string, from: number): boolean {
    return this.#pack(text, from, asMisread);
  }

  take(bytes: Uint8Array, from: number, to: number): void {
    const length = to - from;
    if (length < 1 || length > keyBytesMax) {
      throw new Error(`Cannot take a key of ${length} bytes, expected 1 to ${keyBytesMax}`);
    }
    const words = this.words;
    let word = 0;
    for (let i = 0; i < length; i += 1) {
      word |= bytes[from + i]! << ((i & 3) << 3);
      if ((i & 3) === 3) {
        words[i >>> 2] = word;
        word = 0;
      }
    }
    if ((length & 3) !== 0) words[length >>> 2] = word;
    this.length = length;
    this.tag = this.#hash(length, word);
  }

  #pack(text: string, from: number, table: Uint16Array): boolean {
    const length = text.length - from;
    if (length < 1 || length > keyBytesMax) return false;
    const words = this.words;
    let flags = 0;
    let word = 0;
    for (let i = 0; i < length; i += 1) {
      const code = text.charCodeAt(from + i);
      if (code > characterMax) return false;
      const folded = table[code]!;
      if (folded === 0) return false;
      flags |= folded;
      word |= (folded & upperMask) << ((i & 3) << 3);
      if ((i & 3) === 3) {
        words[i >>> 2] = word;
        word = 0;
      }
    }
    if ((length & 3) !== 0) words[length >>> 2] = word;
    this.length = length;
    this.#flags = flags;
    this.tag = this.#hash(length, word);
    return true;
  }

  /**
   * One round per full word, one for the rest and the length, and three to finish. The rounds are written
   * out because a loop over them costs 10 ns more per look-up.
   * @param rest the characters after the last full word
   */
  #hash(length: number, rest: number): number {
    const words = this.words;
    const whole = length >>> 2;
    let v0 = this.#seedLow;
    let v1 = this.#seedHigh;
    let v2 = this.#seedLow ^ 0x6c796765;
    let v3 = this.#seedHigh ^ 0x74656462;
    for (let i = 0; i < whole; i += 1) {
      const message = words[i]!;
      v3 ^= message;
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
      v0 ^= message;
    }
    const last = rest | (length << 24);
    v3 ^= last;
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    v0 ^= last;
    v2 ^= 0xff;
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    return v1 ^ v3;
  }
}
