/**
 * The retry scheduler, the tick of webhooks: expires the wheel's buckets, unschedules idle endpoints, and every 10 s
 *
 *   - gives rows to what has waited in an outbox for an hour, so that the outbox may expire, and with it the scans of
 *     everybody, although one endpoint takes nothing or too little
 *   - stores how far the outboxes were read, and the wheel clock's mark
 *   - deletes deliveries that have expired
 *
 * A tick that finds nothing to do costs one read.
 */
import type { Logger } from '../../telemetry/log.ts';
import { Ticker } from '../../telemetry/ticker.ts';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { Clock } from '../../model/clock.ts';
import { idTimeMs } from '../../model/ids.ts';
import type { Delivery } from './delivery.ts';
import type { Endpoints } from '../endpoints/endpoints.ts';
import type { Feeds } from '../outboxes/feeds.ts';

/** A retry is late by at most this and a bucket. */
const tickMs = 100;
/** Wheel entries of one transaction. */
const expireMax = 2_000;
/** An endpoint is unscheduled after so many ticks without work: a second. */
const idleTicks = 10;
/** 10 s. */
const saveTicks = 100;
/** Half of them after the save. */
const deleteTick = 50;
const waitMsMax = 3_600_000;
/** Deliveries of one transaction. */
const batchMax = 500;
/** Transactions for one endpoint in a row: the next save continues. */
const roundsMax = 20;

export interface RetrySchedulerOptions {
  readonly store: DeliveryStore;
  readonly dispatcher: Dispatcher;
  readonly feeds: Feeds;
  readonly endpoints: Endpoints;
  readonly clock: Clock;
  /** Called every second. */
  readonly everySecond: () => void;
  readonly log: Logger;
}

export class RetryScheduler {
  readonly #options: RetrySchedulerOptions;
  readonly #ticker: Ticker;
  #count = 0;

  constructor(options: RetrySchedulerOptions) {
    this.#options = options;
    this.#ticker = new Ticker({
      everyMs: tickMs,
      run: () => this.tick(),
      log: options.log,
      failed: 'the retry wheel failed, retrying',
      resumed: 'the retry wheel resumed',
    });
  }

  start(): void {
    this.#ticker.start();
  }

  /** Resolves when no tick runs, and none will. */
  async close(): Promise<void> {
    await this.#ticker.close();
  }

  /** One tick; a test with its own clock calls it instead of `start`. */
  async tick(): Promise<void> {
    const { store, dispatcher, feeds, everySecond } = this.#options;
    const count = this.#count++;
    if (count % idleTicks === 0) everySecond();
    store.tables.environment.refresh();
    await this.#expireBuckets();
    const idle = dispatcher.idle(idleTicks);
    if (idle.length > 0) await this.#unschedule(idle);
    if (count % saveTicks === saveTicks - 1) {
      await this.#moveOldBacklogs();
      await feeds.save();
    }
    if (count % saveTicks === 0 && store.isMarkOld) await store.transaction(() => undefined);
    if (count % saveTicks === deleteTick) await this.#deleteExpired();
  }

  async #moveOldBacklogs(): Promise<void> {
    const { feeds, endpoints, clock } = this.#options;
    const newestMs = clock.now() - waitMsMax;
    const isOld = ({ id }: Delivery): boolean => idTimeMs(id) < newestMs;
    for (const no of feeds.withWork()) {
      // A drain settles those of the others.
      if (endpoints.byNo(no)?.status !== 'enabled') continue;
      for (let round = 0, moved = batchMax; moved === batchMax && round < roundsMax; round++) {
        moved = await feeds.takeOut(
          no,
          batchMax,
          (tx, one) => tx.create(one.id, one, one.dueMs),
          isOld,
        );
      }
    }
  }

  async #expireBuckets(): Promise<void> {
    const { store, dispatcher } = this.#options;
    const nowMs = store.wheelClock.now();
    if (store.wheel.lagMs(nowMs) === 0) return;
    dispatcher.wake(await store.transaction(() => store.wheel.expire(nowMs, expireMax)));
  }

  async #unschedule(idle: readonly number[]): Promise<void> {
    const { store, dispatcher } = this.#options;
    const nowMs = store.wheelClock.now();
    const active = await store.transaction(
      () => new Set(idle.filter((no) => !store.wheel.unschedule(no, nowMs))),
    );
    for (const no of idle) if (!active.has(no)) dispatcher.removeIdle(no);
    if (active.size > 0) dispatcher.wake(active);
  }

  async #deleteExpired(): Promise<void> {
    const { store } = this.#options;
    const { environment, expiry, rows } = store.tables;
    const start: [number, string] = [0, ''];
    const end: [number, string] = [store.wheelClock.now(), ''];
    for (;;) {
      const keys = [...expiry.keys({ start, end, limit: batchMax })];
      if (keys.length === 0) return;
      await store.transaction((tx) => {
        for (const [expiresMs, id] of keys) {
          const delivery = tx.find(id);
          if (delivery !== undefined) tx.move(delivery, 'expired');
          else {
            // It is gone, or damaged.
            expiry.remove([expiresMs, id]);
            rows.remove(id);
          }
        }
      });
      environment.refresh();
      if (keys.length < batchMax) return;
    }
  }
}
