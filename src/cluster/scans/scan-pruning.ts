/**
 * Removes from the log of scans what every core has, on the core that leads: entries hold addresses of visitors. A core that
 * is away holds it for 7 days; then it is left behind, and misses what is removed.
 */
import { messageOf } from '../../model/failure.ts';
import type { Clock, Timers } from '../../model/clock.ts';
import type { OrderedLog } from '../log/ordered-log.ts';

const pruneMs = 10_000;
const heldDays = 7;
const dayMs = 86_400_000;

export interface TimedLog extends Pick<OrderedLog, 'bounds' | 'prune'> {
  /** When an entry was appended, wall clock; undefined where it is not there. */
  timeOf(seq: number): Promise<number | undefined>;
}

export interface ScanPruningOptions {
  readonly log: TimedLog;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly isLeader: () => boolean;
  /** By registered core, up to which entry it has read the log (Marks). */
  readonly saved: () => ReadonlyMap<string, number>;
  /** These cores lose the entries up to `to`, which are too old. */
  readonly onLeftBehind: (cores: readonly string[], to: number) => void;
}

export class ScanPruning {
  readonly #options: ScanPruningOptions;
  #cancel: () => void = () => undefined;
  #isStopped = false;
  /** Why the last round failed, while it does. */
  fault: string | undefined;

  constructor(options: ScanPruningOptions) {
    this.#options = options;
  }

  start(): void {
    this.#cancel = this.#options.timers.after(pruneMs, () => void this.#round());
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  async #round(): Promise<void> {
    try {
      if (this.#options.isLeader()) await this.#prune();
      this.fault = undefined;
    } catch (error) {
      this.fault = messageOf(error);
    }
    if (!this.#isStopped) this.start();
  }

  async #prune(): Promise<void> {
    const { log, saved, onLeftBehind } = this.#options;
    const { first, last } = await log.bounds();
    const bySeq = saved();
    const seqs = [...bySeq.values()];
    // One that has more than the log: brokers have lost its end, and its numbers are given out again.
    if (seqs.length === 0 || first > last || Math.max(...seqs) > last) return;
    const wanted = Math.max(first, Math.min(...seqs) + 1);
    const below = await this.#firstKept(wanted, last);
    if (below > wanted) {
      const behind = [...bySeq].filter(([, seq]) => seq < below - 1).map(([name]) => name);
      onLeftBehind(behind, below - 1);
    }
    if (below > first) await log.prune(below);
  }

  /** @returns the first entry from `from` on that is not too old; `last + 1` where all are */
  async #firstKept(from: number, last: number): Promise<number> {
    const { log, clock } = this.#options;
    const keptMs = clock.now() - heldDays * dayMs;
    const isOld = async (seq: number): Promise<boolean> =>
      ((await log.timeOf(seq)) ?? Infinity) < keptMs;
    if (from > last || !(await isOld(from))) return from;
    let old = from;
    let kept = last + 1;
    while (kept - old > 1) {
      const middle = Math.floor((old + kept) / 2);
      if (await isOld(middle)) old = middle;
      else kept = middle;
    }
    return kept;
  }
}
