/**
 * The program of a code: an immutable block of words that says where its redirects lead. compile.ts makes it from the
 * code's record, the link table copies it into its arena, and program-reader.ts follows it there.
 *
 *   word 0       version u8 | flags u8 | rules u8 | zero u8                       little-endian, 32 bits each
 *        1       number of words
 *        2, 3    startsAtMs, low and high                          0 = none
 *        4 to 7  seed of the splits: a SipHash key
 *        8       text of `fallbackUrl`                             0 = none
 *        9       outcome when no rule matches                      0 = the target of the link
 *        10      list of zones                                     0 = none
 *        11 ..   rules
 *
 *   rule         number of words | outcome | conditions
 *   condition    kind u8, number of further words u24 | …
 *     device, os, browser    bits by number (model/scan.ts)
 *     country                numbers of two letters, one per word
 *     language               texts of lower-case ranges, one per word
 *     time                   days (bit 0 = Monday) | from | to: minutes of a day | zone
 *     date                   from, low and high | to, low and high: epoch ms; 0 = open
 *     query                  pairs: text of a name | text of its value, 0 = any
 *   outcome      0 | text of the target | route number             of a rule with one target
 *                variants | sum of weights | per variant: cumulative weight, text of the target, route number
 *   zones        count | per zone: index of the word that refers to it, text of its name
 *
 *   text of a target     bytes | the bytes, ASCII, padded with zeros to 4
 *   other text           UTF-16 units | two per word
 *
 * A reference to a text, an outcome or a list is the index of its first word. A zone's word is stored as 0; in the arena
 * it is the unit offset of the zone's cell (links/zone-cells.ts).
 */
import { routeTargetsMax, rulesMax } from '../../model/routing/routing.ts';

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
export const wordRange = 2 ** 32;

const urlBytesMax = 2_048;
/** A rule with 60 countries, 20 languages and five query pairs of the longest texts takes less than 4,000. */
const ruleBytesMax = 4_800;
/** 158,936 bytes, from the bounds of a code's fields. `compileLink` checks it. */
export const programBytesMax =
  rulesMax * ruleBytesMax + (routeTargetsMax + 1) * (urlBytesMax + 64) + 1_688;

/** A zone of a program, and the index of the word that refers to it. */
export interface ProgramZone {
  readonly word: number;
  readonly name: string;
}

export function programZones(words: Int32Array): ProgramZone[] {
  const list = words[programWord.zones]!;
  if (list === 0) return [];
  return Array.from({ length: words[list]! }, (_, index) => ({
    word: words[list + 1 + 2 * index]!,
    name: textIn(words, words[list + 2 + 2 * index]!),
  }));
}

function textIn(words: Int32Array, text: number): string {
  let found = '';
  for (let unit = 0; unit < words[text]!; unit++) {
    found += String.fromCharCode(unitOf(words, text + 1, unit));
  }
  return found;
}

/** A UTF-16 unit of the text whose units begin at word `at`. */
export const unitOf = (words: Int32Array, at: number, unit: number): number =>
  (words[at + (unit >>> 1)]! >>> ((unit & 1) << 4)) & 0xffff;

export function programWords(bytes: Uint8Array): Int32Array {
  const copy = Uint8Array.from(bytes);
  return new Int32Array(copy.buffer, 0, copy.length / Int32Array.BYTES_PER_ELEMENT);
}
