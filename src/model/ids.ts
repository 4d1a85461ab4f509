/**
 * Ids: a prefix for the kind, and 20 characters of lower-case Crockford base 32 = 100 bits:
 *
 *   qr_ ttttttttt t uuuuuuuuuu        48 bits  milliseconds since the Unix epoch
 *       |---- 100 bits ------|        52 bits  random, or the position in a journal
 *
 * The text order of ids is their time order. Ids of one source strictly increase, unless its clock steps back by more than
 * `stepBackMsMax`: then they follow the clock. The step within a millisecond is random, so ids cannot be guessed.
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

const timeMsMax = 2 ** 48 - 1;
const tails = 2 ** 52;
const stepBackMsMax = 60_000;
/** Random bytes between two ids of a millisecond, which has room for 2^12 ids. */
const stepBytes = 5;
/** Random bytes for about 80 ids: a few cost as much as 512. */
const poolBytes = 512;

export function createIdSource(clock: Clock, randomBytes: RandomBytes): IdSource {
  let lastMs = -1;
  let lastTail = 0;
  const pool = new Uint8Array(poolBytes);
  let used = poolBytes;
  /** @param bytes up to 6 */
  const random = (bytes: number): number => {
    if (used + bytes > poolBytes) {
      randomBytes(pool);
      used = 0;
    }
    let value = 0;
    for (const end = used + bytes; used < end; used++) value = value * 256 + (pool[used] ?? 0);
    return value;
  };
  // 51 bits: room for at least 2^11 steps within the millisecond.
  const freshTail = (): number => (random(1) & 7) * 2 ** 48 + random(6);
  return {
    newId(prefix) {
      const nowMs = Math.min(Math.max(0, Math.trunc(clock.now())), timeMsMax);
      if (nowMs > lastMs || nowMs < lastMs - stepBackMsMax) {
        lastMs = nowMs;
        lastTail = freshTail();
      } else {
        lastTail += 1 + random(stepBytes);
        if (lastTail >= tails) {
          lastMs += 1;
          lastTail = freshTail();
        }
      }
      return formatId(prefix, lastMs, lastTail);
    },
  };
}

/**
 * The id for a journal record. Journals from 4,096 up have the rest of their number in the upper bits of the position: two
 * can share an id once one of them has written 64 GiB. @param journal 0–65535 @param position 0 to 2^40 − 1
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
  const tail = (journal & 4_095) * 2 ** 40 + top * 2 ** 36 + (position % 2 ** 36);
  return formatId(prefix, Math.trunc(timeMs), tail);
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

/** A reproducible id of the same time. @param no below 2^27 */
export function derivedId(prefix: IdPrefix, from: string, no: number): string {
  const tail = (idTail(from) + ((no * derivedStep) % tails)) % tails;
  return formatId(prefix, idTimeMs(from), tail);
}

export function sourceId(prefix: IdPrefix, derived: string, no: number): string {
  const tail = (idTail(derived) + tails - ((no * derivedStep) % tails)) % tails;
  return formatId(prefix, idTimeMs(derived), tail);
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

/** A double holds no 100 bits, but each half: 48 + 2 bits of the tail, then its other 50. */
function formatId(prefix: IdPrefix, timeMs: number, tail: number): string {
  return `${prefix}_${half(timeMs * 4 + Math.floor(tail / 2 ** 50))}${half(tail % 2 ** 50)}`;
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
