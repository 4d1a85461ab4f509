/**
 * The end clock: looks once a second for campaigns that came to their end, waits until every scan that
 * was answered before it is counted, and ends them.
 *
 *   due for 2 s -> mark where the journals end -> counted past the mark, or a minute -> book.end
 *
 * What is due stands in the store and is asked with the wall clock at every tick, so a restart or a step
 * of the clock, forth or back, only changes when it is seen; that it happens once is the book's. The wait
 * is in memory and starts anew after a restart. A store that cannot count for a minute (a full disk) must
 * not keep an end that is due within five: then it is told with what is counted.
 */
import type { CampaignRecord } from '../model/campaign.ts';
import type { Clock } from '../model/clock.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Campaigns } from './campaigns.ts';

/** Between the looks for what is due. */
const tickMs = 1_000;
/** A redirect thread puts a scan into its journal this long after it has timed it, at the very most. */
const settleMs = 2_000;
/** How long counting is waited for. */
const countingMsMax = 60_000;
/** CampaignServices one tick ends: they all end at midnight, so the rest is due at the next. */
const batchMax = 1_000;

/** Where every journal ended at a moment: position by journal. */
export type JournalMark = ReadonlyMap<number, number>;

export interface Counting {
  mark(): JournalMark;
  /** Whether every scan below the mark is counted. */
  isPast(mark: JournalMark): boolean;
}

export interface CampaignSchedulerOptions {
  readonly book: Campaigns;
  readonly counting: Counting;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Wait {
  readonly mark: JournalMark;
  /** Monotonic. */
  readonly sinceMs: number;
}

export class CampaignScheduler {
  readonly #options: CampaignSchedulerOptions;
  #waits = new Map<number, Wait>();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<unknown> = Promise.resolve();
  #isClosed = false;
  #isFailing = false;

  constructor(options: CampaignSchedulerOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#running = this.#run().finally(() => this.start());
    }, tickMs);
    this.#timer.unref();
  }

  /** Resolves when no tick runs, and none will. Before the environments are closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  /** One look. @returns campaigns it ended @throws what kept one from ending, after the others were */
  async tick(): Promise<number> {
    const { book, clock } = this.#options;
    const due = book.due(clock.now() - settleMs, batchMax);
    this.#waits = this.#waitsFor(due);
    let ended = 0;
    let fault: unknown;
    for (const no of this.#final()) {
      if (this.#isClosed) break;
      try {
        if (await book.end(no)) ended++;
      } catch (error) {
        fault ??= error;
      }
    }
    if (fault !== undefined) throw fault;
    return ended;
  }

  /** Those known wait on, the others begin at one mark; who is not due any more is forgotten. */
  #waitsFor(due: readonly CampaignRecord[]): Map<number, Wait> {
    const waits = new Map<number, Wait>();
    let fresh: Wait | undefined;
    const { counting, clock } = this.#options;
    for (const { no } of due) {
      let wait = this.#waits.get(no);
      wait ??= fresh ??= { mark: counting.mark(), sinceMs: clock.monotonicMs() };
      waits.set(no, wait);
    }
    return waits;
  }

  /** Those that need not wait any longer; campaigns of one midnight share their mark. */
  #final(): number[] {
    const { counting, clock } = this.#options;
    const counted = new Map<JournalMark, boolean>();
    const final: number[] = [];
    for (const [no, { mark, sinceMs }] of this.#waits) {
      const isPast = counted.get(mark) ?? counting.isPast(mark);
      counted.set(mark, isPast);
      if (isPast || clock.monotonicMs() - sinceMs >= countingMsMax) final.push(no);
    }
    return final;
  }

  async #run(): Promise<void> {
    const { log } = this.#options;
    try {
      await this.tick();
      if (this.#isFailing) log.info('campaigns end again when they are due');
      this.#isFailing = false;
    } catch (err) {
      // A full disk fails every tick: one line says so, and one that it is over.
      if (!this.#isFailing) log.error({ err }, 'cannot end a campaign that is due, trying again');
      this.#isFailing = true;
    }
  }
}
