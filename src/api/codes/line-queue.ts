/**
 * Lines of an answer between the code that makes them and the one that sends them: the first never waits for
 * a slow client, and when the client has left, later lines are dropped. They come out in the batches in which
 * they were put in; the queue holds at most the whole answer.
 */
export class LineQueue implements AsyncIterable<readonly string[]> {
  #batches: Array<readonly string[]> = [];
  #state: 'open' | 'ended' | 'abandoned' = 'open';
  #error: unknown;
  #resume: (() => void) | undefined;

  push(lines: readonly string[]): void {
    if (this.#state === 'abandoned' || lines.length === 0) return;
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
      this.#state = 'abandoned';
      this.#batches = [];
    }
  }

  async #more(): Promise<void> {
    await new Promise<void>((resume) => {
      this.#resume = resume;
    });
  }

  #notify(): void {
    this.#resume?.();
    this.#resume = undefined;
  }
}
