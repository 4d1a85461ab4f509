/**
 * Decides whether a connection stays open after an answer, and handles requests with a body on the short-link port,
 * which never needs one.
 *
 * Two lengths, an unknown transfer coding, or chunks that uWS reads more loosely than a proxy in front (a bare line feed
 * ends a size, anything ends the data) may hide a second request from the proxy. uWS closes a connection that brings
 * another request while an answer is pending; after an immediate answer it continues, also with `Connection: close`
 * (measured, 20.0.8). So requests with a body are answered in the next cycle and closed, and ambiguous ones refused.
 * Two `Host` are not looked for: to read every header costs 1.7 µs, 15 % of a redirect, and no answer depends on it.
 */
import { MessageChannel } from 'node:worker_threads';
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import type { Failure } from '../../model/failure.ts';
import { Headers } from './headers.ts';
import { headerNames } from './uws-app.ts';

/** `close`: uWS closes for us and writes the header. `closing`: uWS closes for the request, and we write the header. */
export type Connection = 'keep' | 'close' | 'closing';

/** @param header the Connection header, or empty */
export function connectionAsked(header: string): Connection {
  if (header === '' || header === 'keep-alive') return 'keep';
  // uWS checks the length only.
  if (header.length === 'close'.length) return 'closing';
  return /(?:^|,)\s*close\s*(?:,|$)/i.test(header) ? 'close' : 'keep';
}

/** The connection of a redirect, which also ends when the request announces a body. */
export function connectionAfter(request: HttpRequest, closes: boolean): Connection {
  const asked = connectionAsked(request.getHeader(headerNames.connection));
  if (asked !== 'keep') return asked;
  return closes || !isBare(request) ? 'close' : 'keep';
}

const waiting: Array<() => void> = [];
const { port1, port2 } = new MessageChannel();
port1.on('message', () => {
  for (const work of waiting.splice(0)) work();
});
port1.unref();

/**
 * Runs work that closes a connection in the next cycle of the event loop, among socket events. uSockets never frees a
 * socket that an immediate closes: half a gigabyte after a million scans through a proxy without keep-alive (measured).
 */
export function inNextCycle(work: () => void): void {
  if (waiting.push(work) === 1) port2.postMessage(undefined);
}

const isBare = (request: HttpRequest): boolean =>
  request.getHeader(headerNames.transferEncoding) === '' &&
  request.getHeader(headerNames.contentLength) === '';

/** Why a request that announces a body is ambiguous. */
export function framingFault(request: HttpRequest): Failure | undefined {
  if (isBare(request)) return undefined;
  const headers = new Headers();
  request.forEach((name, value) => headers.add(name, value));
  return headers.fault(request.getMethod().toUpperCase());
}

/** @param send writes the answer without the request; `cut`: the connection must end with it */
export function sendFramed(
  response: HttpResponse,
  request: HttpRequest,
  send: (framing: 'bare' | 'cut') => void,
): void {
  if (isBare(request)) {
    send('bare');
    return;
  }
  let isAborted = false;
  response.onAborted(() => {
    isAborted = true;
  });
  inNextCycle(() => {
    if (!isAborted) response.cork(() => send('cut'));
  });
}
