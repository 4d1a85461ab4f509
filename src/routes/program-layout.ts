/**
 * A program: where a code leads, as its redirect threads follow it. Made from the code's record (compile.ts), stored with
 * its link, copied into the arena of the link table, followed there word by word (program-reader.ts). It never changes.
 *
 *   word 0       version u8 | flags u8 | rules u8 | zero u8                       little-endian, 32 bits each
 *        1       words in all
 *        2, 3    startsAtMs, low and high                          0 without
 *        4 to 7  seed of the splits: a SipHash key
 *        8       text of `fallbackUrl`                             0 = none
 *        9       outcome where no rule holds                       0 = the target of the link
 *        10      list of zones                                     0 = none
 *        11 ..   rules, one behind the other
 *
 *   rule         words it takes | outcome | conditions, one behind the other
 *   condition    kind u8, words behind it u24 | …
 *     device, os, browser    bits by number (model/scan.ts)
 *     country                numbers of two letters, one a word
 *     language               texts of lower-case ranges, one a word
 *     time                   days (bit 0 = Monday) | from | to: minutes of a day | zone
 *     date                   from, low and high | to, low and high: epoch ms; 0 = open
 *     query                  text of a name | text of its value, 0 = any; in turns
 *   outcome      0 | text of the target | route's number           of a rule that leads to one target
 *                variants | sum of weights | by variant: weights up to and with it, text of the target, route's number
 *   zones        count | by zone: the word above that names it, text of its name
 *
 *   text of a target     bytes | the bytes, ASCII, padded with zeros to 4
 *   text of all else     UTF-16 units | two a word
 *
 * All that is called a text, an outcome or a list is the index of its first word in the program. A zone's word is 0 as it
 * is stored; in the arena it is the unit offset of the zone's cell (links/zone-cells.ts).
 */
import { routeTargetsMax, rulesMax } from '../model/routing/routing.ts';

export const programVersion = 1;

export const programWord = {
  head: 0,
  words: 1,
  startsAtMs: 2,
  seed: 4,
  fallback: 8,
  otherwise: 9,
  zones: 10,
  rules: 11,
} as const;

/** Bits of the flags in word 0. */
export const programFlag = { paused: 1 << 8, passQuery: 1 << 9 } as const;
export const rulesShift = 16;

export const conditionKind = {
  device: 1,
  os: 2,
  browser: 3,
  country: 4,
  language: 5,
  time: 6,
  date: 7,
  query: 8,
} as const;
export const conditionShift = 8;

export const minutesPerDay = 1_440;
/** Of a number of 64 bits in two words: what the high one counts. */
export const wordRange = 2 ** 32;

const urlBytesMax = 2_048;
/** A rule of 60 countries, 20 languages and five pairs of a query, all with the longest texts, takes less than 4,000. */
const ruleBytesMax = 4_800;
/** What the bounds of a code's fields allow, and no more: 158,936 bytes. Checked where one is made. */
export const programBytesMax =
  rulesMax * ruleBytesMax + (routeTargetsMax + 1) * (urlBytesMax + 64) + 1_688;

/** What a list of codes needs to know of a program. @param at of the program in `bytes` */
export function programBounds(
  bytes: Buffer,
  at: number,
): { readonly paused: boolean; readonly startsAtMs: number | undefined } {
  const startsAtMs =
    bytes.readUInt32LE(at + 4 * programWord.startsAtMs) +
    bytes.readUInt32LE(at + 4 * programWord.startsAtMs + 4) * wordRange;
  return {
    paused: (bytes.readUInt32LE(at) & programFlag.paused) !== 0,
    startsAtMs: startsAtMs === 0 ? undefined : startsAtMs,
  };
}

/** A zone that a program names, and the word that is to lead to it. */
export interface ProgramZone {
  readonly word: number;
  readonly name: string;
}

/** @param words of the program alone */
export function programZones(words: Int32Array): ProgramZone[] {
  const list = words[programWord.zones]!;
  if (list === 0) return [];
  return Array.from({ length: words[list]! }, (_, index) => ({
    word: words[list + 1 + 2 * index]!,
    name: textIn(words, words[list + 2 + 2 * index]!),
  }));
}

/** A text that is not a target's. */
function textIn(words: Int32Array, text: number): string {
  let found = '';
  for (let unit = 0; unit < words[text]!; unit++) {
    found += String.fromCharCode(unitOf(words, text + 1, unit));
  }
  return found;
}

/** The UTF-16 unit of a text whose units begin at a word. */
export const unitOf = (words: Int32Array, at: number, unit: number): number =>
  (words[at + (unit >>> 1)]! >>> ((unit & 1) << 4)) & 0xffff;

/** A program as words, whatever its bytes are aligned to. */
export function programWords(bytes: Uint8Array): Int32Array {
  const copy = Uint8Array.from(bytes);
  return new Int32Array(copy.buffer, 0, copy.length / Int32Array.BYTES_PER_ELEMENT);
}
