/**
 * Bytes for a parser of rows, in pieces small enough for the event loop: a parser reads a piece without a
 * pause, and other requests wait for it.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';

/** About 1 to 2 ms of a parser's work. */
const pieceBytes = 32_768;

/** The same bytes in pieces of at most 32 KiB, other requests handled between them. */
export async function* smallPieces(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of source) {
    for (let at = 0; at < piece.byteLength; at += pieceBytes) {
      yield piece.subarray(at, at + pieceBytes);
      await yieldToEventLoop();
    }
  }
}
