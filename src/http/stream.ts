/**
 * Streams an answer, as fast as the client reads.
 *
 *   headers -> ( next piece -> res.write -> [ full: wait until writable ] )* -> end
 *
 * Memory is bounded by one piece, and `stallMsMax` bounds the wait: uWS itself waits forever for a client that does not
 * read (measured). A client that leaves ends the source (`return`), which releases its resources. A source that throws
 * closes the connection, because a normal end after the 200 would look like a complete answer.
 */
import type * as uWS from 'uWebSockets.js';

export interface StreamOptions {
  readonly stallMsMax: number;
  readonly source: AsyncIterable<Uint8Array>;
  readonly isAborted: () => boolean;
  readonly onGone: (callback: () => void) => void;
}

/** Call it after the headers. @throws what the source throws, with the connection closed */
export async function sendStream(res: uWS.HttpResponse, options: StreamOptions): Promise<void> {
  const gate = new Gate();
  const iterator = options.source[Symbol.asyncIterator]();
  options.onGone(() => {
    gate.open();
    // The source may be waiting for its next event.
    iterator.return?.().catch(() => undefined);
  });
  res.onWritable(() => {
    gate.open();
    return true;
  });
  try {
    for await (const piece of { [Symbol.asyncIterator]: () => iterator }) {
      if (options.isAborted()) return;
      if (piece.byteLength === 0) continue;
      gate.shut();
      let isTaken = true;
      res.cork(() => {
        isTaken = res.write(piece);
      });
      if (!isTaken && (await gate.passed(options.stallMsMax)) === 'stalled') {
        if (!options.isAborted()) res.close();
        return;
      }
      if (options.isAborted()) return;
    }
  } catch (error) {
    if (!options.isAborted()) res.close();
    throw error;
  }
  // With `close`, uWS would write its Connection header into the body (measured, 20.0.8).
  if (!options.isAborted()) res.cork(() => res.end());
}

/** Shut before a write, open when the response is writable again or the client has left. */
class Gate {
  #isOpen = true;
  #waiting: (() => void) | undefined;

  shut(): void {
    this.#isOpen = false;
  }
  open(): void {
    this.#isOpen = true;
    this.#waiting?.();
    this.#waiting = undefined;
  }
  async passed(msMax: number): Promise<'open' | 'stalled'> {
    if (this.#isOpen) return 'open';
    const { promise, resolve } = Promise.withResolvers<'open' | 'stalled'>();
    const timer = setTimeout(() => resolve('stalled'), msMax);
    this.#waiting = () => resolve('open');
    const passed = await promise;
    clearTimeout(timer);
    return passed;
  }
}
