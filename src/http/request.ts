/**
 * A request as handlers see it: plain values copied out of uWebSockets.js while its `HttpRequest` is
 * still valid (it dies when the handler returns), and a body that may still be arriving.
 *
 * Headers are kept by name from a fixed list: no handler can depend on a header that is not read here,
 * and a client cannot make the server hold more than uWS's own 4 KB / 100 headers.
 */
import type { Failure } from '../model/failure.ts';

export interface Request {
  /** `req_…`, sent back as X-Request-Id. */
  readonly id: string;
  /** Upper case. */
  readonly method: string;
  /** As sent, percent-encoding included, without the query. */
  readonly path: string;
  /** As sent, without `?`; empty without a query. */
  readonly query: string;
  /** A kept header by its lower-case name, or undefined. */
  header(name: KeptHeader): string | undefined;
  /** The client: the peer, or the address that a trusted proxy names. */
  readonly clientAddress: string;
  /** The other end of the socket. */
  readonly peerAddress: string;
  /**
   * The whole body.
   * @throws Failure body_too_large, request_timeout
   */
  body(): Promise<Uint8Array>;
  /**
   * The body piece by piece while it arrives; the client is paused while a piece is worked on.
   * Instead of `body()`, for routes with a large bound.
   * @throws Failure body_too_large, request_timeout
   */
  chunks(): AsyncIterable<Uint8Array>;
  /** True once the client has disconnected: an answer would not arrive. */
  readonly aborted: boolean;
}

/** Every header that the service reads. */
export const keptHeaders = [
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
export type KeptHeader = (typeof keptHeaders)[number];

/** Bytes of a request body; a longer one is refused with 413 while it arrives. */
export const standardBodyBytesMax = 65_536;

/** Answers requests. Neither method may throw; `refuse` answers requests that are not handled. */
export interface Handler {
  handle(request: Request): Promise<Reply>;
  refuse(request: Request, failure: Failure): Reply;
  /** Answers to plain GETs that are known from the address alone: the rest is then not read. */
  readonly ready?: ReadyAnswers;
  /** Bytes a body may have here when not `standardBodyBytesMax`; asked before it is read. */
  bodyBytesMax?(method: string, path: string): number | undefined;
}

export interface ReadyAnswers {
  /** Of the paths that may have one. */
  readonly prefix: string;
  /** Undefined = `handle` it. The same answer is to be the same object. */
  find(path: string, query: string): Reply | undefined;
}

/** An answer. The server adds the framing and X-Request-Id; header values hold no control characters. */
export interface Reply {
  readonly status: number;
  /** `x-request-id` takes the place of this server's: another one has answered. */
  readonly headers: Readonly<Record<string, string>>;
  /** Further headers of the same names: name, value. */
  readonly repeated?: ReadonlyArray<readonly [string, string]>;
  /** To HEAD, without a body: the length that GET has. */
  readonly bodyBytes?: number;
  /**
   * Absent for 304. HEAD requests get its length only. A source of pieces is streamed: pulled as fast as
   * the client reads, and ended early (`return`) when the client goes.
   */
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>;
}
