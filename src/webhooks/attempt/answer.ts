/**
 * Reads a receiver's answer: the beginning of its body as text, and `Retry-After`.
 */
import type { FailureClass } from '../../model/webhook.ts';

/** Bound of the bytes kept, and of the text in UTF-8. */
const textBytesMax = 4_096;
/** Longer waits are reduced to this; the retry schedule is far below. */
const retryAfterMsMax = 365 * 86_400_000;
/** The three forms of RFC 9110, section 5.6.7; `Date.parse` alone accepts many other texts. */
const httpDate = /^[A-Z][a-z]{2,8},? [\w :-]{16,24}(?: GMT)?$/;

/** Undefined for a success: 2xx and nothing else. */
export function failureOf(status: number): FailureClass | undefined {
  if (status >= 200 && status < 300) return undefined;
  return status >= 300 && status < 400 ? 'redirect' : 'status';
}

/** Keeps the beginning of an answer and counts all of it. */
export class AnswerText {
  /** Bytes seen, kept or not. */
  bytes = 0;
  readonly #kept: Buffer[] = [];

  add(chunk: Buffer): void {
    const capacity = textBytesMax - this.bytes;
    this.bytes += chunk.length;
    // A copy: the chunk is a view of a far larger buffer, which would stay in memory as long as the text.
    if (capacity > 0) this.#kept.push(Buffer.from(chunk.subarray(0, capacity)));
  }

  /** Invalid UTF-8 becomes U+FFFD; a character that is cut at the end is left out. */
  toString(): string {
    const [first = Buffer.alloc(0), ...more] = this.#kept;
    const bytes = more.length === 0 ? first : Buffer.concat(this.#kept);
    const text = this.bytes > bytes.length ? decodeCut(bytes) : bytes.toString('utf8');
    if (Buffer.byteLength(text) <= textBytesMax) return text;
    return decodeCut(Buffer.from(text).subarray(0, textBytesMax));
  }
}

const decodeCut = (bytes: Buffer): string =>
  new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true });

/**
 * The wait that a `Retry-After` header asks for, 0 for a time in the past; undefined when it is not readable.
 * @param nowMs wall clock
 */
export function parseRetryAfter(value: unknown, nowMs: number): number | undefined {
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  if (/^\d{1,100}$/.test(text)) return Math.min(Number(text) * 1_000, retryAfterMsMax);
  const atMs = httpDate.test(text) ? Date.parse(text.endsWith('GMT') ? text : `${text} GMT`) : NaN;
  if (Number.isNaN(atMs)) return undefined;
  return Math.min(Math.max(0, atMs - nowMs), retryAfterMsMax);
}
