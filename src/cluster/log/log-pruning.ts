/**
 * Removes from a log what every registered core has on its disk. Runs on the core that leads.
 *
 *   first ────────────── all cores have it ──────────────┬─────────────── last
 *     └── removed, each round                            └── kept for the core that has least, for 7 days
 *
 * A core that has reported nothing counts as having nothing. After 7 days it lacks removed entries: it stops following and
 * has to join again.
 *
 * A core that registers meanwhile misses nothing: it registers first, and only then copies another core. That core had what
 * was removed by then, as every registered core counts. Later removals wait for the new core.
 */
import { messageOf } from '../../model/failure.ts';
import type { Clock, Timers } from '../../model/clock.ts';
import { dayMs } from '../../model/day.ts';
import type { OrderedLog } from './ordered-log.ts';

const keptMs = 7 * dayMs;

export interface TimedLog extends Pick<OrderedLog, 'bounds' | 'prune'> {
  /** When an entry was appended, wall clock; undefined if it is not there. */
  timeOf(seq: number): Promise<number | undefined>;
}

export interface LogPruningOptions {
  readonly log: TimedLog;
  readonly clock: Pick<Clock, 'now'>;
  readonly timers: Timers;
  readonly everyMs: number;
  readonly isLeader: () => boolean;
  /** By registered core, the newest entry on its disk; 0 if it has reported none. */
  readonly stored: () => ReadonlyMap<string, number>;
  /**
   * This core, for a log that is replayed: no entry after its position is removed, however old. The newest entry that all have
   * stays as well: a core reads it first, and sees that it knows this log.
   */
  readonly replayedBy?: string | undefined;
  /** Called with the end of the log before it is pruned. */
  readonly onRound?: ((last: number) => void) | undefined;
}

export class LogPruning {
  readonly #options: LogPruningOptions;
  #cancel: () => void = () => undefined;
  #isStopped = false;
  /** Entries on the brokers after the last round; undefined if another core leads, or before the first round. */
  entries: number | undefined;
  /** Why the last round failed. */
  fault: string | undefined;

  constructor(options: LogPruningOptions) {
    this.#options = options;
  }

  start(): void {
    const { timers, everyMs } = this.#options;
    this.#cancel = timers.after(everyMs, () => void this.#round());
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  async #round(): Promise<void> {
    try {
      if (this.#options.isLeader()) await this.#prune();
      else this.entries = undefined;
      this.fault = undefined;
    } catch (error) {
      this.fault = messageOf(error);
    }
    if (!this.#isStopped) this.start();
  }

  async #prune(): Promise<void> {
    const { log, stored, isLeader, onRound } = this.#options;
    const { first, last } = await log.bounds();
    this.entries = last - first + 1;
    onRound?.(last);
    const below = await this.#newFirst(stored(), first, last);
    // The process may have stood still meanwhile, and the log may be another one.
    if (below <= first || !isLeader()) return;
    await log.prune(below);
    this.entries = last - below + 1;
  }

  async #newFirst(
    stored: ReadonlyMap<string, number>,
    first: number,
    last: number,
  ): Promise<number> {
    const { replayedBy } = this.#options;
    // A core that has more than the log: the brokers lost its end, and give its numbers out again.
    if (stored.size === 0 || Math.max(...stored.values()) > last) return first;
    const all = Math.min(...stored.values()) + (replayedBy === undefined ? 1 : 0);
    const wanted = Math.max(first, all);
    const own = replayedBy === undefined ? Infinity : (stored.get(replayedBy) ?? 0);
    return Math.min(await this.#firstRecent(wanted, last), Math.max(wanted, own));
  }

  /** @returns the first entry from `from` on that is younger than 7 days; `last + 1` if all are older */
  async #firstRecent(from: number, last: number): Promise<number> {
    const { log, clock } = this.#options;
    const sinceMs = clock.now() - keptMs;
    const isOld = async (seq: number): Promise<boolean> =>
      ((await log.timeOf(seq)) ?? Infinity) < sinceMs;
    if (from > last || !(await isOld(from))) return from;
    let old = from;
    let recent = last + 1;
    while (recent - old > 1) {
      const middle = Math.floor((old + recent) / 2);
      if (await isOld(middle)) old = middle;
      else recent = middle;
    }
    return recent;
  }
}
