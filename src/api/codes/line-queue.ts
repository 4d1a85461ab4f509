/**
 * Lines of an answer between who makes them and who sends them: the making never waits for a slow
 * client, and when the client goes, what still comes is dropped. They come out in the batches in which
 * they were put in; the queue holds at most the whole answer.
 */
export class LineQueue implements AsyncIterable<readonly string[]> {
  #batches: Array<readonly string[]> = [];
  #state: 'open' | 'ended' | 'gone' = 'open';
  #error: unknown;
  #wake: (() => void) | undefined;

  push(lines: readonly string[]): void {
    if (this.#state === 'gone' || lines.length === 0) return;
    this.#batches.push(lines);
    this.#notify();
  }

  end(): void {
    if (this.#state === 'open') this.#state = 'ended';
    this.#notify();
  }

  /** What was pushed still comes out; then the reader gets the error. */
  fail(error: unknown): void {
    this.#error = error;
    this.end();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly string[]> {
    try {
      for (;;) {
        const batches = this.#batches;
        this.#batches = [];
        if (batches.length > 0) yield* batches;
        else if (this.#state === 'open') await this.#more();
        else break;
      }
      if (this.#error !== undefined) throw this.#error;
    } finally {
      this.#state = 'gone';
      this.#batches = [];
    }
  }

  async #more(): Promise<void> {
    await new Promise<void>((wake) => {
      this.#wake = wake;
    });
  }

  #notify(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}
