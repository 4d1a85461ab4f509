/**
 * The answer to HEAD: the headers and the length of GET, and no body.
 *
 * `endWithoutBody(length)` sends the right bytes and then takes the answer for unfinished: without an
 * abort handler uWS ends the process, with one it closes the connection at the next request (both
 * measured, 20.0.8). So the length is written as a header and the answer ended without arguments.
 */
import type { HttpResponse } from 'uWebSockets.js';

export function endHead(
  response: HttpResponse,
  bodyBytes: number,
  connection: 'keep' | 'close',
): void {
  if (connection === 'close') response.writeHeader('Connection', 'close');
  response.writeHeader('Content-Length', String(bodyBytes));
  response.endWithoutBody();
}
