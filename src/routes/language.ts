/**
 * `Accept-Language` (RFC 9110): which language a client reads best, by lookup as in RFC 4647, section 3.4. Read while a
 * redirect is answered: entries lie as numbers in arrays that every call fills anew, no string is cut out.
 *
 * `*` is passed over, as a lookup does, and so is an entry with q=0 or one that is not sound. Bounds: whole entries
 * within the first 1,024 characters, and 32 of them.
 */
const charactersMax = 1_024;
const entriesMax = 32;

/** Of the header that was read last: where its ranges begin and end, and their weights in thousandths. */
const starts = new Uint16Array(entriesMax);
const ends = new Uint16Array(entriesMax);
const weights = new Uint16Array(entriesMax);

/**
 * The language of `available` that a client reads best; undefined where none is. Ranges by their weight, of equal ones
 * the first; for each the language itself, then a less specific one (`de` for `de-AT`), then a more specific one (`pt-BR`
 * for `pt`).
 *
 * @param available BCP 47 languages, in any case; one is returned as it is written there
 */
export function bestLanguage(header: string, available: readonly string[]): string | undefined {
  const count = readEntries(header);
  for (let entry = takeBest(count); entry !== none; entry = takeBest(count)) {
    const start = starts[entry]!;
    const end = ends[entry]!;
    for (let cut = end; cut > start; cut = shortened(header, start, cut)) {
      for (const tag of available) if (isEqual(header, start, cut, tag)) return tag;
    }
    for (const tag of available) if (begins(tag, header, start, end)) return tag;
  }
  return undefined;
}

/**
 * Whether the language that a client reads best is one of `ranges`, or more specific than one: `de-AT` is in `de`.
 * A header that is empty, or names no language, matches nothing.
 *
 * @param ranges BCP 47 ranges without `*`, in any case
 */
export function matchesLanguage(header: string, ranges: readonly string[]): boolean {
  const entry = takeBest(readEntries(header));
  if (entry === none) return false;
  const start = starts[entry]!;
  const end = ends[entry]!;
  for (const range of ranges) {
    const cut = start + range.length;
    const isWhole = cut === end || header.charCodeAt(cut) === hyphen;
    if (cut <= end && isWhole && isEqual(header, start, cut, range)) return true;
  }
  return false;
}

const none = -1;

/** The entry of the highest weight, of equal ones the first; it is not taken again. */
function takeBest(count: number): number {
  let best = none;
  let highest = 0;
  for (let entry = 0; entry < count; entry++) {
    if (weights[entry]! <= highest) continue;
    best = entry;
    highest = weights[entry]!;
  }
  if (best !== none) weights[best] = 0;
  return best;
}

const tab = 0x09;
const space = 0x20;
const hyphen = 0x2d;
const dot = 0x2e;
const digitZero = 0x30;
const digitNine = 0x39;
const semicolon = 0x3b;
const equals = 0x3d;
const letterA = 0x61;
const letterQ = 0x71;
const letterZ = 0x7a;
/** Makes an ASCII letter small, and leaves digits and the hyphen as they are. */
const small = 0x20;

/** @returns how many entries have been read */
function readEntries(header: string): number {
  const isLong = header.length > charactersMax;
  // What is cut off in its middle would be read as another language, or without its weight.
  const end = isLong ? Math.max(0, header.lastIndexOf(',', charactersMax)) : header.length;
  let count = 0;
  let from = 0;
  while (from < end && count < entriesMax) {
    const next = header.indexOf(',', from);
    const to = next === -1 || next > end ? end : next;
    if (readEntry(header, from, to, count)) count += 1;
    from = to + 1;
  }
  return count;
}

/** `de-AT;q=0.7` @returns false where it names no language */
function readEntry(header: string, from: number, to: number, entry: number): boolean {
  const start = skipBlank(header, from, to);
  let end = start;
  while (end < to && isTagCharacter(header.charCodeAt(end))) end += 1;
  const weight = end === start ? 0 : readWeight(header, end, to);
  if (weight === 0) return false;
  starts[entry] = start;
  ends[entry] = end;
  weights[entry] = weight;
  return true;
}

/** The weight in thousandths of what follows a range; 1,000 where it says nothing, 0 where it is not sound. */
function readWeight(header: string, from: number, to: number): number {
  let at = skipBlank(header, from, to);
  if (at === to) return 1_000;
  if (header.charCodeAt(at) !== semicolon) return 0;
  at = skipBlank(header, at + 1, to);
  const isQ = (header.charCodeAt(at) | small) === letterQ && header.charCodeAt(at + 1) === equals;
  if (!isQ || at + 2 >= to) return 0;
  let weight = digit(header, at + 2) * 1_000;
  at += 3;
  if (at < to && header.charCodeAt(at) === dot) {
    at += 1;
    for (let share = 100; share >= 1 && at < to && digit(header, at) >= 0; share /= 10) {
      weight += digit(header, at) * share;
      at += 1;
    }
  }
  const isSound = weight >= 0 && weight <= 1_000 && skipBlank(header, at, to) === to;
  return isSound ? weight : 0;
}

function skipBlank(text: string, from: number, to: number): number {
  let at = from;
  while (at < to && (text.charCodeAt(at) === space || text.charCodeAt(at) === tab)) at += 1;
  return at;
}

/** -1 where none is. */
function digit(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= digitZero && code <= digitNine ? code - digitZero : -1;
}

function isTagCharacter(code: number): boolean {
  const letter = code | small;
  const isLetter = letter >= letterA && letter <= letterZ;
  return isLetter || code === hyphen || (code >= digitZero && code <= digitNine);
}

/** Without its last subtag, and without a single letter that would then be its last (RFC 4647). */
function shortened(text: string, start: number, end: number): number {
  const cut = text.lastIndexOf('-', end - 1);
  if (cut <= start) return start;
  return text.charCodeAt(cut - 2) === hyphen ? cut - 2 : cut;
}

/** Whether the characters from `start` to `end` are `tag`, in any case. */
function isEqual(text: string, start: number, end: number, tag: string): boolean {
  return end - start === tag.length && begins(tag, text, start, end);
}

/** Whether `tag` is the characters from `start` to `end`, or more specific. */
function begins(tag: string, text: string, start: number, end: number): boolean {
  const length = end - start;
  for (let at = 0; at < length; at++) {
    if ((tag.charCodeAt(at) | small) !== (text.charCodeAt(start + at) | small)) return false;
  }
  return tag.length === length || tag.charCodeAt(length) === hyphen;
}
