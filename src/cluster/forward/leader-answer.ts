/**
 * The answer of the leader to one request: its head, then its body piece by piece, as fast as it is read.
 *
 * Memory: `unreadBytesMax` and what the socket has read by then; then the connection is paused. A reader that ends early
 * (`return`) ends the request at the leader too, even if no piece arrives.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';

const unreadBytesMax = 262_144;

export interface AnswerHead {
  readonly status: number;
  /** By name in lower case. */
  readonly headers: Readonly<IncomingHttpHeaders>;
}

export class LeaderAnswer implements Dispatcher.DispatchHandler, AsyncIterable<Uint8Array> {
  readonly #head = Promise.withResolvers<AnswerHead>();
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #body!: ReadableStreamDefaultController<Uint8Array>;
  #controller: Dispatcher.DispatchController | undefined;
  #isEnded = false;
  #endsQuietly = false;

  constructor() {
    const stream = new ReadableStream<Uint8Array>(
      {
        start: (body) => void (this.#body = body),
        pull: () => (this.#controller?.paused === true ? this.#controller.resume() : undefined),
        cancel: () => this.#end(() => this.#abort()),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: unreadBytesMax }),
    );
    this.#reader = stream.getReader();
    // They have no reader if the request could not be sent.
    this.head.catch(() => undefined);
    this.#reader.closed.catch(() => undefined);
  }

  /** Rejects if none comes. */
  get head(): Promise<AnswerHead> {
    return this.#head.promise;
  }

  /** The leader may have received the request or a part of it. */
  get isSent(): boolean {
    return this.#controller !== undefined;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The client has the answer `not_active`, so the request must not be sent.
    if (this.#isEnded) this.#abort();
  }

  onResponseStart(_: unknown, status: number, headers: IncomingHttpHeaders): void {
    if (status >= 200) this.#head.resolve({ status, headers });
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Uint8Array): void {
    if (this.#isEnded) return;
    this.#body.enqueue(piece);
    if ((this.#body.desiredSize ?? 0) <= 0) controller.pause();
  }

  onResponseEnd(): void {
    this.#end(() => this.#body.close());
  }

  onResponseError(_: unknown, error: Error): void {
    this.#head.reject(error);
    this.#end(() => (this.#endsQuietly ? this.#body.close() : this.#body.error(error)));
  }

  /** From here on an error ends the answer like its end. @param onEnd called once it has ended */
  endQuietly(onEnd: () => void): void {
    this.#endsQuietly = true;
    this.#reader.closed.then(onEnd, onEnd);
  }

  /** Ends it with an error, at the leader too. */
  fail(error: Error): void {
    this.onResponseError(undefined, error);
    this.#abort();
  }

  /** Ends it at the leader too: its client has left. */
  leave(): void {
    this.#end(() => {
      this.#body.close();
      this.#abort();
    });
  }

  /** @throws the error that ended the answer early */
  async whole(): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return {
      next: () => this.#reader.read(),
      return: async () => {
        await this.#reader.cancel().catch(() => undefined);
        return { done: true, value: undefined };
      },
    };
  }

  #end(work: () => void): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    work();
  }

  #abort(): void {
    this.#controller?.abort(new Error('the client has left'));
  }
}
