/**
 * The tick of webhooks: walks the wheel, lets idle endpoints sleep, stores the cursors and the clock's mark
 * now and then, and purges what has expired. A tick that finds nothing to do costs one read.
 */
import { Failure } from '../../model/failure.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { Dispatcher } from '../dispatch/dispatcher.ts';

/** A retry leaves at most this and a bucket late. */
const tickMs = 100;
/** Wheel entries of one transaction. */
const walkMax = 2_000;
/** An endpoint sleeps after so many ticks without work: a second. */
const idleTicks = 10;
/** Cursors that moved without deliveries are stored, and the mark, every so many ticks: 10 s. */
const saveTicks = 100;
/** Expired deliveries are looked for every so many ticks: 10 s. */
const purgeTicks = 100;
const purgeMax = 500;

export interface RetrySchedulerOptions {
  readonly book: DeliveryStore;
  readonly dispatcher: Dispatcher;
  /** Followers' cursors. */
  readonly save: () => Promise<unknown>;
  /** Called every second. */
  readonly everySecond: () => void;
  readonly log: Logger;
}

export class RetryScheduler {
  readonly #options: RetrySchedulerOptions;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #isClosed = false;
  #isFailing = false;
  #count = 0;

  constructor(options: RetrySchedulerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#plan();
  }

  /** Resolves when no tick runs, and none will. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  /** One tick. The timer's work; a test with a clock of its own calls it itself. */
  async tick(): Promise<void> {
    const { book, dispatcher, save, everySecond } = this.#options;
    const count = this.#count++;
    if (count % idleTicks === 0) everySecond();
    book.store.environment.refresh();
    await this.#walk();
    const idle = dispatcher.idle(idleTicks);
    if (idle.length > 0) await this.#rest(idle);
    if (count % saveTicks === saveTicks - 1) await save();
    if (count % saveTicks === 0 && book.isMarkOld) await book.write(() => undefined);
    if (count % purgeTicks === purgeTicks / 2) await this.#purge();
  }

  async #walk(): Promise<void> {
    const { book, dispatcher } = this.#options;
    const nowMs = book.time.now();
    if (book.wheel.behindMs(nowMs) === 0) return;
    const woken = await book.write(() => book.wheel.walk(nowMs, walkMax));
    for (const endpointNo of woken) dispatcher.wake(endpointNo);
    dispatcher.pump();
  }

  async #rest(idle: readonly number[]): Promise<void> {
    const { book, dispatcher } = this.#options;
    const nowMs = book.time.now();
    const awake = await book.write(() => idle.filter((no) => !book.wheel.rest(no, nowMs)));
    const still = new Set(awake);
    for (const endpointNo of idle) {
      if (still.has(endpointNo)) dispatcher.wake(endpointNo);
      else dispatcher.rested(endpointNo);
    }
    if (still.size > 0) dispatcher.pump();
  }

  /** Forgets what has expired, in batches. */
  async #purge(): Promise<void> {
    const { book } = this.#options;
    const start: [number, number] = [0, 0];
    const end: [number, number] = [book.time.now(), 0];
    for (;;) {
      const keys = [...book.store.expiry.keys({ start, end, limit: purgeMax })];
      if (keys.length === 0) return;
      await book.write((pen) => {
        for (const [expiresMs, no] of keys) {
          const delivery = pen.find(no);
          if (delivery === undefined) book.store.expiry.remove([expiresMs, no]);
          else pen.move(delivery, 'expired');
        }
      });
      book.store.environment.refresh();
      if (keys.length < purgeMax) return;
    }
  }

  #plan(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#running = this.#run();
    }, tickMs);
    this.#timer.unref();
  }

  async #run(): Promise<void> {
    try {
      await this.tick();
      if (this.#isFailing) this.#options.log.info('the retry wheel turns again');
      this.#isFailing = false;
    } catch (err) {
      // A full disk fails every tick: one line says so, and one that it is over.
      const isNews = !this.#isFailing || !(err instanceof Failure);
      if (isNews) this.#options.log.error({ err }, 'the retry wheel stands still');
      this.#isFailing = true;
    }
    this.#plan();
  }
}
