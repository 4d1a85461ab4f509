/** One consumer in virtual time, over a log whose answers and readings the script decides (src/cluster/log/log-consumer.ts). */
import { describe, expect, it } from 'vitest';
import { LogConsumer } from '../../../src/cluster/log/log-consumer.ts';
import type { LogBounds, LogReader, OrderedLog } from '../../../src/cluster/log/ordered-log.ts';
import { Played, type Steps } from '../virtual-time.ts';

/**
 * The trace has each reading (`from 1`), each end of one (`ends`), each entry (`+3` new, `=3` brought before by an earlier
 * reading), and each question for the bounds that is not answered at once (`asks`).
 */
class Fixture extends Played {
  #bounds: LogBounds = { first: 1, last: 0 };
  #answer = 'yes';
  #asks = 0;
  #held: Array<(isAnswered: boolean) => void> = [];
  #from: (bounds: LogBounds) => number | undefined = () => 1;
  #reader: LogReader | undefined;
  readonly consumer: LogConsumer;

  constructor() {
    super();
    const unused = (): Promise<never> => Promise.reject(new Error('not asked for'));
    const log: OrderedLog = {
      append: unused,
      prune: unused,
      bounds: () => this.#ask(),
      follow: (from, reader) => {
        this.note(`from ${from}`);
        this.#reader = reader;
        return { stop: () => this.note('ends') };
      },
    };
    this.consumer = new LogConsumer({
      log,
      timers: this.timers,
      from: (bounds) => this.#from(bounds),
      entry: (seq, _, isNew) => {
        this.note(`${isNew ? '+' : '='}${seq}`);
      },
    });
  }

  #ask(): Promise<LogBounds> {
    this.#asks++;
    if (this.#answer !== 'yes') this.note('asks');
    const { promise, resolve, reject } = Promise.withResolvers<LogBounds>();
    const answer = (isAnswered: boolean): void =>
      isAnswered ? resolve(this.#bounds) : reject(new Error('no answer'));
    if (this.#answer === 'held') this.#held.push(answer);
    else answer(this.#answer === 'yes');
    return promise;
  }

  async #isAtEnd(newest?: string): Promise<void> {
    const atEnd = await this.consumer.isAtEnd(newest === undefined ? 0 : Number(newest)).then(
      (isAtEnd) => `at end: ${isAtEnd}`,
      () => 'at end: no answer',
    );
    this.note(atEnd);
  }

  readonly #steps: Steps = {
    start: () => this.consumer.start(),
    pause: () => this.consumer.pause(),
    restart: (ms) => this.consumer.restart(Number(ms)),
    stop: () => this.consumer.stop(),
    end: () => this.#isAtEnd(),
    endwith: (newest) => this.#isAtEnd(newest),
    log: (first, last) => (this.#bounds = { first: Number(first), last: Number(last) }),
    answers: (answer) => (this.#answer = answer),
    answer: (answer) => this.#held.shift()!(answer === 'yes'),
    bring: (...seqs) => {
      for (const seq of seqs) this.#reader!.entry(Number(seq), Buffer.alloc(0), 0);
    },
    breaks: () => this.#reader!.ended(new Error('lost')),
    never: () => (this.#from = () => undefined),
    bounded: () => (this.#from = ({ first, last }) => first * 10 + last),
    stopinfrom: () => {
      this.#from = () => {
        this.consumer.stop();
        return 1;
      };
    },
  };

  /** @returns the trace; how often it began again, how far it is behind, how many timers and questions there were */
  async run(script: string): Promise<string> {
    const trace = await this.play(script, this.#steps);
    const { restarts, behind } = this.consumer.progress;
    return `${trace}; ${restarts} ${behind} ${this.timerCount} ${this.#asks}`;
  }
}

const scripts: Record<string, Record<string, [script: string, trace: string]>> = {
  'a consumer': {
    'reads from where `from` says for the bounds of the log': [
      '0 log 3 8, 0 bounded, 0 start, 0 bring 38 39',
      '0 from 38, 0 +38, 0 +39; 0 0 1 1',
    ],
    'begins again after 100 ms, then after twice as long up to 2 s, until an entry comes': [
      '0 start, 0 breaks, 100 breaks, 300 breaks, 700 breaks, 1500 breaks, 3100 breaks, 5100 breaks, 7100 bring 1, 7100 breaks, 7200',
      '0 from 1, 0 ends, 100 from 1, 100 ends, 300 from 1, 300 ends, 700 from 1, 700 ends, 1500 from 1, 1500 ends, 3100 from 1, 3100 ends, 5100 from 1, 5100 ends, 7100 from 1, 7100 +1, 7100 ends, 7200 from 1; 8 0 1 9',
    ],
    'replaces a reading that brings nothing for a second, and each that follows after twice as long':
      [
        '0 log 1 5, 0 start, 32000 bring 3, 34000',
        '0 from 1, 2000 ends, 2100 from 1, 5100 ends, 5300 from 1, 10300 ends, 10700 from 1, 19700 ends, 20500 from 1, 29500 ends, 31100 from 1, 32000 +3, 33100 ends, 33200 from 1; 6 2 1 37',
      ],
    'leaves a reading that moves, or is at the end': [
      '0 log 1 100, 0 start, 900 bring 1, 1800 bring 2, 2700 bring 3, 2700 log 1 3, 6500',
      '0 from 1, 900 +1, 1800 +2, 2700 +3; 0 0 1 7',
    ],
    'leaves a reading while the question for the end is not answered': [
      '0 log 1 5, 0 start, 0 answers no, 3500 answers yes, 5200',
      '0 from 1, 1000 asks, 2000 asks, 3000 asks, 5000 ends, 5100 from 1; 1 5 1 7',
    ],
    'marks as new what no earlier reading brought, also at the positions of lost entries': [
      '0 log 1 3, 0 start, 0 bring 1 2 3, 0 breaks, 100 bring 2 3 4, 100 log 1 2, 100 breaks, 200 bring 2 3',
      '0 from 1, 0 +1, 0 +2, 0 +3, 0 ends, 100 from 1, 100 =2, 100 =3, 100 +4, 100 ends, 200 from 1, 200 =2, 200 +3; 2 0 1 3',
    ],
    'pauses until it is restarted': [
      '0 start, 0 bring 1, 0 pause, 5000 restart 0, 5001',
      '0 from 1, 0 +1, 0 ends, 5000 from 1; 1 0 1 2',
    ],
    'drops the answer to a question from before it began again': [
      '0 answers held, 0 start, 0 answers yes, 0 restart 50, 0 answer yes, 200',
      '0 asks, 50 from 1; 0 0 1 2',
    ],
    'never reads again if `from` returns undefined later': [
      '0 start, 0 never, 9000',
      '0 from 1; 0 0 0 2',
    ],
  },
  isAtEnd: {
    'is false until this reading brought everything': [
      '0 log 1 2, 0 end, 0 start, 0 end, 0 bring 1, 0 end, 0 bring 2, 0 end, 0 breaks, 0 end, 100 end, 100 bring 1 2, 100 end, 100 stop, 100 end',
      '0 at end: false, 0 from 1, 0 at end: false, 0 +1, 0 at end: false, 0 +2, 0 at end: true, 0 ends, 0 at end: false, 100 from 1, 100 at end: false, 100 =1, 100 =2, 100 at end: true, 100 ends, 100 at end: false; 1 0 0 10',
    ],
    'is false where the log answers with an end before the newest entry that is known': [
      '0 log 1 2, 0 start, 0 bring 1 2, 0 endwith 2, 0 endwith 3',
      '0 from 1, 0 +1, 0 +2, 0 at end: true, 0 at end: false; 0 0 1 3',
    ],
  },
  'a stop': {
    'while the first question waits for its answer': [
      '0 answers held, 0 start, 500 stop, 500 answer yes, 500 restart 0, 9000',
      '0 asks; 0 0 0 1',
    ],
    'while the question for the end waits for its answer': [
      '0 log 1 5, 0 start, 0 answers held, 1001 stop, 1001 answer yes, 9000',
      '0 from 1, 1000 asks, 1001 ends; 0 5 0 2',
    ],
    'within `from`': ['0 stopinfrom, 0 start, 9000', '; 0 0 0 1'],
  },
};

describe.each(Object.entries(scripts))('%s', (_, cases) => {
  it.each(Object.entries(cases))('%s', async (_name, [script, trace]) => {
    expect(await new Fixture().run(script)).toBe(trace);
  });
});
