/** Writes a `Reply` in one corked call or as a stream. */
import type * as uWS from 'uWebSockets.js';
import type { Connection } from './framing.ts';
import type { Reply } from './request.ts';

/** `import` reads every export of `node:http`, which loads Node's HTTP client and HTTP/2: 13 MB and 35 ms in each thread. */
const { STATUS_CODES } = process.getBuiltinModule('node:http');

/** On every answer: browsers must not guess another type than Content-Type. */
export const noSniffing = { name: 'X-Content-Type-Options', value: 'nosniff' };

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
  else if (answer.isHead) endHead(res, Buffer.byteLength(body), connection);
  else res.end(body, connection === 'close');
}

export function writeHead(res: uWS.HttpResponse, { reply, headers }: Answer): void {
  res.writeStatus(`${reply.status} ${STATUS_CODES[reply.status] ?? 'Unknown'}`);
  for (const [name, value] of Object.entries(headers)) res.writeHeader(name, value);
  for (const [name, value] of Object.entries(reply.headers)) res.writeHeader(name, value);
  for (const [name, value] of reply.repeated ?? []) res.writeHeader(name, value);
}

export function isSource(body: Reply['body']): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && Symbol.asyncIterator in body;
}

/** uWS reads an undefined length as 2^63: a 304 without a length must be ended without arguments. */
function endEmpty(res: uWS.HttpResponse, connection: Connection): void {
  if (connection === 'close') res.endWithoutBody(0, true);
  else res.endWithoutBody();
}

// oxlint-disable-next-line no-control-regex
const control = /[\u0000-\u001f\u007f]/;

/** uWS writes header values raw: a line break would split the response. @throws Error */
export function assertSafe(reply: Reply): void {
  for (const [name, value] of [...Object.entries(reply.headers), ...(reply.repeated ?? [])]) {
    if (control.test(value)) {
      throw new Error(`Cannot send header ${name}: it holds control characters, expected none`);
    }
  }
}

/**
 * Ends the answer to HEAD: headers and length as for GET. After `endWithoutBody(length)` uWS takes the answer for
 * unfinished, and ends the process or, at the next request, the connection (measured, 20.0.8). So the length is a header
 * and the end has no arguments. The client, or the end of a drain, closes the connection.
 */
function endHead(res: uWS.HttpResponse, bodyBytes: number, connection: Connection): void {
  if (connection === 'close') res.writeHeader('Connection', 'close');
  res.writeHeader('Content-Length', String(bodyBytes));
  res.endWithoutBody();
}

interface StreamOptions {
  readonly stallMsMax: number;
  readonly source: AsyncIterable<Uint8Array>;
  readonly isAborted: () => boolean;
  readonly onGone: (callback: () => void) => void;
}

/**
 * Streams a body, as fast as the client reads; call it after the headers. Memory is bounded by one piece, and `stallMsMax`
 * bounds the wait: uWS itself waits forever for a client that does not read (measured). A client that leaves ends the
 * source (`return`). A source that throws closes the connection, because a normal end would look like a complete answer.
 * @throws what the source throws
 */
export async function sendStream(res: uWS.HttpResponse, options: StreamOptions): Promise<void> {
  const { source, isAborted, onGone, stallMsMax } = options;
  const iterator = source[Symbol.asyncIterator]();
  let proceed = (): void => undefined;
  onGone(() => {
    proceed();
    // The source may be waiting for its next event.
    iterator.return?.().catch(() => undefined);
  });
  res.onWritable(() => {
    proceed();
    return true;
  });
  try {
    for await (const piece of { [Symbol.asyncIterator]: () => iterator }) {
      if (isAborted()) return;
      if (piece.byteLength === 0) continue;
      const { promise: isWritable, resolve } = Promise.withResolvers<boolean>();
      proceed = () => resolve(true);
      let isTaken = true;
      res.cork(() => {
        isTaken = res.write(piece);
      });
      const timer = isTaken ? undefined : setTimeout(() => resolve(false), stallMsMax);
      const isStalled = !isTaken && !(await isWritable);
      clearTimeout(timer);
      if (isStalled && !isAborted()) res.close();
      if (isStalled || isAborted()) return;
    }
  } catch (error) {
    if (!isAborted()) res.close();
    throw error;
  }
  // With `close`, uWS would write its Connection header into the body (measured, 20.0.8).
  if (!isAborted()) res.cork(() => res.end());
}
