/**
 * Deliveries: what an attempt means for one, results, which wait for one another and for nothing else and survive faults of
 * the journal and of the store, and the log of what was delivered, against a plain list.
 */
import fc from 'fast-check';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { positionId } from '../../src/model/ids.ts';
import {
  type DeliveryTables,
  openDeliveryTables,
  type PackedDelivered,
} from '../../src/store/delivery/delivery.ts';
import {
  addToLog,
  countLog,
  findLogged,
  logEntries,
  pruneLog,
} from '../../src/webhooks/deliveries/delivery-log.ts';
import { temporaryFolder } from '../store/temporary-management.ts';
import { toWheelMs } from '../../src/model/wheel-time.ts';
import type { AttemptRecord } from '../../src/model/webhook.ts';
import {
  decide,
  type Delivery,
  shouldDisable,
  statsAfter,
} from '../../src/webhooks/deliveries/delivery.ts';
import { DeliveryStore } from '../../src/webhooks/deliveries/delivery-store.ts';
import { ResultJournal } from '../../src/store/delivery/result-journal.ts';
import { type EndedAttempt, Results } from '../../src/webhooks/dispatch/results.ts';
import { deliveryOf, numberOf } from './bare-webhooks.ts';
import { createLog } from '../../src/platform/log.ts';
import { TestClock } from '../support/fakes/test-clock.ts';
import { eventually } from '../support/soon.ts';

const endpointNo = 7;
const all = 1_000_000;

const idOf = (no: number): string => positionId('dlv', 1_000_000, 0, no);
const entryOf = (no: number): PackedDelivered => [
  idOf(no),
  'qr.created',
  [`evt_${no}`],
  1,
  [],
  '{}',
];
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => from + at);

class Log {
  readonly tables = openDeliveryTables(join(temporaryFolder(), 'delivery.mdb'), 'create');

  get log(): DeliveryTables['log'] {
    return this.tables.log;
  }

  add(nos: readonly number[], { keptMax = all, of = endpointNo } = {}): number {
    return this.#transaction(() => addToLog(this.log, of, nos.map(entryOf), keptMax));
  }

  prune(keptMax: number): number {
    return this.#transaction(() =>
      pruneLog(this.log, endpointNo, Math.max(0, countLog(this.log, endpointNo) - keptMax)),
    );
  }

  /** Newest first. */
  nos(beforeNo?: number): number[] {
    const before = beforeNo === undefined ? [] : [idOf(beforeNo)];
    return Array.from(logEntries(this.log, endpointNo, ...before), noOf);
  }

  #transaction<T>(work: () => T): T {
    const result = this.tables.environment.transactionSync(work);
    this.tables.environment.refresh();
    return result;
  }
}

const noOf = ([, , [eventId]]: PackedDelivered): number => Number(eventId?.slice(4));

it('adds no more than is kept, the newest of them', () => {
  const log = new Log();
  onTestFinished(async () => await log.tables.environment.close());
  expect(log.add(range(0, 50), { keptMax: 20 })).toBe(20);
  expect(log.nos()).toEqual(range(30, 50).toReversed());
});

it('is what a plain list is, whatever comes in whatever order', async () => {
  const no = fc.integer({ min: 0, max: 3_000 });
  const act = fc.oneof(
    { weight: 4, arbitrary: fc.record({ late: fc.uniqueArray(no, { maxLength: 40 }) }) },
    { weight: 4, arbitrary: fc.record({ behind: fc.integer({ min: 0, max: 300 }) }) },
    { weight: 2, arbitrary: fc.record({ keep: fc.integer({ min: 0, max: 400 }) }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 25, size: 'max' }), async (acts) => {
      const log = new Log();
      const others = [endpointNo - 1, endpointNo + 1];
      try {
        for (const of of others) log.add([1, 2, 3], { of });
        let model: number[] = [];
        let next = 3_001;
        for (const one of acts) {
          if ('keep' in one) {
            expect(log.prune(one.keep)).toBe(Math.max(0, model.length - one.keep));
            model = model.slice(Math.max(0, model.length - one.keep));
          } else {
            const added = 'late' in one ? one.late : range(next, (next += one.behind));
            const before = model.length;
            model = [...new Set([...model, ...added])].sort((a, b) => a - b);
            expect(log.add(added)).toBe(model.length - before);
          }
          expect(log.nos()).toEqual(model.toReversed());
          expect(countLog(log.log, endpointNo)).toBe(model.length);
        }
        for (const at of [0, 1_500, 3_000, 3_200, ...model.slice(0, 5)]) {
          expect(findLogged(log.log, endpointNo, idOf(at)) !== undefined).toBe(model.includes(at));
          expect(log.nos(at)).toEqual(model.filter((one) => one < at).toReversed());
        }
        for (const of of others) expect(countLog(log.log, of)).toBe(3);
      } finally {
        await log.tables.environment.close();
      }
    }),
    { numRuns: 15 },
  );
});

const day = 86_400_000;
const failed: AttemptRecord = { atMs: 1_000, durationMs: 20, status: 500, failure: 'status' };
const succeeded: AttemptRecord = { atMs: 1_000, durationMs: 20, status: 204 };
const fresh = { counts: { pending: 1, delivered: 0, dead: 0, canceled: 0 }, failuresInRow: 0 };

it('decides by the answer and by the number of attempts before', () => {
  const delays = [10, 20];
  expect(decide(succeeded, 0, delays, 0)).toEqual({ event: 'succeeded', delayMs: 0 });
  expect(decide(failed, 0, delays, 0)).toEqual({ event: 'failed', delayMs: 10 });
  expect(decide(failed, 1, delays, 1)).toEqual({ event: 'failed', delayMs: 22 });
  expect(decide(failed, 2, delays, 0)).toEqual({ event: 'exhausted', delayMs: 0 });
  expect(decide({ ...failed, status: 410 }, 0, delays, 0).event).toBe('gone');
  for (const [status, retryAfterMs, delayMs] of [
    [429, 5, 20],
    [503, 30, 30],
    [503, 1e12, 40],
    [500, 30, 20],
  ] as const) {
    const attempt = { ...failed, status, retryAfterMs };
    expect(decide(attempt, 1, delays, 0)).toEqual({ event: 'failed', delayMs });
  }
});

it('disables an endpoint after 20 failures and five days without a success, not before', () => {
  let stats = statsAfter(fresh, failed, toWheelMs(0));
  for (let count = 1; count < 19; count++) stats = statsAfter(stats, failed, toWheelMs(count));
  expect(shouldDisable(stats, toWheelMs(9 * day))).toBe(false);
  stats = statsAfter(stats, failed, toWheelMs(5 * day - 1));
  expect(stats.failuresInRow).toBe(20);
  expect(shouldDisable(stats, toWheelMs(5 * day - 1))).toBe(false);
  expect(shouldDisable(stats, toWheelMs(5 * day))).toBe(true);
  const after = statsAfter(stats, succeeded, toWheelMs(5 * day));
  expect(after).toMatchObject({ failuresInRow: 0, lastSuccessAtMs: 1_020 });
  expect(shouldDisable(statsAfter(after, failed, toWheelMs(6 * day)), toWheelMs(12 * day))).toBe(
    false,
  );
});

const ended = (no: number): EndedAttempt => ({
  delivery: deliveryOf(no),
  attempt: { atMs: 1, durationMs: 1, status: 200 },
  wheelMs: toWheelMs(no),
  random: 0,
});

/** Goes backwards: after the first commit a batch waits until it is flushed. */
class BackwardClock extends TestClock {
  override sinceBootMs(): number {
    this.move(-100_000);
    return super.sinceBootMs();
  }
}

const nothing = (): undefined => undefined;

class Harness {
  readonly path = join(temporaryFolder(), 'delivery.mdb');
  readonly tables = openDeliveryTables(this.path, 'create');
  readonly journal = new ResultJournal(this.path);
  readonly commits: number[][] = [];
  readonly #clock = new BackwardClock();
  commit: () => Promise<void> = async () => undefined;
  readonly results = new Results({
    store: new DeliveryStore({
      tables: this.tables,
      clock: this.#clock,
      steady: this.#clock,
      keptMax: 1,
      onWork: nothing,
    }),
    journal: this.journal,
    feeds: {
      isTakenOver: false,
      recover: nothing,
      giveBack: nothing,
      transaction: async <T>(settled: readonly Delivery[]) => {
        await this.commit();
        this.commits.push(settled.map(({ id }) => numberOf(id)));
        return new Map() as T;
      },
    },
    endpoints: { byNo: nothing, disable: async () => undefined },
    gone: new Set(),
    retryDelaysMs: [],
    log: createLog('silent', { write: nothing }),
    onCommitted: nothing,
    onFault: nothing,
    onWork: nothing,
  });

  add(...nos: number[]): void {
    for (const no of nos) this.results.add(ended(no));
  }
  /** Results that a process that starts now would find. */
  left(): number[] {
    const journal = new ResultJournal(this.path);
    journal.close();
    return journal.uncommitted.map(({ deliveryId }) => numberOf(deliveryId));
  }
}

function openHarness(): Harness {
  const harness = new Harness();
  onTestFinished(async () => {
    await harness.results.stop();
    await harness.tables.environment.close();
  });
  return harness;
}

it('commits the first with what arrives in its cycle, then at the end of the interval; what waits is journaled', async () => {
  const harness = openHarness();
  harness.add(1, 2);
  await eventually(() => harness.results.isQuiet, 'the first are committed');
  expect(harness.commits).toEqual([[1, 2]]);
  harness.add(3, 4);
  // By the end of the event loop cycle.
  await Promise.resolve();
  expect(harness.left()).toEqual([3, 4]);
  await new Promise((resolve) => setImmediate(resolve));
  harness.add(5);
  expect(harness.commits).toHaveLength(1);
  harness.results.flush();
  await eventually(() => harness.results.isQuiet, 'the next are committed');
  expect(harness.commits).toEqual([
    [1, 2],
    [3, 4, 5],
  ]);
  expect(harness.left()).toEqual([]);
});

it('remembers a flush while a commit ran', async () => {
  const harness = openHarness();
  const begun = Promise.withResolvers<void>();
  const done = Promise.withResolvers<void>();
  harness.commit = async () => {
    begun.resolve();
    await done.promise;
  };
  harness.add(1);
  await begun.promise;
  harness.add(2);
  harness.results.flush();
  done.resolve();
  await eventually(() => harness.results.isQuiet, 'both are committed');
  expect(harness.commits).toEqual([[1], [2]]);
});

it('commits what arrives after a stop with the next, and continues without its journal', async () => {
  const harness = openHarness();
  harness.add(1);
  await harness.results.stop();
  harness.journal.close();
  harness.add(2);
  await harness.results.stop();
  expect(harness.commits).toEqual([[1], [2]]);
});
