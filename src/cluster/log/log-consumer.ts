/**
 * Reads a log for as long as the process lives: begins again when a reading ends or stalls.
 *
 * A reading that brings nothing may be at the end, or may be dead without an error. So once a second the log is asked
 * for its end: a reading that has not moved since the last time, although there is more, is replaced.
 */
import type { LogBounds, OrderedLog, Reading } from './ordered-log.ts';
import type { Timers } from '../../model/clock.ts';

/** A stalled reading is replaced after one to two of these; each that follows and brings nothing either, after twice as many. */
const watchMs = 1_000;
/** At most so many: enough for an entry of 512 KB over a line of 0.5 Mbit/s. */
const stillWatchesMax = 8;
const retryMsMin = 100;
const retryMsMax = 2_000;

export interface LogConsumerOptions {
  readonly log: OrderedLog;
  readonly timers: Timers;
  /**
   * Before each reading, and at each look for its end.
   * @returns where to read from, at least 1; undefined: never again
   */
  readonly from: (bounds: LogBounds) => number | undefined;
  /** @param isNew it was not brought by an earlier reading */
  entry(seq: number, body: Uint8Array, isNew: boolean, atMs: number, subject?: string): void;
}

export interface ReadingProgress {
  /** Readings that were begun after the first. */
  readonly restarts: number;
  /** Entries that the log had and no reading had brought, when it was last asked for its end. */
  readonly behind: number;
}

export class LogConsumer {
  readonly #options: LogConsumerOptions;
  #reading: Reading | undefined;
  /** Of the newest entry that any reading brought. */
  #seen = 0;
  /** Of the newest entry that this reading brought, or need not bring. */
  #at = 0;
  /** `#at` when the log was last asked for its end. */
  #atBefore = 0;
  #retryMs = retryMsMin;
  /** Looks that saw this reading bring nothing though there is something, and how many of them end it. */
  #still = 0;
  #stillMax = 1;
  #cancel: () => void = () => undefined;
  /** Answers to what was asked before are dropped. */
  #round = 0;
  #isStopped = false;
  /** Readings that were begun. */
  #readings = 0;
  /** The end of the log when it was last asked for. */
  #last = 0;

  constructor(options: LogConsumerOptions) {
    this.#options = options;
  }

  get progress(): ReadingProgress {
    const behind = Math.max(0, this.#last - Math.max(this.#at, this.#seen));
    return { restarts: Math.max(0, this.#readings - 1), behind };
  }

  start(): void {
    this.#begin();
  }

  stop(): void {
    this.#isStopped = true;
    this.#end();
  }

  /** Reads nothing until `restart`. */
  pause(): void {
    this.#end();
  }

  /** Begins again, from where `from` says, after `ms`. */
  restart(ms: number): void {
    this.#end();
    this.#after(ms, () => this.#begin());
  }

  /**
   * Whether everything was brought that the log had when this was called.
   * Rejects when the log does not answer.
   * @param newest position of an entry that the log has: an answer with an earlier end is out of date
   */
  async isAtEnd(newest = 0): Promise<boolean> {
    const { last } = await this.#options.log.bounds();
    return this.#reading !== undefined && this.#at >= last && last >= newest;
  }

  #end(): void {
    this.#round++;
    this.#cancel();
    this.#reading?.stop();
    this.#reading = undefined;
  }

  #after(ms: number, run: () => void): void {
    this.#cancel();
    if (!this.#isStopped) this.#cancel = this.#options.timers.after(ms, run);
  }

  #begin(): void {
    const begin = (bounds: LogBounds): void => {
      this.#seen = Math.min(this.#seen, bounds.last);
      this.#last = bounds.last;
      this.#readings++;
      const from = this.#options.from(bounds);
      if (from === undefined || this.#isStopped) return;
      this.#at = from - 1;
      this.#atBefore = -1;
      this.#still = 0;
      this.#reading = this.#options.log.follow(from, {
        entry: (seq, body, atMs, subject) => this.#entry(seq, body, atMs, subject),
        ended: () => this.#retry(),
      });
      this.#after(watchMs, () => this.#watch());
    };
    this.#ask(begin, () => this.#retry());
  }

  #entry(seq: number, body: Uint8Array, atMs: number, subject?: string): void {
    const isNew = seq > this.#seen;
    if (isNew) this.#seen = seq;
    this.#at = seq;
    this.#retryMs = retryMsMin;
    this.#stillMax = 1;
    this.#options.entry(seq, body, isNew, atMs, subject);
  }

  #watch(): void {
    const again = (): void => this.#after(watchMs, () => this.#watch());
    const watched = (bounds: LogBounds): void => {
      this.#last = bounds.last;
      if (this.#options.from(bounds) === undefined || this.#isStopped) return;
      const isStill = bounds.last > this.#at && this.#at === this.#atBefore;
      this.#still = isStill ? this.#still + 1 : 0;
      this.#atBefore = this.#at;
      if (this.#still < this.#stillMax) return again();
      // A line may be too slow to bring one entry in the time that was given.
      this.#stillMax = Math.min(2 * this.#stillMax, stillWatchesMax);
      this.#retry();
    };
    // The reading may be well where the question is not answered.
    this.#ask(watched, again);
  }

  #retry(): void {
    this.restart(this.#retryMs);
    this.#retryMs = Math.min(2 * this.#retryMs, retryMsMax);
  }

  #ask(answered: (bounds: LogBounds) => void, unanswered: () => void): void {
    const round = ++this.#round;
    const isNewest = (): boolean => round === this.#round;
    this.#options.log.bounds().then(
      (bounds) => (isNewest() ? answered(bounds) : undefined),
      () => (isNewest() ? unanswered() : undefined),
    );
  }
}
