import type { Management } from '../../store/management/management.ts';

const usesDelayMs = 5_000;

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

/** When keys and sessions were last used: known in memory at once, written a few seconds late. */
export class LastUses {
  readonly #times = new Map<string, number>();
  readonly #write: DelayedWrite;

  /** @param put stores one, inside a transaction */
  constructor({ environment }: Management, put: (name: string, timeMs: number) => void) {
    this.#write = new DelayedWrite(usesDelayMs, async () => {
      const uses = [...this.#times];
      if (uses.length === 0) return;
      await environment.transaction(() => {
        for (const [name, timeMs] of uses) put(name, timeMs);
      });
      for (const [name, timeMs] of uses) {
        if (this.#times.get(name) === timeMs) this.#times.delete(name);
      }
    });
  }

  /** Undefined if the stored time is the newest. */
  get(name: string): number | undefined {
    return this.#times.get(name);
  }

  note(name: string, timeMs: number): void {
    this.#times.set(name, timeMs);
    this.#write.mark();
  }

  delete(name: string): void {
    this.#times.delete(name);
  }

  async close(): Promise<void> {
    await this.#write.close();
  }
}
