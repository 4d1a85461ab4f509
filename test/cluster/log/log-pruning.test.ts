/** What is removed from a log, in virtual time: a round each 10 s. Entry n was appended at the end of day n. */
import { describe, expect, it } from 'vitest';
import { LogPruning } from '../../../src/cluster/log/log-pruning.ts';
import { Played, type Steps } from '../virtual-time.ts';

const dayMs = 86_400_000;

/** The trace has what is removed (`below 17`), and what a script looks at. The log has entries 1 to 20. */
class Rounds extends Played {
  #first = 1;
  #last = 20;
  #nowMs = 0;
  #isLeader = true;
  #isAway = false;
  /** Another core leads from when the time of an entry is asked for. */
  #isDeposed = false;
  #asked = 0;
  readonly #stored = new Map<string, number>();
  readonly #pruning: LogPruning;

  constructor(replayedBy: string | undefined) {
    super();
    this.#pruning = new LogPruning({
      everyMs: 10_000,
      log: {
        bounds: async () => {
          if (this.#isAway) throw new Error('away');
          return { first: this.#first, last: this.#last };
        },
        prune: async (below) => {
          this.note(`below ${below}`);
          this.#first = below;
        },
        timeOf: async (seq) => {
          this.#asked++;
          if (this.#isDeposed) this.#isLeader = false;
          return seq >= this.#first && seq <= this.#last ? seq * dayMs : undefined;
        },
      },
      clock: { now: () => this.#nowMs },
      timers: this.timers,
      isLeader: () => this.#isLeader,
      stored: () => this.#stored,
      replayedBy,
    });
    this.#pruning.start();
  }

  readonly #steps: Steps = {
    core: (name, seq) => this.#stored.set(name, Number(seq)),
    day: (days) => (this.#nowMs = Number(days) * dayMs),
    log: (first, last) => ([this.#first, this.#last] = [Number(first), Number(last)]),
    lead: () => (this.#isLeader = true),
    stand: () => (this.#isLeader = false),
    deposed: () => (this.#isDeposed = true),
    away: () => (this.#isAway = true),
    back: () => (this.#isAway = false),
    stop: () => this.#pruning.stop(),
    look: () => this.note(`has ${this.#pruning.entries}, ${this.#pruning.fault ?? 'well'}`),
    asked: (max) => expect(this.#asked).toBeLessThan(Number(max)),
  };

  run(script: string): Promise<string> {
    return this.play(script, this.#steps);
  }
}

const scripts: Record<string, Record<string, [script: string, trace: string]>> = {
  'a log': {
    'loses what all registered cores have, each 10 s, on the leader': [
      '0 stand + core a 20 + core b 16, 25000 lead, 55000 core b 20, 65000 stop + log 1 30 + core a 30 + core b 30, 90000',
      '30000 below 17, 60000 below 21',
    ],
    'is kept for a core that is away, for 7 days': [
      '0 day 10.5 + log 4 20 + core a 20 + core b 4 + core new 0, 25000 day 15.5, 65000 look + day 100, 75000 asked 30 + stand, 85000 look',
      '30000 below 9, 65000 has 12, well, 70000 below 21, 85000 has undefined, well',
    ],
    'is left alone while cores have more than the brokers, and while no core is known': [
      '0 day 20, 25000 core a 21 + core b 16, 45000 core a 20, 50001',
      '50000 below 17',
    ],
    'is tried again where the brokers do not answer': [
      '0 core a 10 + away, 15000 look + back, 25000 look',
      '15000 has undefined, away, 20000 below 11, 25000 has 10, well',
    ],
    'is not removed by one that led when it asked, and stood still': [
      '0 day 20 + core a 3 + deposed, 15000 look + stand',
      '15000 has 20, well',
    ],
  },
  'a log that is replayed by a': {
    'keeps the newest entry that all have, and everything while one has reported nothing': [
      '0 core a 20 + core b 0, 25000 core b 16, 35000 core new 0 + core b 20, 65000',
      '30000 below 16',
    ],
    'is never removed behind the core that leads, however old it is': [
      '0 day 100 + core a 12 + core b 4, 25000 core b 12 + log 12 90, 45000 core a 0 + log 1 90, 65000',
      '10000 below 12',
    ],
  },
};

describe.each(Object.entries(scripts))('%s', (name, cases) => {
  it.each(Object.entries(cases))('%s', async (_name, [script, trace]) => {
    expect(await new Rounds(name === 'a log' ? undefined : 'a').run(script)).toBe(trace);
  });
});
