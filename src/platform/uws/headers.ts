/**
 * Request headers by name, checked for request smuggling; and the rules of conditional requests and codings.
 *
 * uWS takes the first of two Content-Length and waits forever on `Transfer-Encoding: gzip` (both measured). A proxy in
 * front may disagree where the request ends. So ambiguous framing is refused, and its connection closed.
 */
import { hash } from 'node:crypto';
import { Failure } from '../../model/failure.ts';
import { knownHeaders, type KnownHeader } from './request.ts';

const singleHeaders: ReadonlySet<string> = new Set<KnownHeader>([
  'authorization',
  'content-length',
  'content-type',
  'host',
  'idempotency-key',
  'origin',
  'sec-fetch-site',
  'stripe-signature',
  'transfer-encoding',
  'x-csrf-token',
  'x-quietzone-client',
  'x-quietzone-proof',
]);
const known: ReadonlySet<string> = new Set(knownHeaders);
/** More digits are no safe integer. */
const lengthPattern = /^\d{1,15}$/;

export class Headers {
  readonly #values = new Map<string, string>();
  #repeated: string | undefined;

  add(name: string, value: string): void {
    if (!known.has(name)) return;
    const before = this.#values.get(name);
    if (before === undefined) {
      this.#values.set(name, value);
      return;
    }
    if (singleHeaders.has(name)) this.#repeated ??= name;
    else this.#values.set(name, `${before}, ${value}`);
  }

  get(name: KnownHeader): string | undefined {
    return this.#values.get(name);
  }

  get bodyBytes(): number | 'chunked' {
    if (this.#values.has('transfer-encoding')) return 'chunked';
    const text = this.#values.get('content-length');
    return text === undefined || !lengthPattern.test(text) ? 0 : Number(text);
  }

  fault(method: string): Failure | undefined {
    if (this.#repeated !== undefined) {
      return badRequest(`header ${this.#repeated} is given more than once, expected it once`);
    }
    const encoding = this.#values.get('transfer-encoding');
    const length = this.#values.get('content-length');
    if (encoding !== undefined && length !== undefined) {
      return badRequest('Content-Length and Transfer-Encoding are both given, expected one');
    }
    if (encoding !== undefined && encoding.toLowerCase() !== 'chunked') {
      return badRequest('the Transfer-Encoding is not supported, expected chunked');
    }
    if (length !== undefined && !lengthPattern.test(length)) {
      return badRequest('the Content-Length is not a number, expected the bytes of the body');
    }
    if (method === 'HEAD' && this.bodyBytes !== 0) {
      return badRequest('HEAD comes with a body, expected none');
    }
    return undefined;
  }
}

function badRequest(reason: string): Failure {
  return new Failure('bad_request', `Cannot read the request: ${reason}`);
}

export type Coding = 'br' | 'gzip';

const tagCharacters = 22;

export const tagOf = (text: string): string =>
  `"${hash('sha256', text, 'base64url').slice(0, tagCharacters)}"`;

/** RFC 9110, 13.1.1: strong comparison. */
export const isMatched = (ifMatch: string, etag: string): boolean =>
  ifMatch.split(',').some((tag) => ['*', etag].includes(tag.trim()));

/** RFC 9110, 13.1.2: weak comparison. */
export function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  const opaque = (tag: string): string => tag.trim().replace(/^W\//, '');
  return ifNoneMatch.split(',').some((tag) => opaque(tag) === opaque(etag));
}

/** The best coding that Accept-Encoding names; `;q=0` refuses one. */
export function codingOf(accepted = ''): Coding | undefined {
  const taken = accepted.split(',').flatMap((part) => {
    const [name = '', quality = '1'] = part
      .trim()
      .toLowerCase()
      .split(/\s*;\s*q=/);
    return Number(quality) > 0 ? [name] : [];
  });
  return (['br', 'gzip'] as const).find((name) => taken.includes(name));
}
