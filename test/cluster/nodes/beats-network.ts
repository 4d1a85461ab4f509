/** Carries beats, and questions with their answers, between nodes of one thread, in virtual time. */
import type { Beat } from '../../../src/cluster/nodes/beat-message.ts';
import { Played } from '../virtual-time.ts';

/** A beat of a node. */
export const beatOf = (
  name: string,
  role: Beat['role'] = 'all',
  more: Partial<Beat> = {},
): Beat => ({
  name,
  role,
  instance: `n_${name}`,
  url: role === 'edge' ? '' : `http://${name}`,
  redirects: role !== 'core',
  version: '0.2.0',
  linkNumber: 0,
  isLast: false,
  journaled: { atMs: 0, tails: [] },
  mark: null,
  ...more,
});

type Call<Returned> = (bytes: Uint8Array, subject: string) => Returned;

class Subjects<Returned> {
  readonly #entries: Array<{ of: string; pattern: RegExp; call: Call<Returned> }> = [];

  add(of: string, subject: string, call: Call<Returned>): () => void {
    const pattern = new RegExp(`^${subject.replaceAll('*', '[^.]+')}$`);
    const entry = { of, pattern, call };
    this.#entries.push(entry);
    return () => void this.#entries.splice(this.#entries.indexOf(entry), 1);
  }

  of(subject: string) {
    return this.#entries.filter(({ pattern }) => pattern.test(subject));
  }
}

/** Delivers at once, to each connection that is not cut off. */
export class BeatsNetwork extends Played {
  readonly cutOff = new Set<string>();
  /** Notes what is published. */
  isWatched = false;
  /** Subjects of questions. */
  readonly asked: string[] = [];
  readonly #listeners = new Subjects<void>();
  readonly #answers = new Subjects<Promise<Uint8Array | undefined>>();

  connection(of: string) {
    return {
      problem: undefined as string | undefined,
      publish: (subject: string, bytes: Uint8Array): void => {
        if (this.isWatched) this.note(subject);
        if (this.cutOff.has(of)) return;
        for (const { of: to, call } of this.#listeners.of(subject)) {
          if (!this.cutOff.has(to)) call(bytes, subject);
        }
      },
      subscribe: (subject: string, call: Call<void>) => this.#listeners.add(of, subject, call),
      answer: (subject: string, call: Call<Promise<Uint8Array | undefined>>) =>
        this.#answers.add(of, subject, call),
      request: async (subject: string, bytes: Uint8Array): Promise<Uint8Array> => {
        this.asked.push(subject);
        for (const { call } of this.#answers.of(subject)) {
          const answer = await call(bytes, subject);
          if (answer !== undefined) return answer;
        }
        throw new Error('timeout');
      },
    };
  }
}
