/**
 * The tick of webhooks. It expires the wheel's buckets, unschedules idle endpoints, and every 10 s deletes expired
 * deliveries, stores positions and the wheel clock's mark, and moves deliveries that have waited in an outbox for an
 * hour to rows. So the outbox, and with it everyone's scans, can expire even if one endpoint takes nothing.
 *
 * Without work it sleeps until the next bucket is due, at most a second; a commit, which may add to the wheel, wakes it.
 */
import type { Logger } from '../../platform/log.ts';
import { Ticker } from '../../platform/ticker.ts';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import type { FairScheduler } from '../dispatch/fair-scheduler.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { Clock } from '../../model/clock.ts';
import { idTimeMs } from '../../model/ids.ts';
import type { Delivery } from './delivery.ts';
import type { Endpoints } from '../endpoints/endpoints.ts';
import type { Feeds } from '../feeds/feeds.ts';

/** A retry is late by at most this plus a bucket. */
const tickMs = 100;
const expireMax = 2_000;
/** Without work; `everySecond` still runs every second. */
const idleMsMax = 1_000;
/** An endpoint is unscheduled after so many ticks (a second) without work. */
const idleTicks = 10;
/** 10 s */
const saveTicks = 100;
const deleteTick = 50;
const waitMsMax = 3_600_000;
const batchMax = 500;
/** Transactions per endpoint in a row; the next save continues. */
const roundsMax = 20;

interface RetrySchedulerOptions {
  readonly store: DeliveryStore;
  readonly scheduler: FairScheduler<Delivery>;
  readonly dispatcher: Dispatcher;
  readonly feeds: Feeds;
  readonly endpoints: Endpoints;
  readonly clock: Clock;
  readonly everySecond: () => void;
  readonly log: Logger;
}

export class RetryScheduler {
  readonly #options: RetrySchedulerOptions;
  readonly #ticker: Ticker;
  #count = 0;
  #tickedMs: number;
  #isIdle = false;
  readonly #endListening: () => void;

  constructor(options: RetrySchedulerOptions) {
    this.#options = options;
    this.#tickedMs = options.clock.monotonicMs();
    this.#ticker = new Ticker({
      everyMs: () => (this.#isIdle ? this.#untilDueMs() : tickMs),
      run: () => this.#run(),
      log: options.log,
      failed: 'the retry wheel failed, retrying',
      resumed: 'the retry wheel resumed',
    });
    this.#endListening = options.store.tables.environment.committed.listen(() => {
      // Only once: commits in quick succession must not delay the tick.
      if (!this.#isIdle) return;
      this.#isIdle = false;
      this.#ticker.start();
    });
  }

  start(): void {
    this.#ticker.start();
  }

  async close(): Promise<void> {
    this.#endListening();
    await this.#ticker.close();
  }

  async #run(): Promise<void> {
    const nowMs = this.#options.clock.monotonicMs();
    const ticks = Math.max(1, Math.round((nowMs - this.#tickedMs) / tickMs));
    this.#tickedMs = nowMs;
    this.#isIdle = false;
    await this.tick(ticks);
    this.#isIdle = this.#options.scheduler.isEmpty;
  }

  #untilDueMs(): number {
    const { wheel, wheelClock } = this.#options.store;
    return Math.min(idleMsMax, wheel.untilDueMs(wheelClock.now()));
  }

  /** One tick; a test with its own clock calls it in place of `start`. @param ticks that have passed */
  async tick(ticks = 1): Promise<void> {
    const { store, scheduler, feeds, everySecond } = this.#options;
    const first = this.#count;
    this.#count += ticks;
    const isDue = (at: number, every: number): boolean =>
      (every + at - (first % every)) % every < ticks;
    if (isDue(0, idleTicks)) everySecond();
    store.tables.environment.refresh();
    await this.#expireBuckets();
    const idle = scheduler.idle(idleTicks);
    if (idle.length > 0) await this.#unschedule(idle);
    if (isDue(saveTicks - 1, saveTicks)) {
      await this.#moveOldBacklogs();
      await feeds.save();
    }
    if (isDue(0, saveTicks) && store.isMarkOld) await store.transaction(() => undefined);
    if (isDue(deleteTick, saveTicks)) await this.#deleteExpired();
  }

  async #moveOldBacklogs(): Promise<void> {
    const { feeds, endpoints, clock } = this.#options;
    const newestMs = clock.now() - waitMsMax;
    const isOld = ({ id }: Delivery): boolean => idTimeMs(id) < newestMs;
    for (const no of feeds.withWork()) {
      // A drain settles those of other endpoints.
      if (endpoints.byNo(no)?.status !== 'enabled') continue;
      for (let round = 0, moved = batchMax; moved === batchMax && round < roundsMax; round++) {
        moved = await feeds.moveToRows(
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
    const expired = await store.transaction(() => store.wheel.expire(nowMs, expireMax));
    dispatcher.wake('rows', expired);
  }

  async #unschedule(idle: readonly number[]): Promise<void> {
    const { store, scheduler, dispatcher } = this.#options;
    const nowMs = store.wheelClock.now();
    const active = await store.transaction(
      () => new Set(idle.filter((no) => !store.wheel.unschedule(no, nowMs))),
    );
    for (const no of idle) if (!active.has(no)) scheduler.removeIdle(no);
    if (active.size > 0) dispatcher.wake('rows', active);
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
