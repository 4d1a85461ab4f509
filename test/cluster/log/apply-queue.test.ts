/** What waits to be stored, in the order of the log (src/cluster/log/apply-queue.ts). */
import { expect, it } from 'vitest';
import { ApplyQueue } from '../../../src/cluster/log/apply-queue.ts';
import { emptyPosition, type LogPosition } from '../../../src/cluster/log/applier.ts';
import { encodeWrites } from '../../../src/cluster/log/entry.ts';
import { messageOf } from '../../../src/model/failure.ts';
import { Played, type Steps } from './played.ts';

const at = (seq: number): LogPosition => ({ ...emptyPosition, seq });
const contents: Readonly<Record<string, readonly Uint8Array[]>> = {
  few: encodeWrites([['t', 1]]),
  none: [],
  foreign: [Buffer.from('foreign')],
  /** 8 MiB, in one part. */
  large: encodeWrites([['t', 1, Buffer.alloc(8 * 1_048_576)]], Infinity),
};

/** A queue over a store that has applied entry 4. The trace has each call of the store (`5 after 4`), and each callback. */
class Queue {
  readonly #played = new Played();
  readonly #note = (what: string): void => this.#played.note(what);
  readonly #calls = new Map<number, { resolve: () => void; reject: (error: Error) => void }>();
  #stored = at(4);
  readonly #queue = new ApplyQueue({
    store: {
      position: () => this.#stored,
      apply: (_, { seq }, after) =>
        new Promise((resolve, reject) => {
          this.#note(`${seq} after ${after.seq}`);
          this.#calls.set(seq, { resolve, reject });
        }),
    },
    onFailed: (error) => this.#note(`failed: ${/^cannot store \d/.exec(messageOf(error))?.[0]}`),
    onDrained: () => this.#note('drained'),
  });

  readonly #steps: Steps = {
    add: (content, ...seqs) => {
      for (const seq of seqs.map(Number)) {
        this.#queue.add(contents[content]!, at(seq), () => this.#note(`stored ${seq}`));
      }
    },
    store: (...seqs) => {
      for (const seq of seqs.map(Number)) {
        this.#stored = at(seq);
        this.#calls.get(seq)!.resolve();
      }
    },
    /** The store answers, and does not have it. */
    answer: (seq) => this.#calls.get(Number(seq))!.resolve(),
    fail: (...seqs) => {
      for (const seq of seqs)
        this.#calls.get(Number(seq))!.reject(new Error(`cannot store ${seq}`));
    },
    begin: () => this.#note(`begins after ${this.#queue.begin().seq}`),
    'state?': () => {
      const { stored, isIdle, isFull } = this.#queue;
      this.#note(`at ${stored.seq}${isIdle ? ' idle' : ''}${isFull ? ' full' : ''}`);
    },
  };

  /** @returns the trace without times */
  async play(script: string): Promise<string> {
    const steps = script.split(', ').map((step, ms) => `${ms} ${step}`);
    const trace = await this.#played.play([...steps, steps.length].join(', '), this.#steps);
    return trace.replaceAll(/\b\d+ (?=\d+ after|stored|failed|drained|begins|at)/g, '');
  }
}

const scripts: Record<string, [script: string, trace: string]> = {
  'stores several at once, each after the former one': [
    'state? + add few 5 + add none 6 + add few 7, state? + store 5, state? + store 6 7, state?',
    'at 4 idle, 5 after 4, 6 after 5, 7 after 6, at 4, stored 5, at 5, stored 6, stored 7, at 7 idle',
  ],
  'reports a failure once, stores nothing after it, and begins again from what is stored': [
    'add few 5 6 7, store 5 + fail 6 7, begin + state? + add few 6, store 6, state?',
    '5 after 4, 6 after 5, 7 after 6, stored 5, failed: cannot store 6, begins after 5, at 5 idle, 6 after 5, stored 6, at 6 idle',
  ],
  'drops a late answer to what was added before a failure': [
    'add few 5 6, fail 5, begin + answer 6, state?',
    '5 after 4, 6 after 5, failed: cannot store 5, begins after 4, at 4 idle',
  ],
  'fails with bytes that are no writes': ['add foreign 5, state?', 'failed: undefined, at 4'],
  'is full above 32 MiB until nothing waits any more, and drained once': [
    'add large 5 6 7, state? + add large 8 + state?, store 5 6 7, state? + store 8, state? + add few 9, store 9, state?',
    '5 after 4, 6 after 5, 7 after 6, at 4, 8 after 7, at 4 full, stored 5, stored 6, stored 7, at 7 full, stored 8, drained, at 8 idle, 9 after 8, stored 9, at 9 idle',
  ],
  'is not drained after a failure, though it was full': [
    'add large 5 6 7 8 + state?, fail 5, begin + fail 6 7 8, state?',
    '5 after 4, 6 after 5, 7 after 6, 8 after 7, at 4 full, failed: cannot store 5, begins after 4, at 4 idle',
  ],
};

it.each(Object.entries(scripts))('%s', async (_, [script, trace]) => {
  expect(await new Queue().play(script)).toBe(trace);
});
