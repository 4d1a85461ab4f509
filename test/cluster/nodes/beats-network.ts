/** Carries beats between nodes of one thread, in virtual time. */
import { VirtualTime } from '../simulation/virtual-time.ts';

type Listener = (bytes: Uint8Array, subject: string) => void;

/** Delivers at once, to each connection that is not cut off. */
export class BeatsNetwork {
  readonly time = new VirtualTime();
  readonly startMs = this.time.nowMs;
  readonly cutOff = new Set<string>();
  readonly published: string[] = [];
  readonly #listeners: Array<{ readonly of: string; readonly pattern: RegExp; call: Listener }> =
    [];

  connection(of: string) {
    return {
      publish: (subject: string, bytes: Uint8Array): void => {
        this.published.push(`${this.nowMs} ${subject}`);
        if (this.cutOff.has(of)) return;
        for (const { of: to, pattern, call } of this.#listeners) {
          if (pattern.test(subject) && !this.cutOff.has(to)) call(bytes, subject);
        }
      },
      subscribe: (subject: string, call: Listener): (() => void) => {
        const pattern = new RegExp(`^${subject.replaceAll('*', '[^.]+')}$`);
        const entry = { of, pattern, call };
        this.#listeners.push(entry);
        return () => void this.#listeners.splice(this.#listeners.indexOf(entry), 1);
      },
    };
  }

  get nowMs(): number {
    return this.time.nowMs - this.startMs;
  }

  async until(ms: number): Promise<void> {
    await this.time.run(this.startMs + ms);
  }
}
