/**
 * Chooses a language by `Accept-Language` (RFC 9110) and the lookup of RFC 4647, section 3.4. Redirects call it, so
 * entries are numbers in reused arrays and no string is cut out.
 *
 * It ignores `*`, entries with q=0 and malformed entries. Bounds: the first 32 entries that end within 1,024 characters.
 */
const charactersMax = 1_024;
const entriesMax = 32;

/** Ranges of the last header, and their weights in thousandths. */
const starts = new Uint16Array(entriesMax);
const ends = new Uint16Array(entriesMax);
const weights = new Uint16Array(entriesMax);

/**
 * The best of `available` (BCP 47, any case) for a client. Ranges match by descending weight, then in their order: first the
 * language itself, then a less specific one (`de` for `de-AT`), then a more specific one (`pt-BR` for `pt`).
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

/** The range with the highest weight in lower case; empty for a header without a language. */
export function preferredLanguage(header: string): string {
  const entry = takeBest(readEntries(header));
  return entry === none ? '' : header.slice(starts[entry], ends[entry]).toLowerCase();
}

const none = -1;

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
/** Lowers an ASCII letter, and leaves digits and the hyphen unchanged. */
const small = 0x20;

function readEntries(header: string): number {
  const isLong = header.length > charactersMax;
  // A truncated entry would name another language or lose its weight.
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

/** Reads an entry such as `de-AT;q=0.7`. @returns false without a language */
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

/** The weight after a range in thousandths; 1,000 when absent, 0 when malformed. */
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

function digit(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= digitZero && code <= digitNine ? code - digitZero : -1;
}

function isTagCharacter(code: number): boolean {
  const letter = code | small;
  const isLetter = letter >= letterA && letter <= letterZ;
  return isLetter || code === hyphen || (code >= digitZero && code <= digitNine);
}

/** The end of the range without its last subtag, and without a single letter before it (RFC 4647). */
function shortened(text: string, start: number, end: number): number {
  const cut = text.lastIndexOf('-', end - 1);
  if (cut <= start) return start;
  return text.charCodeAt(cut - 2) === hyphen ? cut - 2 : cut;
}

function isEqual(text: string, start: number, end: number, tag: string): boolean {
  return end - start === tag.length && begins(tag, text, start, end);
}

/** Whether `tag` equals `text` from `start` to `end`, or is more specific, in any case. */
function begins(tag: string, text: string, start: number, end: number): boolean {
  const length = end - start;
  for (let at = 0; at < length; at++) {
    if ((tag.charCodeAt(at) | small) !== (text.charCodeAt(start + at) | small)) return false;
  }
  return tag.length === length || tag.charCodeAt(length) === hyphen;
}
