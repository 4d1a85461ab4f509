/**
 * Bytes on their way to a parser of rows, in pieces small enough for the event loop: a parser works
 * through a piece without a pause, and other requests wait for it.
 */

/** About 1 to 2 ms of a parser's work. */
const pieceBytes = 32_768;

/** The same bytes in pieces of at most 32 KiB, the event loop turning between them. */
export async function* smallPieces(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of source) {
    for (let at = 0; at < piece.byteLength; at += pieceBytes) {
      yield piece.subarray(at, at + pieceBytes);
      await nextTurn();
    }
  }
}

export async function nextTurn(): Promise<void> {
  await new Promise<void>((resume) => setImmediate(resume));
}
