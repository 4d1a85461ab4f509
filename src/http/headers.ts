/**
 * Request headers: kept by name, checked for the shapes that request smuggling is made of.
 *
 * uWS already refuses bad lengths, bad chunks and Content-Length beside Transfer-Encoding, but takes
 * the first of two Content-Length and waits for ever on `Transfer-Encoding: gzip` (both measured).
 * A proxy in front may take the last one: the two would disagree where the request ends. So whatever
 * is not framed in exactly one way is refused, and its connection closed.
 *
 * Also what they say of the copy that a client has, and of the codings that it reads.
 */
import { hash } from 'node:crypto';
import { Failure } from '../model/failure.ts';
import { keptHeaders, type KeptHeader } from './request.ts';

/** Headers that mean one thing only: two of them are a fault, not a list. */
const singleHeaders: ReadonlySet<string> = new Set<KeptHeader>([
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
const kept: ReadonlySet<string> = new Set(keptHeaders);
/** A Content-Length beyond 15 digits is not a safe integer. */
const lengthPattern = /^\d{1,15}$/;

export class Headers {
  readonly #values = new Map<string, string>();
  #repeated: string | undefined;

  add(name: string, value: string): void {
    if (!kept.has(name)) return;
    const before = this.#values.get(name);
    if (before === undefined) {
      this.#values.set(name, value);
      return;
    }
    if (singleHeaders.has(name)) this.#repeated ??= name;
    else this.#values.set(name, `${before}, ${value}`);
  }

  get(name: KeptHeader): string | undefined {
    return this.#values.get(name);
  }

  /** Bytes of the body that follows: declared; `chunked` when only its end shows how many; else 0. */
  get bodyBytes(): number | 'chunked' {
    if (this.#values.has('transfer-encoding')) return 'chunked';
    const text = this.#values.get('content-length');
    return text === undefined || !lengthPattern.test(text) ? 0 : Number(text);
  }

  /** What makes this request's framing or identity ambiguous, if anything. */
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

/** How a body may be packed. */
export type Coding = 'br' | 'gzip';

const tagCharacters = 22;

/** A strong ETag of a text. */
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

/** The smaller of those that the client accepts. */
export const codingOf = (accepted: string | undefined): Coding | undefined =>
  acceptedOf(accepted, ['br', 'gzip']);

/** The first of `offered` that an Accept header names; `;q=0` refuses one. */
export function acceptedOf<Name extends string>(
  accepted = '',
  offered: readonly Name[],
): Name | undefined {
  const taken = accepted.split(',').flatMap((part) => {
    const [name = '', quality = '1'] = part
      .trim()
      .toLowerCase()
      .split(/\s*;\s*q=/);
    return Number(quality) > 0 ? [name] : [];
  });
  return offered.find((name) => taken.includes(name));
}
