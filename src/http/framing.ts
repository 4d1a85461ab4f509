/**
 * Whether a connection goes on after an answer, and requests on the short-link port that announce a body: none
 * needs one.
 *
 * Two lengths, a transfer coding uWS does not know, or chunks that uWS reads more loosely than a proxy in front
 * (a bare line feed after a size, no line end after the data) may hide a second request that the proxy never
 * saw. uWS cuts a connection that brings another request while an answer is pending, and goes on after one that
 * is answered at once, `Connection: close` or not (measured, 20.0.8). So these wait for the next cycle of the
 * event loop and close; what is ambiguous is refused. The answer to a scan waits for its journal anyhow (redirect.ts).
 * Two `Host` in a request without a body are not looked for: a look at each header costs 1.7 µs, 15 % of a redirect,
 * and no answer on this port depends on it.
 */
import { MessageChannel } from 'node:worker_threads';
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import type { Failure } from '../model/failure.ts';
import { Headers } from './headers.ts';
import { headerNames } from './uws-app.ts';

/**
 * `close`: we tell uWS to close, and it writes the header. `closing`: uWS closes by itself, because the request asks
 * for it; then we write the header.
 */
export type Connection = 'keep' | 'close' | 'closing';

/** What the request's Connection header asks for. @param header its value, empty without one */
export function connectionAsked(header: string): Connection {
  if (header === '' || header === 'keep-alive') return 'keep';
  // uWS looks at the length alone.
  if (header.length === 'close'.length) return 'closing';
  return /(?:^|,)\s*close\s*(?:,|$)/i.test(header) ? 'close' : 'keep';
}

/** What becomes of the connection of a redirect: it also ends when the request announces a body. */
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
 * Does what closes a connection in the next cycle of the event loop, among the events of sockets. Not in an immediate:
 * uSockets frees closed sockets just before the immediates, and never a socket that an immediate closes, 480 bytes each
 * (measured, 20.0.8): half a gigabyte for a million scans by way of a proxy that keeps no connection alive.
 */
export function inNextCycle(work: () => void): void {
  if (waiting.push(work) === 1) port2.postMessage(undefined);
}

const isBare = (request: HttpRequest): boolean =>
  request.getHeader(headerNames.transferEncoding) === '' &&
  request.getHeader(headerNames.contentLength) === '';

/** What makes it ambiguous where a request that announces a body ends, and two `Host` in such a request. */
export function framingFault(request: HttpRequest): Failure | undefined {
  if (isBare(request)) return undefined;
  const headers = new Headers();
  request.forEach((name, value) => headers.add(name, value));
  return headers.fault(request.getMethod().toUpperCase());
}

/**
 * @param send writes the whole answer, from what it has read of the request already; `cut` where the connection
 *   must end with it, whatever else that costs
 */
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
