/**
 * The wheel against a plain list of due times: however time passes, clocks step and processes restart, each delivery
 * is sent at its time, never early, and the store never holds a queued delivery without a wheel entry. Its scheduler
 * ticks once a second without work, and retries are still sent at their time.
 */
import fc from 'fast-check';
import { getRandomValues } from 'node:crypto';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createIdSource } from '../../src/model/ids.ts';
import { openDeliveryTables } from '../../src/store/delivery/delivery.ts';
import { DeliveryStore } from '../../src/webhooks/deliveries/delivery-store.ts';
import { bucketMs, WheelClock } from '../../src/webhooks/deliveries/retry-wheel.ts';
import { temporaryFolder } from '../store/temporary-management.ts';
import { toWheelMs, type WheelMs } from '../../src/model/wheel-time.ts';
import { startMs, TestClock } from '../support/fakes/test-clock.ts';
import { runs } from '../seconds/runs.ts';
import { deliveryOf } from './bare-webhooks.ts';
import { openHarness } from './webhooks-harness.ts';

const hour = 3_600_000;
const ofKind = <K extends string>(weight: number, kind: K, ms: fc.Arbitrary<number>) => {
  const endpointNo = fc.integer({ min: 1, max: 4 });
  return { weight, arbitrary: fc.record({ kind: fc.constant(kind), ms, endpointNo }) };
};
const upTo = (ms: number) =>
  fc.oneof(fc.integer({ min: 1, max: ms }), fc.integer({ min: 1, max: hour }));
const step = fc.oneof(
  ofKind(6, 'queue', fc.oneof(fc.constant(0), upTo(400))),
  ofKind(6, 'pass', upTo(300)),
  ofKind(1, 'step', fc.constantFrom(-hour, hour, -365 * 24 * hour, 365 * 24 * hour)),
  ofKind(2, 'restart', fc.constant(0)),
  ofKind(1, 'reboot', fc.constantFrom(0, 10_000, hour)),
);

/** A store whose endpoints send all that is due whenever they are awake: what a healthy receiver sees. */
class Sending {
  readonly time = new TestClock();
  readonly sentAt = new Map<string, number>();
  readonly dueAt = new Map<string, number>();
  readonly #path = join(temporaryFolder(), 'delivery.mdb');
  readonly #active = new Set<number>();
  readonly #ids = createIdSource(this.time, getRandomValues);
  store: DeliveryStore;

  constructor() {
    this.store = this.#open();
  }

  #open(): DeliveryStore {
    const tables = openDeliveryTables(this.#path, 'create');
    const { time } = this;
    const onWork = (nos: ReadonlySet<number>) => nos.forEach((no) => this.#active.add(no));
    return new DeliveryStore({ tables, clock: time, steady: time, keptMax: 1_000, onWork });
  }

  async restart(): Promise<void> {
    await this.close();
    this.#active.clear();
    this.store = this.#open();
  }

  async close(): Promise<void> {
    await this.store.tables.environment.close();
  }

  async queue(endpointNo: number, inMs: number): Promise<void> {
    const { store } = this;
    const created = {
      endpointNo,
      workspaceNo: 1,
      kind: 'qr.deleted',
      eventIds: [],
      body: '{}',
    } as const;
    const nowMs = store.wheelClock.now();
    await store.transaction((tx) => {
      const delivery = tx.create(this.#ids.newId('dlv'), created);
      if (inMs > 0) tx.move(delivery, 'failed', { dueMs: toWheelMs(nowMs + inMs) });
      this.dueAt.set(delivery.id, nowMs + inMs);
    });
  }

  async tick(): Promise<void> {
    const { store } = this;
    const nowMs = store.wheelClock.now();
    store.tables.environment.refresh();
    if (store.wheel.lagMs(nowMs) > 0) {
      // Two entries at a time, so that a bucket is interrupted in the middle.
      const ready = await store.transaction(() => store.wheel.expire(nowMs, 2));
      ready.forEach((no) => this.#active.add(no));
    }
    for (const endpointNo of this.#active) await this.#send(endpointNo, nowMs);
  }

  async #send(endpointNo: number, nowMs: WheelMs): Promise<void> {
    const { store } = this;
    const isInactive = await store.transaction((tx) => {
      const due = store.tables.due.keys({
        start: [endpointNo, 0, ''],
        end: [endpointNo, nowMs + 1, ''],
      });
      const ids = Array.from(due, ([, , id]) => id);
      for (const id of ids) {
        const delivery = tx.find(id);
        if (delivery === undefined) throw new Error('A queue entry without its delivery');
        tx.move(delivery, 'succeeded');
        expect(this.sentAt.has(id)).toBe(false);
        this.sentAt.set(id, nowMs);
      }
      return store.wheel.unschedule(endpointNo, nowMs);
    });
    if (isInactive) this.#active.delete(endpointNo);
  }

  /** The invariant of the wheel, over everything that is stored. */
  checkInvariant(): void {
    const { tables } = this.store;
    tables.environment.refresh();
    const first = new Map<number, number>();
    for (const [bucket, endpointNo] of tables.wheel.keys({})) {
      if (!first.has(endpointNo)) first.set(endpointNo, bucket);
    }
    for (const [endpointNo, dueMs] of tables.due.keys({})) {
      expect(first.get(endpointNo) ?? Number.MAX_SAFE_INTEGER).toBeLessThanOrEqual(
        Math.floor(dueMs / bucketMs),
      );
    }
  }
}

it('activates each endpoint at its time, never early, across restarts, reboots and clock steps', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 3, maxLength: 30, size: 'max' }),
      async (steps) => {
        const sending = new Sending();
        try {
          for (const { kind, ms, endpointNo } of steps) {
            if (kind === 'queue') await sending.queue(endpointNo, ms);
            else if (kind === 'pass') sending.time.move(ms);
            else if (kind === 'step') sending.time.step(ms);
            else if (kind === 'reboot') sending.time.reboot(ms);
            if (kind === 'restart' || kind === 'reboot') await sending.restart();
            sending.checkInvariant();
            for (let ticks = 0; ticks < 6; ticks++) await sending.tick();
            sending.checkInvariant();
            const nowMs = sending.store.wheelClock.now();
            for (const [id, dueMs] of sending.dueAt) {
              const sentMs = sending.sentAt.get(id);
              if (sentMs !== undefined) expect(sentMs).toBeGreaterThanOrEqual(dueMs);
              // Two entries expire at a time; six ticks activate all four endpoints.
              else expect(dueMs).toBeGreaterThanOrEqual(Math.floor(nowMs / bucketMs) * bucketMs);
            }
          }
          sending.time.move(2 * 365 * 24 * hour);
          for (let ticks = 0; ticks < 30; ticks++) await sending.tick();
          expect(sending.sentAt.size).toBe(sending.dueAt.size);
          // Nothing is left: endpoints are inactive, and the wheel is empty.
          sending.time.move(1_000);
          for (let ticks = 0; ticks < 10; ticks++) await sending.tick();
          sending.store.tables.environment.refresh();
          expect([...sending.store.tables.wheel.keys({})]).toEqual([]);
          expect([...sending.store.tables.due.keys({})]).toEqual([]);
        } finally {
          await sending.close();
        }
      },
    ),
    { numRuns: runs(8) },
  );
});

it('keeps an endpoint awake while something is due, and wakes it for what comes late', async () => {
  const { store, time } = new Sending();
  const { wheel, tables } = store;
  const nowMs = store.wheelClock.now();
  await store.transaction(() => wheel.expire(nowMs, 2));
  const lateMs = toWheelMs(nowMs - 5 * bucketMs);
  expect(await store.transaction(() => wheel.schedule(1, lateMs))).toBe(true);
  tables.environment.refresh();
  expect([...tables.wheel.keys({})]).toEqual([[Math.floor(lateMs / bucketMs), 1]]);
  await store.transaction((tx) => tx.move(deliveryOf(1), 'failed', { dueMs: nowMs }));
  time.move(2 * bucketMs);
  const isAsleep = () => store.transaction(() => wheel.unschedule(1, store.wheelClock.now()));
  expect(await isAsleep()).toBe(false);
  await store.transaction((tx) => tx.discard([1, nowMs, deliveryOf(1).id]));
  expect(await isAsleep()).toBe(true);
  await tables.environment.close();
});

it('has a clock that no step of the wall clock moves', () => {
  const time = new TestClock();
  const clock = new WheelClock(time, time, undefined);
  expect(clock.now()).toBe(startMs);
  time.step(-365 * 24 * hour);
  time.move(5_000);
  expect(clock.now()).toBe(startMs + 5_000);
  const mark = clock.mark();
  time.step(2 * 365 * 24 * hour);
  time.move(7_000);
  // The service restarts, whatever the wall clock says: exactly the time that passed.
  expect(new WheelClock(time, time, mark).now()).toBe(startMs + 12_000);
  // The machine restarts with a wall clock in the past: not backwards.
  time.reboot(-3 * 365 * 24 * hour);
  expect(new WheelClock(time, time, mark).now()).toBe(startMs + 5_000);
  // And with the right one: the time that it was off counts.
  time.step(2 * 365 * 24 * hour);
  expect(new WheelClock(time, time, mark).now()).toBe(time.now());
  // Where the system does not name its boots, a start is a boot.
  const nameless = { bootId: '', sinceBootMs: () => 10 };
  const old = { ...mark, bootId: '' };
  expect(new WheelClock(time, nameless, old).now()).toBe(time.now());
});

it('replaces the row of a delivery that two leaders have sent', async () => {
  const { store, time } = new Sending();
  const states: string[] = [];
  for (const [event, dueMs] of [
    ['failed', 5_000],
    ['exhausted', 0],
    ['failed', 9_000],
    ['succeeded', 0],
  ] as const) {
    await store.transaction((tx) => {
      const at = toWheelMs(time.now() + dueMs);
      tx.move(deliveryOf(1), event, {
        dueMs: at,
        attempt: { atMs: 1, durationMs: 1, status: 500 },
      });
    });
    const { counts } = await store.transaction((tx) => tx.stats(1));
    const { due, dead, expiry } = store.tables;
    const rows = [due, dead, expiry].map((table) => [...table.keys({})].length);
    states.push(`pending ${counts.pending}, dead ${counts.dead}: ${rows.join(' ')}`);
  }
  expect(states).toEqual([
    'pending 1, dead 0: 1 0 0',
    'pending 0, dead 1: 0 1 1',
    'pending 1, dead 0: 1 0 0',
    'pending 0, dead 0: 0 0 0',
  ]);
  await store.tables.environment.close();
});

it('gives a replayed delivery all its tries again', async () => {
  const { store } = new Sending();
  const attempt = { atMs: 1, durationMs: 1, status: 500 };
  const tries = await store.transaction((tx) => {
    const dead = tx.move(deliveryOf(1), 'exhausted', { attempt });
    return [dead.tries, tx.move(dead, 'replayed').tries];
  });
  expect(tries).toEqual([1, 0]);
  await store.tables.environment.close();
});

/** A bucket, a tick, and a step of this test; jitter is 5 % here. */
const lateMsMax = 300;
const stepMs = 25;

it('sends a retry at its time, scheduled before or while it rests', async () => {
  const harness = await openHarness({ retryDelaysMs: [200, 10_000] });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { sender, webhooks, time } = harness;
  sender.answer = () => 500;
  await harness.endpoint();
  await webhooks.start();
  const refreshes = vi.spyOn(webhooks.environment, 'refresh');
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += stepMs) {
      time.move(stepMs);
      await vi.advanceTimersByTimeAsync(stepMs);
      for (let calm = 0; calm < 3;) {
        // What the tick has written.
        await webhooks.environment.flush();
        await new Promise((resolve) => setImmediate(resolve));
        calm = webhooks.isQuiet && sender.isQuiet ? calm + 1 : 0;
      }
    }
  };
  // At three times within the second between two ticks.
  for (let pause = 3_000; pause < 3_900; pause += 300) {
    await pass(pause);
    sender.sent.length = 0;
    await harness.emit();
    await pass(4_000);
    refreshes.mockClear();
    await pass(5_000);
    // One of the tick and one of the dispatcher, a second: a tick every 100 ms has 50.
    expect(refreshes.mock.calls.length).toBeLessThan(20);
    await pass(3_000);
    const [first, second, third] = sender.sent.map(({ atMs }) => atMs);
    expect(second! - first!).toBeGreaterThanOrEqual(200);
    expect(second! - first!).toBeLessThan(200 + lateMsMax);
    expect(third! - second!).toBeGreaterThanOrEqual(10_000);
    expect(third! - second!).toBeLessThan(10_500 + lateMsMax);
  }
});
