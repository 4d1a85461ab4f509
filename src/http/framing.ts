/**
 * Requests on the short-link port that announce a body: none needs one.
 *
 * Two lengths, or a transfer coding uWS does not know, may hide a second request that a proxy in front
 * never saw. uWS cuts a connection that brings another request while an answer is pending, and goes on
 * after one that is answered at once, `Connection: close` or not (measured, 20.0.8). So these wait for
 * the next cycle of the event loop and close. The answer to a scan always waits so; only the other answers come by here.
 */
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';

export type Connection = 'keep' | 'close';

/** @param send writes the whole answer, from what it has read of the request already */
export function sendFramed(
  response: HttpResponse,
  request: HttpRequest,
  connection: Connection,
  send: (connection: Connection) => void,
): void {
  const isBare =
    request.getHeader('content-length') === '' && request.getHeader('transfer-encoding') === '';
  if (isBare) {
    send(connection);
    return;
  }
  let isAborted = false;
  response.onAborted(() => {
    isAborted = true;
  });
  setImmediate(() => {
    if (!isAborted) response.cork(() => send('close'));
  });
}
