/**
 * Requests and replies as handlers see them. A request has plain values, because uWS's `HttpRequest` is valid only until
 * its handler returns, and a body that may still be arriving. Headers come from a fixed list.
 */
import type { Failure } from '../../model/failure.ts';

export interface Request {
  /** `req_…`, sent back as X-Request-Id. */
  readonly id: string;
  readonly method: string;
  /** Raw, without the query. */
  readonly path: string;
  /** Raw, without `?`; may be empty. */
  readonly query: string;
  header(name: KnownHeader): string | undefined;
  /** The peer, or the address that a trusted proxy names. */
  readonly clientAddress: string;
  readonly peerAddress: string;
  /** @throws Failure body_too_large, request_timeout */
  body(): Promise<Uint8Array>;
  /** Streams the body, in place of `body()`; a client that is faster than its reader is paused. @throws as `body` */
  chunks(): AsyncIterable<Uint8Array>;
  /** Replaces the limit of the body, `standardBodyBytesMax`. For `handle`, before its first `await`. */
  limitBody(bytesMax: number): void;
  readonly aborted: boolean;
}

export const knownHeaders = [
  'accept',
  'accept-encoding',
  'authorization',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'cookie',
  'host',
  'idempotency-key',
  'if-match',
  'if-none-match',
  'last-event-id',
  'origin',
  'sec-fetch-site',
  'stripe-signature',
  'transfer-encoding',
  'user-agent',
  'x-csrf-token',
  'x-forwarded-for',
  'x-quietzone-client',
  'x-quietzone-proof',
] as const;
export type KnownHeader = (typeof knownHeaders)[number];

/** A longer body is refused with 413 while it arrives. */
export const standardBodyBytesMax = 65_536;

/** Its methods must not throw. */
export interface Handler {
  handle(request: Request): Promise<Reply>;
  /** Answers a request that the server does not pass to `handle`. */
  refuse(request: Request, failure: Failure): Reply;
}

/** The server adds the framing and X-Request-Id. Header values must not have control characters. */
export interface Reply {
  readonly status: number;
  /** `x-request-id` replaces that of this server, when another server has answered. */
  readonly headers: Readonly<Record<string, string>>;
  /** Further headers of the same names: name, value. */
  readonly repeated?: ReadonlyArray<readonly [string, string]>;
  /** For HEAD without a body: the length for GET. */
  readonly bodyBytes?: number;
  /** Absent for 304. An iterable is streamed as fast as the client reads, and ended (`return`) when the client goes. */
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>;
}

export const isRead = ({ method }: Pick<Request, 'method'>): boolean =>
  method === 'GET' || method === 'HEAD';

export const withHeader = (reply: Reply, name: string, value: string): Reply => ({
  ...reply,
  headers: { ...reply.headers, [name]: value },
});
