import { describe, expect, it } from 'vitest';
import {
  LogPruning,
  type LogPruningOptions,
  type TimedLog,
} from '../../../src/cluster/log/log-pruning.ts';
import { VirtualTime } from '../virtual-time.ts';

const dayMs = 86_400_000;

/** A log whose entry n was appended at the end of day n. Rounds are by virtual time, the wall clock is the test's. */
class Fixture {
  readonly #time = new VirtualTime();
  first = 1;
  last = 20;
  nowMs = 20 * dayMs;
  isLeader = true;
  fault: Error | undefined;
  readonly saved = new Map<string, number>();
  readonly prunes: number[] = [];
  asked = 0;
  readonly pruning: LogPruning;

  constructor(log?: TimedLog, options: Partial<LogPruningOptions> = {}) {
    this.pruning = new LogPruning({
      everyMs: 10_000,
      log: log ?? {
        bounds: () => {
          if (this.fault !== undefined) return Promise.reject(this.fault);
          return Promise.resolve({ first: this.first, last: this.last });
        },
        prune: (below) => {
          this.prunes.push(below);
          this.first = below;
          return Promise.resolve();
        },
        timeOf: (seq) => {
          this.asked++;
          return Promise.resolve(seq >= this.first && seq <= this.last ? seq * dayMs : undefined);
        },
      },
      clock: { now: () => this.nowMs },
      timers: { monotonicMs: () => this.#time.nowMs, after: this.#time.later },
      isLeader: () => this.isLeader,
      stored: () => this.saved,
      ...options,
    });
    this.pruning.start();
  }

  async rounds(count: number): Promise<void> {
    await this.#time.run(this.#time.nowMs + count * 10_000 + 1);
  }
}

describe('a log', () => {
  it('loses what all registered cores have, each 10 s, on the leader', async () => {
    const own = new Fixture();
    own.saved.set('a', 20).set('b', 16);
    own.isLeader = false;
    await own.rounds(2);
    own.isLeader = true;
    expect(own.prunes).toEqual([]);
    await own.rounds(1);
    expect(own.prunes).toEqual([17]);
    await own.rounds(3);
    own.saved.set('b', 20);
    await own.rounds(1);
    own.pruning.stop();
    own.last = 30;
    own.saved.set('a', 30).set('b', 30);
    await own.rounds(3);
    expect(own.prunes).toEqual([17, 21]);
  });

  it('is kept for a core that is away, for 7 days', async () => {
    const own = new Fixture();
    own.nowMs = 10.5 * dayMs;
    own.saved.set('a', 20).set('b', 4).set('new', 0);
    own.first = 4;
    await own.rounds(2);
    expect(own.prunes).toEqual([]);
    own.nowMs = 15.5 * dayMs;
    await own.rounds(1);
    // Entries up to 8 are older.
    await own.rounds(3);
    expect([own.prunes, own.pruning.entries]).toEqual([[9], 12]);
    own.nowMs = 100 * dayMs;
    await own.rounds(1);
    expect(own.prunes).toEqual([9, 21]);
    expect(own.asked).toBeLessThan(30);
    own.isLeader = false;
    await own.rounds(1);
    expect(own.pruning.entries).toBeUndefined();
  });

  it('is left alone while cores have more than the brokers, and while no core is known', async () => {
    const own = new Fixture();
    await own.rounds(2);
    own.saved.set('a', 21).set('b', 16);
    await own.rounds(2);
    expect(own.prunes).toEqual([]);
    own.saved.set('a', 20);
    await own.rounds(1);
    expect(own.prunes).toEqual([17]);
  });

  it('is tried again where the brokers do not answer', async () => {
    const own = new Fixture();
    own.saved.set('a', 10);
    own.nowMs = 0;
    own.fault = new Error('away');
    await own.rounds(2);
    expect([own.prunes, own.pruning.fault]).toEqual([[], 'away']);
    own.fault = undefined;
    await own.rounds(1);
    expect([own.prunes, own.pruning.fault]).toEqual([[11], undefined]);
  });
});

describe('a log that is replayed', () => {
  it('keeps the newest entry that all have, and everything while one has reported nothing', async () => {
    const own = new Fixture(undefined, { replayedBy: 'a' });
    own.nowMs = 0;
    own.saved.set('a', 20).set('b', 0);
    await own.rounds(2);
    expect(own.prunes).toEqual([]);
    own.saved.set('b', 16);
    await own.rounds(1);
    expect(own.prunes).toEqual([16]);
    own.saved.set('new', 0).set('b', 20);
    await own.rounds(2);
    expect(own.prunes).toEqual([16]);
  });

  it('is never removed behind the core that leads, however old it is', async () => {
    const own = new Fixture(undefined, { replayedBy: 'a' });
    own.saved.set('a', 12).set('b', 4);
    own.nowMs = 100 * dayMs;
    await own.rounds(2);
    expect(own.prunes).toEqual([12]);
    // Only beats come: none of them is behind the others.
    own.saved.set('b', 12);
    own.last = 90;
    await own.rounds(2);
    expect(own.prunes).toEqual([12]);
    own.saved.set('a', 0);
    own.first = 1;
    await own.rounds(1);
    expect(own.prunes).toEqual([12]);
  });

  it('is not removed by one that led when it asked, and stood still', async () => {
    const times: TimedLog = {
      bounds: () => Promise.resolve({ first: 1, last: 20 }),
      prune: () => Promise.reject(new Error('pruned')),
      timeOf: () => {
        own.isLeader = false;
        return Promise.resolve(0);
      },
    };
    const own = new Fixture(times);
    own.saved.set('a', 3);
    await own.rounds(1);
    expect([own.isLeader, own.pruning.fault]).toEqual([false, undefined]);
  });
});
