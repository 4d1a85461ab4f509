/**
 * Records when the service was counting, so that an outage does not look like a silence.
 *
 * While a watch exists and the health checks of redirects, journals and shards pass, this stores the time once a minute. If
 * the stored time is older than three minutes, the time between becomes a gap; hours that overlap a gap are ignored. A
 * restart, an upgrade or a change of leader within three minutes leaves no gap.
 *
 *   stored   12:00 12:01 12:02            14:30 14:31
 *                          |<--- gap --->|
 *
 * - Hours before the first record count for averages, never as silence.
 * - A clock that is set forward leaves a gap. A clock that is set back restarts the record at the new time.
 * - Only hours before `countedToMs` are read: every scan before it is counted, by the mark that campaigns wait for too. In a
 *   cluster that waits for disconnected nodes. It is in memory, and known a second after a start.
 */
import type { Clock } from '../../model/clock.ts';
import type { Gap, RunningRecord } from '../../model/watches/watch.ts';
import type { Management } from '../../store/management/management.ts';
import { hourMs } from '../../model/day.ts';
import { isInGap, withGap } from './hour-history.ts';

const storeEveryMs = 60_000;
/** Longer than a restart or a change of leader takes, and short for an hour. */
const gapMs = 180_000;
/** A service that fails every ten minutes for a day and a half; beyond it the oldest are united. */
const gapsMax = 200;
/** A redirect thread puts a scan into its journal this long after it has timed it, at the very most. */
const settleMs = 2_000;
const key = 'service';

export interface CountingMarks {
  /** What the journals hold at `atMs`, which has passed. */
  mark(atMs: number): { isPast(): boolean };
}

export interface RunningOptions {
  readonly store: Management;
  readonly clock: Clock;
  readonly counting: CountingMarks;
  /** Whether scans are answered and counted now. */
  readonly isWell: () => boolean;
}

export class Running {
  readonly #options: RunningOptions;
  #mark: { readonly atMs: number; readonly isPast: () => boolean } | undefined;
  #countedToMs: number | undefined;

  constructor(options: RunningOptions) {
    this.#options = options;
  }

  /** Scans before it are counted; undefined = not known yet. */
  get countedToMs(): number | undefined {
    return this.#countedToMs;
  }

  /** Whether anything is known of the service. */
  get record(): RunningRecord | undefined {
    return this.#options.store.watches.running.get(key, () => undefined);
  }

  /** Called every few seconds. @param isWatching whether there is a watch @throws Failure storage_full */
  async tick(isWatching: boolean): Promise<void> {
    const { store, clock, isWell } = this.#options;
    const { environment, watches } = store;
    if (!isWatching) {
      this.#mark = undefined;
      this.#countedToMs = undefined;
      if (watches.running.has(key))
        await environment.transaction(() => watches.running.remove(key));
      return;
    }
    this.#count();
    const nowMs = clock.now();
    if (!isWell() || nextRecord(this.record, nowMs) === undefined) return;
    await environment.transaction(() => {
      const next = nextRecord(this.record, nowMs);
      if (next !== undefined) watches.running.put(key, next);
    });
  }

  #count(): void {
    const nowMs = this.#options.clock.now();
    if (this.#countedToMs !== undefined && this.#countedToMs > nowMs) this.#countedToMs = undefined;
    if (this.#mark !== undefined && this.#mark.atMs > nowMs) this.#mark = undefined;
    if (this.#mark?.isPast() === true) {
      this.#countedToMs = this.#mark.atMs;
      this.#mark = undefined;
    }
    if (this.#mark !== undefined) return;
    const mark = this.#options.counting.mark(nowMs);
    this.#mark = { atMs: nowMs - settleMs, isPast: () => mark.isPast() };
  }
}

/** Undefined where there is nothing to store. */
export function nextRecord(
  record: RunningRecord | undefined,
  nowMs: number,
): RunningRecord | undefined {
  if (record === undefined) return { sinceMs: nowMs, lastMs: nowMs, gaps: [] };
  const { sinceMs, lastMs, gaps } = record;
  const passedMs = nowMs - lastMs;
  if (passedMs < -gapMs) {
    const past = gaps.flatMap(([fromMs, toMs]): Gap[] =>
      fromMs < nowMs ? [[fromMs, Math.min(toMs, nowMs)]] : [],
    );
    return { sinceMs: Math.min(sinceMs, nowMs), lastMs: nowMs, gaps: past };
  }
  if (passedMs < storeEveryMs) return undefined;
  if (passedMs <= gapMs) return { ...record, lastMs: nowMs };
  return { sinceMs, lastMs: nowMs, gaps: withGap(gaps, [lastMs, nowMs], nowMs, gapsMax) };
}

/** The first hour of which it is known whether the service was running. */
export const observedFrom = ({ sinceMs }: RunningRecord): number => Math.ceil(sinceMs / hourMs);

export const wasDown = ({ gaps }: RunningRecord, hour: number): boolean => isInGap(gaps, hour);
