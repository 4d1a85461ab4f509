/** A `Reply` on the wire, in one corked call. */
import type * as uWS from 'uWebSockets.js';
import type { Connection } from './framing.ts';
import type { Reply } from './request.ts';

/** `import` reads every export of `node:http`, which loads Node's HTTP client and HTTP/2: 13 MB and 35 ms in each thread. */
const { STATUS_CODES } = process.getBuiltinModule('node:http');

/** A reply with the headers that the server adds. */
export interface Answer {
  readonly isHead: boolean;
  readonly reply: Reply;
  readonly headers: Readonly<Record<string, string>>;
}

export function write(res: uWS.HttpResponse, answer: Answer, connection: Connection): void {
  const { body, bodyBytes } = answer.reply;
  writeHead(res, answer);
  if (connection === 'closing') res.writeHeader('Connection', 'close');
  if (body === undefined && bodyBytes !== undefined) endHead(res, bodyBytes, connection);
  else if (body === undefined || isSource(body)) endEmpty(res, connection);
  else if (answer.isHead) endHead(res, byteLength(body), connection);
  else res.end(body, connection === 'close');
}

export function writeHead(res: uWS.HttpResponse, { reply, headers }: Answer): void {
  res.writeStatus(`${reply.status} ${STATUS_CODES[reply.status] ?? 'Unknown'}`);
  for (const [name, value] of Object.entries(headers)) res.writeHeader(name, value);
  for (const [name, value] of Object.entries(reply.headers)) res.writeHeader(name, value);
  for (const [name, value] of reply.repeated ?? []) res.writeHeader(name, value);
}

/** A source of pieces, against bytes and text, which are iterable too. */
export function isSource(body: Reply['body']): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && Symbol.asyncIterator in body;
}

/** uWS reads an undefined length as 2^63: a 304 without a length must be ended without arguments. */
function endEmpty(res: uWS.HttpResponse, connection: Connection): void {
  if (connection === 'close') res.endWithoutBody(0, true);
  else res.endWithoutBody();
}

function byteLength(body: string | Uint8Array): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
}

/** uWS writes header values raw: a line break would split the response. @throws Error */
export function assertSafe(reply: Reply): void {
  for (const [name, value] of [...Object.entries(reply.headers), ...(reply.repeated ?? [])]) {
    // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
    if (/[\u0000-\u001f\u007f]/.test(value)) {
      throw new Error(`Cannot send header ${name}: it holds control characters, expected none`);
    }
  }
}

/**
 * Ends the answer to HEAD: the headers and the length of GET, and no body.
 *
 * `endWithoutBody(length)` sends the right bytes and then takes the answer for unfinished: without an
 * abort handler uWS ends the process, with one it closes the connection at the next request (both
 * measured, 20.0.8). So the length is written as a header and the answer ended without arguments: `close` is
 * said, and done by the client or the end of a drain.
 */
export function endHead(res: uWS.HttpResponse, bodyBytes: number, connection: Connection): void {
  if (connection === 'close') res.writeHeader('Connection', 'close');
  res.writeHeader('Content-Length', String(bodyBytes));
  res.endWithoutBody();
}
