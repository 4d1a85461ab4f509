/**
 * A short code as a key of the table: checked, folded to upper case, packed into words and hashed. The object is reused, so a
 * look-up allocates nothing. The hash is HalfSipHash-1-3 (Aumasson and Bernstein, 2012) with a random 64-bit key: users choose
 * slugs, and for FNV or Murmur they could build collisions.
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
export const asMisread = foldTable(
  (character) => ({ I: '1', L: '1', O: '0' })[character] ?? character,
);

export class FoldedKey {
  /** The folded characters, four per word, padded with zeros. */
  readonly words = new Int32Array(keyBytesMax / 4 + 1);
  length = 0;
  tag = 0;
  #flags = 0;
  readonly #seedLow: number;
  readonly #seedHigh: number;

  constructor(seedLow: number, seedHigh: number) {
    this.#seedLow = seedLow;
    this.#seedHigh = seedHigh;
  }

  /** Whether the folded code may be a generated one in which a 1 or 0 was read as I, L or O. */
  get mayBeMisread(): boolean {
    return (
      this.length === generatedLength &&
      (this.#flags & (misreadFlag | neverGeneratedFlag)) === misreadFlag
    );
  }

  /** Folds `text` from index `from`; false when that cannot be a code. @param table `asMisread`: I and L as 1, O as 0 */
  fold(text: string, from: number, table = asWritten): boolean {
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
    words[length >>> 2] = word;
    this.length = length;
    this.#flags = flags;
    this.tag = this.#hash(length);
    return true;
  }

  /** HalfSipHash-1-3: a round for each full word, one for the rest and the length, and three to finish. */
  #hash(length: number): number {
    const words = this.words;
    const whole = length >>> 2;
    let v0 = this.#seedLow;
    let v1 = this.#seedHigh;
    let v2 = this.#seedLow ^ 0x6c796765;
    let v3 = this.#seedHigh ^ 0x74656462;
    for (let round = 0; round < whole + 4; round += 1) {
      const message =
        round < whole ? words[round]! : round === whole ? words[whole]! | (length << 24) : 0;
      if (round === whole + 1) v2 ^= 0xff;
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
    return v1 ^ v3;
  }
}
