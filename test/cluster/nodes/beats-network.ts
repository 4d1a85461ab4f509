/** Carries beats between nodes of one thread, in virtual time. */
import { Played } from '../virtual-time.ts';

type Listener = (bytes: Uint8Array, subject: string) => void;

/** Delivers at once, to each connection that is not cut off. */
export class BeatsNetwork extends Played {
  readonly cutOff = new Set<string>();
  /** Notes what is published. */
  isWatched = false;
  readonly #listeners: Array<{ readonly of: string; readonly pattern: RegExp; call: Listener }> =
    [];

  connection(of: string) {
    return {
      publish: (subject: string, bytes: Uint8Array): void => {
        if (this.isWatched) this.note(subject);
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
}
