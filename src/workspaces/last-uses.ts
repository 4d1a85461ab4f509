/** When keys and sessions were last used: known in memory at once, written a few seconds late. */
import type { Management } from '../store/management/management.ts';
import { DelayedWrite } from './delayed-write.ts';

const delayMs = 5_000;

export class LastUses {
  readonly #times = new Map<string, number>();
  readonly #write: DelayedWrite;

  /** @param put stores one, inside a transaction */
  constructor({ environment }: Management, put: (name: string, timeMs: number) => void) {
    this.#write = new DelayedWrite(delayMs, async () => {
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

  /** Undefined when it is not newer than what is stored. */
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
