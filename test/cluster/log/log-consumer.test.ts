import { describe, expect, it } from 'vitest';
import { LogConsumer } from '../../../src/cluster/log/log-consumer.ts';
import type { LogBounds, LogReader, OrderedLog } from '../../../src/cluster/log/ordered-log.ts';
import { VirtualTime } from '../simulation/virtual-time.ts';

/** A log whose answers and readings are in the hands of the test. Times are milliseconds since the start. */
class Fixture {
  readonly time = new VirtualTime();
  readonly #startMs = this.time.nowMs;
  /** Asked for its end, and began to read. */
  readonly askedMs: number[] = [];
  readonly readings: Array<{ from: number; reader: LogReader; atMs: number; isStopped: boolean }> =
    [];
  readonly entries: Array<readonly [seq: number, isNew: boolean]> = [];
  timers = 0;
  end: LogBounds = { first: 1, last: 0 };
  bounds = (): Promise<LogBounds> => Promise.resolve(this.end);
  from: (bounds: LogBounds) => number | undefined = () => 1;
  onEntry = (): void => undefined;
  readonly consumer: LogConsumer;

  constructor() {
    const unused = (): Promise<never> => Promise.reject(new Error('not asked for'));
    const log: OrderedLog = {
      append: unused,
      prune: unused,
      close: unused,
      bounds: () => {
        this.askedMs.push(this.nowMs);
        return this.bounds();
      },
      follow: (from, reader) => {
        const reading = { from, reader, atMs: this.nowMs, isStopped: false };
        this.readings.push(reading);
        return { stop: () => void (reading.isStopped = true) };
      },
    };
    this.consumer = new LogConsumer({
      log,
      timers: { monotonicMs: () => this.time.nowMs, after: this.#after },
      from: (bounds) => this.from(bounds),
      entry: (seq, _, isNew) => {
        this.entries.push([seq, isNew]);
        this.onEntry();
      },
    });
  }

  readonly #after = (ms: number, run: () => void): (() => void) => {
    let isDue = true;
    const done = (): void => {
      this.timers -= isDue ? 1 : 0;
      isDue = false;
    };
    this.timers++;
    const cancel = this.time.later(ms, () => {
      done();
      run();
    });
    return () => {
      done();
      cancel();
    };
  };

  get nowMs(): number {
    return this.time.nowMs - this.#startMs;
  }

  /** Also what is resolved now runs. */
  async until(ms: number): Promise<void> {
    this.time.later(0, () => undefined);
    await this.time.run(this.#startMs + ms);
  }

  async started(): Promise<void> {
    this.consumer.start();
    await this.until(0);
  }

  /** What the newest reading brings. */
  bring(...seqs: number[]): void {
    for (const seq of seqs) this.readings.at(-1)!.reader.entry(seq, Buffer.alloc(0), 0);
  }

  /** The newest reading ends. */
  endReading(): void {
    this.readings.at(-1)!.reader.ended(new Error('lost'));
  }

  begunMs(): number[] {
    return this.readings.map(({ atMs }) => atMs);
  }

  /** The next questions are answered by the test. */
  hold(): { answer: () => void; refuse: () => void } {
    const { promise, resolve, reject } = Promise.withResolvers<LogBounds>();
    this.bounds = () => promise;
    return { answer: () => resolve(this.end), refuse: () => reject(new Error('no answer')) };
  }
}

describe('a consumer', () => {
  it('reads from where `from` says for the bounds of the log', async () => {
    const log = new Fixture();
    log.end = { first: 3, last: 8 };
    log.from = ({ first, last }) => first * 10 + last;
    await log.started();
    expect(log.readings.map(({ from }) => from)).toEqual([38]);
    log.bring(38, 39);
    expect(log.entries).toEqual([
      [38, true],
      [39, true],
    ]);
    expect(log.consumer.progress).toEqual({ restarts: 0, behind: 0 });
  });

  it('begins again after an end: after 100 ms, and twice as long each time, up to 2 s', async () => {
    const log = new Fixture();
    await log.started();
    const waits = [100, 200, 400, 800, 1_600, 2_000, 2_000];
    for (const ms of waits) {
      const fromMs = log.nowMs;
      const { length } = log.readings;
      log.endReading();
      expect(log.readings.at(-1)!.isStopped).toBe(true);
      await log.until(fromMs + ms - 1);
      expect(log.readings).toHaveLength(length);
      await log.until(fromMs + ms);
      expect(log.readings).toHaveLength(length + 1);
    }
    expect(log.consumer.progress.restarts).toBe(waits.length);
    // An entry shows that it works.
    log.bring(1);
    const fromMs = log.nowMs;
    log.endReading();
    await log.until(fromMs + 100);
    expect(log.begunMs().at(-1)).toBe(fromMs + 100);
  });

  it('asks again where the log does not answer, and reads when it does', async () => {
    const log = new Fixture();
    log.bounds = () => Promise.reject(new Error('no answer'));
    await log.started();
    await log.until(800);
    expect(log.askedMs).toEqual([0, 100, 300, 700]);
    expect(log.readings).toEqual([]);
    log.bounds = () => Promise.resolve(log.end);
    await log.until(1_500);
    expect(log.begunMs()).toEqual([1_500]);
  });

  it('replaces a reading that brings nothing for a second although there is more', async () => {
    const log = new Fixture();
    log.end = { first: 1, last: 5 };
    await log.started();
    log.bring(1, 2);
    await log.until(1_999);
    expect(log.readings).toHaveLength(1);
    await log.until(2_100);
    expect(log.begunMs()).toEqual([0, 2_100]);
    expect(log.readings[0]!.isStopped).toBe(true);
    // The next have twice as long each: a line may need that for one entry.
    await log.until(32_000);
    expect(log.begunMs()).toEqual([0, 2_100, 5_300, 10_700, 20_500, 31_100]);
    log.bring(3);
    await log.until(34_000);
    expect(log.begunMs().slice(6)).toEqual([33_200]);
  });

  it('leaves a reading that moves after it stood still for a part of its time', async () => {
    const log = new Fixture();
    log.end = { first: 1, last: 5 };
    await log.started();
    await log.until(4_500);
    expect(log.begunMs()).toEqual([0, 2_100]);
    log.bring(1);
    await log.until(6_000);
    expect(log.begunMs()).toEqual([0, 2_100]);
  });

  it('leaves a reading that moves, or is at the end', async () => {
    const log = new Fixture();
    log.end = { first: 1, last: 100 };
    await log.started();
    for (let seq = 1; seq <= 5; seq++) {
      await log.until(900 * seq);
      log.bring(seq);
    }
    log.end = { first: 1, last: 5 };
    await log.until(9_500);
    expect(log.readings).toHaveLength(1);
    expect(log.askedMs).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((at) => at * 1_000));
  });

  it('leaves a reading while the question for the end is not answered', async () => {
    const log = new Fixture();
    log.end = { first: 1, last: 5 };
    await log.started();
    log.bounds = () => Promise.reject(new Error('no answer'));
    await log.until(5_500);
    expect(log.readings).toHaveLength(1);
    expect(log.askedMs).toHaveLength(6);
    log.bounds = () => Promise.resolve(log.end);
    await log.until(7_200);
    expect(log.begunMs()).toEqual([0, 7_100]);
  });

  it('marks as new what no earlier reading brought, also at the positions of lost entries', async () => {
    const log = new Fixture();
    log.end = { first: 1, last: 3 };
    await log.started();
    log.bring(1, 2, 3);
    log.endReading();
    await log.until(100);
    log.bring(2, 3, 4);
    log.end = { first: 1, last: 2 };
    log.endReading();
    await log.until(200);
    log.bring(2, 3);
    const expected = [
      [1, 2, 3].map((seq) => [seq, true]),
      [2, 3].map((seq) => [seq, false]),
    ].flat();
    expect(log.entries).toEqual([...expected, [4, true], [2, false], [3, true]]);
  });

  it('pauses, and goes on with restart', async () => {
    const log = new Fixture();
    await log.started();
    log.bring(1);
    log.consumer.pause();
    expect(log.readings[0]!.isStopped).toBe(true);
    await log.until(5_000);
    expect(log.readings).toHaveLength(1);
    expect(log.timers).toBe(0);
    log.consumer.restart(0);
    await log.until(5_001);
    expect(log.begunMs()).toEqual([0, 5_000]);
  });

  it('drops the answer to a question from before it began again', async () => {
    const log = new Fixture();
    const first = log.hold();
    await log.started();
    log.bounds = () => Promise.resolve(log.end);
    log.consumer.restart(50);
    first.answer();
    await log.until(49);
    expect(log.readings).toEqual([]);
    await log.until(200);
    expect(log.begunMs()).toEqual([50]);
  });

  it('never reads again once `from` returns undefined', async () => {
    const log = new Fixture();
    log.from = () => undefined;
    await log.started();
    await log.until(9_000);
    expect(log.readings).toEqual([]);
    expect(log.askedMs).toEqual([0]);
    const later = new Fixture();
    await later.started();
    later.from = () => undefined;
    await later.until(9_000);
    expect(later.askedMs).toEqual([0, 1_000]);
  });
});

describe('isAtEnd', () => {
  it('is false until this reading brought everything', async () => {
    const log = new Fixture();
    log.end = { first: 1, last: 2 };
    expect(await log.consumer.isAtEnd()).toBe(false);
    await log.started();
    expect(await log.consumer.isAtEnd()).toBe(false);
    log.bring(1);
    expect(await log.consumer.isAtEnd()).toBe(false);
    log.bring(2);
    expect(await log.consumer.isAtEnd()).toBe(true);
    // The earlier one brought it, and what this one brings is not known yet.
    log.endReading();
    expect(await log.consumer.isAtEnd()).toBe(false);
    await log.until(100);
    expect(log.readings).toHaveLength(2);
    expect(await log.consumer.isAtEnd()).toBe(false);
    log.bring(1, 2);
    expect(await log.consumer.isAtEnd()).toBe(true);
    log.consumer.stop();
    expect(await log.consumer.isAtEnd()).toBe(false);
  });

  it('is true where there is nothing to bring', async () => {
    const log = new Fixture();
    await log.started();
    expect(await log.consumer.isAtEnd()).toBe(true);
    const behind = new Fixture();
    behind.end = { first: 8, last: 7 };
    behind.from = () => 8;
    await behind.started();
    expect(await behind.consumer.isAtEnd()).toBe(true);
  });

  it('is false where the log answers with an end before the newest entry that is known', async () => {
    const log = new Fixture();
    log.end = { first: 1, last: 2 };
    await log.started();
    log.bring(1, 2);
    expect(await log.consumer.isAtEnd(2)).toBe(true);
    expect(await log.consumer.isAtEnd(3)).toBe(false);
  });

  it('rejects when the log does not answer', async () => {
    const log = new Fixture();
    await log.started();
    log.bounds = () => Promise.reject(new Error('no answer'));
    await expect(log.consumer.isAtEnd()).rejects.toThrow('no answer');
  });
});

describe('stop', () => {
  /** Each is stopped at 500, or stops itself by then. */
  const moments: Record<string, (log: Fixture) => Promise<(() => void) | void>> = {
    'while the first question is not answered': async (log) => {
      const { answer } = log.hold();
      await log.started();
      await log.until(500);
      return answer;
    },
    'while a question is refused': async (log) => {
      const { refuse } = log.hold();
      await log.started();
      await log.until(500);
      return refuse;
    },
    'while it waits to begin again': async (log) => {
      await log.started();
      await log.until(450);
      log.endReading();
      await log.until(500);
    },
    'while it reads': async (log) => {
      await log.started();
      log.bring(1);
      await log.until(500);
    },
    'while the question for the end is not answered': async (log) => {
      await log.started();
      const { answer } = log.hold();
      await log.until(1_001);
      return answer;
    },
    'while it is paused': async (log) => {
      await log.started();
      log.consumer.pause();
      await log.until(500);
    },
    'within `from`': async (log) => {
      log.from = () => {
        log.consumer.stop();
        return 1;
      };
      await log.started();
      expect(log.readings).toEqual([]);
    },
    'within an entry': async (log) => {
      log.onEntry = () => log.consumer.stop();
      await log.started();
      log.bring(1);
    },
  };

  it.each(Object.entries(moments))('%s brings nothing more', async (_, moment) => {
    const log = new Fixture();
    log.end = { first: 1, last: 5 };
    const answer = await moment(log);
    const { length: begun } = log.readings;
    const { length: asked } = log.askedMs;
    log.consumer.stop();
    if (answer !== undefined) answer();
    log.consumer.restart(0);
    await log.until(9_000);
    expect(log.readings).toHaveLength(begun);
    expect(log.readings.every(({ isStopped }) => isStopped)).toBe(true);
    expect(log.askedMs).toHaveLength(asked);
    expect(log.timers).toBe(0);
  });
});
