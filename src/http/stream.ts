/**
 * A streamed answer: pieces are pulled from their source as fast as the client reads them.
 *
 *   headers -> ( next piece -> res.write -> [ full: wait until writable ] )* -> end
 *
 * Memory is one piece and what uWS could not hand to the kernel of it, for at most `stallMsMax`: uWS
 * itself waits for ever for a client that does not read (measured). A client that leaves ends the source
 * (`return`), so that what it holds is released; a source that throws cuts the connection, for the
 * status line has gone out as a success and a silent end would look like a whole answer.
 */
import type * as uWS from 'uWebSockets.js';

export interface StreamOptions {
  /** A client that reads nothing for so long is cut off; it can ask again for what it missed. */
  readonly stallMsMax: number;
  readonly source: AsyncIterable<Uint8Array>;
  readonly isAborted: () => boolean;
  /** Calls back once when the client has left. */
  readonly onGone: (callback: () => void) => void;
}

/**
 * Sends all pieces and ends the response; the headers are written already.
 * @throws what the source throws, after the connection was closed
 */
export async function sendStream(res: uWS.HttpResponse, options: StreamOptions): Promise<void> {
  const gate = new Gate();
  const iterator = options.source[Symbol.asyncIterator]();
  options.onGone(() => {
    gate.open();
    // A source that waits for events must not wait for one to notice that its client has left.
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
  // Told to close as well, uWS would write its Connection header into the body (measured, 20.0.8).
  if (!options.isAborted()) res.cork(() => res.end());
}

/** Shut before a write; opened when the response is writable again, or the client has left. */
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
