/**
 * The answer of the leader to one request: its head, then its body piece by piece, as fast as it is read.
 *
 * Memory: `unreadBytesMax` and what the socket has read by then; then the connection is paused. A reader that ends early
 * (`return`) ends the request at the leader too, even if no piece arrives.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';

const unreadBytesMax = 262_144;

/** An error rejects the reader. */
type End = 'ended' | { readonly error: Error };

export interface AnswerHead {
  readonly status: number;
  /** By name in lower case. */
  readonly headers: Readonly<IncomingHttpHeaders>;
}

export class LeaderAnswer implements Dispatcher.DispatchHandler, AsyncIterable<Uint8Array> {
  /** Rejects if none comes. */
  readonly head: Promise<AnswerHead>;
  readonly #headed: (head: AnswerHead) => void;
  readonly #failed: (error: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  readonly #pieces: Uint8Array[] = [];
  #unreadBytes = 0;
  #end: End | undefined;
  #onQuietEnd: (() => void) | undefined;
  #wake: () => void = () => undefined;

  constructor() {
    const { promise, resolve, reject } = Promise.withResolvers<AnswerHead>();
    this.head = promise;
    this.#headed = resolve;
    this.#failed = reject;
    // It has no reader if the request could not be sent.
    promise.catch(() => undefined);
  }

  /** The leader may have received the request or a part of it. */
  get isSent(): boolean {
    return this.#controller !== undefined;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
  }

  onResponseStart(_: unknown, status: number, headers: IncomingHttpHeaders): void {
    if (status >= 200) this.#headed({ status, headers });
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Uint8Array): void {
    this.#pieces.push(piece);
    this.#unreadBytes += piece.byteLength;
    if (this.#unreadBytes > unreadBytesMax) controller.pause();
    this.#wake();
  }

  onResponseEnd(): void {
    this.#close('ended');
  }

  onResponseError(_: unknown, error: Error): void {
    this.#close({ error });
    this.#failed(error);
  }

  /** From here on an error ends the answer like its end. @param onEnd called once it has ended */
  endQuietly(onEnd: () => void): void {
    this.#onQuietEnd = onEnd;
    if (this.#end === undefined) return;
    this.#end = 'ended';
    onEnd();
  }

  /** Ends it with an error, at the leader too. */
  fail(error: Error): void {
    this.#close({ error });
    this.#failed(error);
    this.#controller?.abort(error);
  }

  /** Ends it at the leader too: its client has left. */
  leave(): void {
    const isOpen = this.#end === undefined;
    this.#close('ended');
    this.#pieces.length = 0;
    if (isOpen) this.#controller?.abort(new Error('the client has left'));
  }

  /** @throws the error that ended the answer early */
  async whole(): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return {
      next: () => this.#next(),
      return: async () => {
        this.leave();
        return { done: true, value: undefined };
      },
    };
  }

  async #next(): Promise<IteratorResult<Uint8Array>> {
    for (;;) {
      const piece = this.#pieces.shift();
      if (piece !== undefined) {
        this.#unreadBytes -= piece.byteLength;
        if (this.#pieces.length === 0) this.#resume();
        return { done: false, value: piece };
      }
      if (this.#end !== undefined) {
        if (typeof this.#end === 'object') throw this.#end.error;
        return { done: true, value: undefined };
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #resume(): void {
    if (this.#controller?.paused === true) this.#controller.resume();
  }

  #close(end: End): void {
    if (this.#end !== undefined) return;
    this.#end = this.#onQuietEnd === undefined ? end : 'ended';
    this.#onQuietEnd?.();
    this.#wake();
  }
}
