/**
 * Ends campaigns: once a second, finds those whose end has passed, and ends them when every scan that was answered
 * before is counted.
 *
 *   due for 2 s -> mark where the journals end -> counted past the mark, or a minute -> Campaigns.end
 *
 * In a cluster the mark includes the journals of the other nodes. The scheduler waits for a disconnected node for that
 * minute at most.
 *
 * Each tick reads the due campaigns with the wall clock, so a restart or a step of the clock only changes when an end is
 * seen; `Campaigns.end` runs once. The wait is in memory and restarts with the process and with a new leader. If counting
 * fails for a minute (a full disk), the event goes out with what is counted: it is due within five minutes.
 */
import { type CampaignRecord, endOfCampaignMs } from '../../model/campaign.ts';
import type { Clock } from '../../model/clock.ts';
import type { Logger } from '../../platform/log.ts';
import { Ticker } from '../../platform/ticker.ts';
import type { Campaigns } from './campaigns.ts';

const tickMs = 1_000;
/** A redirect thread puts a scan into its journal this long after it has timed it, at the very most. */
const settleMs = 2_000;
/** Longest wait for counting. */
const countingMsMax = 60_000;
/** Campaigns that one tick ends. Many end at midnight: the next ticks end the rest. */
const batchMax = 1_000;

export interface Counting {
  /** The end of the journals at `atMs`, a time that has passed. */
  mark(atMs: number): CountingMark;
}

export interface CountingMark {
  /** Whether every scan below the mark is counted. Called each second during a wait. */
  isPast(): boolean;
}

export interface CampaignSchedulerOptions {
  readonly campaigns: Pick<Campaigns, 'due' | 'end'>;
  readonly counting: Counting;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Campaigns that were due at the same tick. Those that are due later wait for the next batch. */
interface Batch {
  readonly due: readonly CampaignRecord[];
  readonly mark: CountingMark;
  /** Monotonic. */
  readonly sinceMs: number;
}

export class CampaignScheduler {
  readonly #options: CampaignSchedulerOptions;
  readonly #ticker: Ticker;
  #batch: Batch | undefined;
  #isClosed = false;

  constructor(options: CampaignSchedulerOptions) {
    this.#options = options;
    this.#ticker = new Ticker({
      everyMs: tickMs,
      run: async () => await this.tick(),
      log: options.log,
      failed: 'ending campaigns failed, retrying',
      resumed: 'ending campaigns resumed',
    });
  }

  start(): void {
    this.#ticker.start();
  }

  /** Resolves after the last tick. Call it before the environments are closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#ticker.close();
  }

  /** @returns campaigns it ended @throws the first failure, after the other campaigns were tried */
  async tick(): Promise<number> {
    const { campaigns, clock } = this.#options;
    const batch = (this.#batch ??= this.#nextBatch());
    if (batch === undefined) return 0;
    const isLate = clock.monotonicMs() - batch.sinceMs >= countingMsMax;
    if (!isLate && !batch.mark.isPast()) return 0;
    // A campaign that fails stays due and is in the next batch.
    this.#batch = undefined;
    let ended = 0;
    let fault: unknown;
    for (const { no } of batch.due) {
      if (this.#isClosed) break;
      try {
        if (await campaigns.end(no)) ended++;
      } catch (error) {
        fault ??= error;
      }
    }
    if (fault !== undefined) throw fault;
    return ended;
  }

  /** The mark of the latest end in a batch holds for all of them. */
  #nextBatch(): Batch | undefined {
    const { campaigns, counting, clock } = this.#options;
    const due = campaigns.due(clock.now() - settleMs, batchMax);
    if (due.length === 0) return undefined;
    const endMs = Math.max(...due.map(({ endDay = 0 }) => endOfCampaignMs(endDay)));
    return { due, mark: counting.mark(endMs + settleMs), sinceMs: clock.monotonicMs() };
  }
}
