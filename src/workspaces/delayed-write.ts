/**
 * A write that may wait a little, so that all changes until then share one transaction.
 * One that fails (disk full) is tried again after the same delay.
 */
export class DelayedWrite {
  readonly #delayMs: number;
  readonly #write: () => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #closed = false;

  constructor(delayMs: number, write: () => Promise<void>) {
    this.#delayMs = delayMs;
    this.#write = write;
  }

  /** Writes within `delayMs`. */
  mark(): void {
    if (this.#timer !== undefined || this.#closed) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#running = this.#write().catch(() => this.mark());
    }, this.#delayMs);
    this.#timer.unref();
  }

  /** Writes a last time; marks are ignored from now on. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#running;
    await this.#write();
  }
}
