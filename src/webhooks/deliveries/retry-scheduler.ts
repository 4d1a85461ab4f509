/**
 * The retry scheduler, the tick of webhooks: expires the wheel's buckets, unschedules idle endpoints, stores the
 * consumers' cursors and the wheel clock's mark now and then, and deletes deliveries that have expired. A tick
 * that finds nothing to do costs one read.
 */
import type { Logger } from '../../telemetry/log.ts';
import { Ticker } from '../../telemetry/ticker.ts';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import type { DeliveryStore } from './delivery-store.ts';

/** A retry is late by at most this and a bucket. */
const tickMs = 100;
/** Wheel entries of one transaction. */
const expireMax = 2_000;
/** An endpoint is unscheduled after so many ticks without work: a second. */
const idleTicks = 10;
/** Cursors that moved without deliveries are stored, and the mark, every so many ticks: 10 s. */
const saveTicks = 100;
/** Expired deliveries are deleted every so many ticks: 10 s. */
const deleteTicks = 100;
const deleteMax = 500;

export interface RetrySchedulerOptions {
  readonly store: DeliveryStore;
  readonly dispatcher: Dispatcher;
  /** Stores the consumers' cursors. */
  readonly save: () => Promise<unknown>;
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
    const { store, dispatcher, save, everySecond } = this.#options;
    const count = this.#count++;
    if (count % idleTicks === 0) everySecond();
    store.tables.environment.refresh();
    await this.#expireBuckets();
    const idle = dispatcher.idle(idleTicks);
    if (idle.length > 0) await this.#unschedule(idle);
    if (count % saveTicks === saveTicks - 1) await save();
    if (count % saveTicks === 0 && store.isMarkOld) await store.transaction(() => undefined);
    if (count % deleteTicks === deleteTicks / 2) await this.#deleteExpired();
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

  /** Deletes the deliveries that have expired, in batches. */
  async #deleteExpired(): Promise<void> {
    const { store } = this.#options;
    const { environment, expiry, deliveries } = store.tables;
    const start: [number, number] = [0, 0];
    const end: [number, number] = [store.wheelClock.now(), 0];
    for (;;) {
      const keys = [...expiry.keys({ start, end, limit: deleteMax })];
      if (keys.length === 0) return;
      await store.transaction((tx) => {
        for (const [expiresMs, no] of keys) {
          const delivery = tx.find(no);
          if (delivery !== undefined) tx.move(delivery, 'expired');
          else {
            // It is gone, or damaged.
            expiry.remove([expiresMs, no]);
            deliveries.remove(no);
          }
        }
      });
      environment.refresh();
      if (keys.length < deleteMax) return;
    }
  }
}
