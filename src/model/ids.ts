/**
 * Ids: a prefix for the kind, and 20 characters of lower-case Crockford base 32 = 100 bits:
 *
 *   qr_ ttttttttt t uuuuuuuuuu        48 bits  milliseconds since the Unix epoch
 *       |---- 100 bits ------|        52 bits  random, or the position in a journal
 *
 * The text order of ids is their time order. Ids of one source strictly increase, unless its clock steps back by more than
 * `stepBackMsMax`: then they follow the clock, or a wrong year would stay in all ids until a restart. Random ids cannot be
 * guessed from their neighbors: within a millisecond the step is random too.
 */
import type { Clock } from './clock.ts';

export type IdPrefix =
  | 'qr'
  | 'cmp'
  | 'usr'
  | 'ws'
  | 'key'
  | 'evt'
  | 'whk'
  | 'dlv'
  | 'inv'
  | 'rep'
  | 'chk'
  | 'scn'
  | 'cl'
  | 'wch'
  | 'inc'
  | 'n'
  | 'req';

export type RandomBytes = (bytes: Uint8Array) => Uint8Array;

export interface IdSource {
  newId(prefix: IdPrefix): string;
}

/** Crockford's base 32 without i, l, o, u, in lower case. */
export const base32Alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

const bodyLength = 20;
const bodyPattern = /^[0-9a-hjkmnp-tv-z]{20}$/;

export function idPattern(prefix: IdPrefix): string {
  return `^${prefix}_${bodyPattern.source.slice(1)}`;
}

const timeBits = 48n;
const tailBits = 52n;
const timeMsMax = 2 ** 48 - 1;
const tailMax = (1n << tailBits) - 1n;
const stepBackMsMax = 60_000;
/** Random bytes between two ids of a millisecond, which has room for 2^12 ids. */
const stepBytes = 5;
const tailBytes = 7;
/** Random bytes for about 80 ids: 7 bytes cost as much as 512. */
const poolBytes = 512;

/** Create one per process. */
export function createIdSource(clock: Clock, randomBytes: RandomBytes): IdSource {
  let lastMs = -1;
  let lastTail = 0n;
  const pool = new Uint8Array(poolBytes);
  let used = poolBytes;
  const random = (bytes: number): bigint => {
    if (used + bytes > poolBytes) {
      randomBytes(pool);
      used = 0;
    }
    let value = 0n;
    for (const end = used + bytes; used < end; used++)
      value = (value << 8n) | BigInt(pool[used] ?? 0);
    return value;
  };
  // The top bit is 0: room for at least 2^11 steps within the millisecond.
  const freshTail = (): bigint => random(tailBytes) & (tailMax >> 1n);
  return {
    newId(prefix) {
      const nowMs = Math.min(Math.max(0, Math.trunc(clock.now())), timeMsMax);
      if (nowMs > lastMs || nowMs < lastMs - stepBackMsMax) {
        lastMs = nowMs;
        lastTail = freshTail();
      } else {
        lastTail += 1n + random(stepBytes);
        if (lastTail > tailMax) {
          lastMs += 1;
          lastTail = freshTail();
        }
      }
      return formatId(prefix, lastMs, lastTail);
    },
  };
}

/**
 * The id for a journal record: the same record always gives the same id. Journals from 4,096 up have the rest of their
 * number in the upper bits of the position: two with the same lower bits can share an id once one of them has written
 * 64 GiB, for the same millisecond and byte.
 * @param journal 0–65535 @param position 0 to 2^40 − 1
 */
export function positionId(
  prefix: IdPrefix,
  timeMs: number,
  journal: number,
  position: number,
): string {
  if (!Number.isInteger(journal) || journal < 0 || journal > 65_535) {
    throw new Error(`Cannot make an id: journal ${journal}, expected 0 to 65535`);
  }
  if (!Number.isInteger(position) || position < 0 || position >= 2 ** 40) {
    throw new Error(`Cannot make an id: position ${position}, expected 0 to 2^40 - 1`);
  }
  const top = Math.floor(position / 2 ** 36) ^ (journal >> 12);
  // Two halves of 50 bits each fit a double: 48 + 2 bits of the tail, then its other 50.
  const high = Math.trunc(timeMs) * 4 + ((journal >> 10) & 3);
  const low = (journal & 1_023) * 2 ** 40 + top * 2 ** 36 + (position % 2 ** 36);
  return `${prefix}_${half(high)}${half(low)}`;
}

const digits = new Uint8Array(128);
for (let digit = 0; digit < 32; digit++) digits[base32Alphabet.charCodeAt(digit)] = digit;
const digitOf = (id: string, at: number): number => digits[id.charCodeAt(at)] ?? 0;

/** The 52 bits of an id below its time; from `positionId` journal * 2^40 + position, for a journal below 4,096. */
export function idTail(id: string): number {
  const start = id.length - bodyLength;
  let low = 0;
  for (let at = start + 10; at < start + 20; at++) low = low * 32 + digitOf(id, at);
  return (digitOf(id, start + 9) % 4) * 2 ** 50 + low;
}

/** Odd, and larger than the steps between scans of a millisecond. */
const derivedStep = 67_108_859;
const tails = 2 ** 52;

/** A reproducible id of the same time. @param no below 2^27 */
export function derivedId(prefix: IdPrefix, from: string, no: number): string {
  return withTail(prefix, from, (idTail(from) + ((no * derivedStep) % tails)) % tails);
}

export function sourceId(prefix: IdPrefix, derived: string, no: number): string {
  return withTail(
    prefix,
    derived,
    (idTail(derived) + tails - ((no * derivedStep) % tails)) % tails,
  );
}

function withTail(prefix: IdPrefix, id: string, tail: number): string {
  const high = idTimeMs(id) * 4 + Math.floor(tail / 2 ** 50);
  return `${prefix}_${half(high)}${half(tail % 2 ** 50)}`;
}

export function parseId(prefix: IdPrefix, text: string): string | undefined {
  if (text.length !== prefix.length + 1 + bodyLength) return undefined;
  if (!text.startsWith(prefix) || text[prefix.length] !== '_') return undefined;
  return bodyPattern.test(text.slice(prefix.length + 1)) ? text : undefined;
}

export function idTimeMs(id: string): number {
  const start = id.length - bodyLength;
  let high = 0;
  for (let at = start; at < start + 10; at++) high = high * 32 + digitOf(id, at);
  return Math.floor(high / 4);
}

function formatId(prefix: IdPrefix, timeMs: number, tail: bigint): string {
  const bits = (BigInt(timeMs) << tailBits) | tail;
  const halfBits = (timeBits + tailBits) / 2n;
  return `${prefix}_${half(Number(bits >> halfBits))}${half(Number(bits & ((1n << halfBits) - 1n)))}`;
}

/** 50 bits as ten characters, in one call: appending one by one takes three times as long. */
function half(bits: number): string {
  const high = Math.floor(bits / 2 ** 25);
  const low = bits % 2 ** 25;
  return String.fromCharCode(
    charAt(high >> 20),
    charAt(high >> 15),
    charAt(high >> 10),
    charAt(high >> 5),
    charAt(high),
    charAt(low >> 20),
    charAt(low >> 15),
    charAt(low >> 10),
    charAt(low >> 5),
    charAt(low),
  );
}

const charAt = (bits: number): number => base32Alphabet.charCodeAt(bits & 31);
