/**
 * Timers of watches that are not where they should be: too far ahead, or of a record that cannot be read.
 *
 * A clock that is set back leaves timers far ahead: they are moved to now. One of a damaged watch, or of damaged findings,
 * would stay first in its table, and enough of them would keep all behind them from being looked at: they are moved an
 * hour ahead, again and again until the record is put right, and each is logged once.
 */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../model/clock.ts';
import { dayMs, hourMs } from '../model/day.ts';
import type { WatchRecord } from '../model/watches/watch.ts';
import type { Management } from '../store/management/management.ts';
import type { Logger } from '../telemetry/log.ts';
import { putFindings, withDue } from './findings.ts';

/** Timers that are beyond these were set by a clock that ran ahead. */
const scansDueMsMax = 2 * hourMs;
const targetDueMsMax = dayMs + hourMs;
const movedMax = 500;
const damagedEveryMs = hourMs;
/** Watches of which is remembered that it was logged. */
const loggedMax = 10_000;

/** [dueMs, "wch_…"] */
export type TimerKey = [dueMs: number, watchId: string];
export type TimerTable = 'scansDue' | 'targetDue';

export interface TimersOptions {
  readonly store: Management;
  readonly clock: Clock;
  readonly log: Logger;
}

export class Timers {
  readonly #options: TimersOptions;
  // With `max` the library allocates for that many at once.
  readonly #logged = new LRUCache<string, true>({ maxSize: loggedMax, sizeCalculation: () => 1 });

  constructor(options: TimersOptions) {
    this.#options = options;
  }

  /** The watch of a timer; undefined where it, or what was found of it, cannot be read. */
  watchOf(id: string): WatchRecord | undefined {
    const { watches, findings } = this.#options.store.watches;
    const watch = watches.get(id, () => undefined);
    return findings.get(id, () => undefined) === undefined ? undefined : watch;
  }

  /** Timers of records that cannot be read. @throws Failure storage_full, not_active */
  async moveUnreadable(name: TimerTable, keys: readonly TimerKey[]): Promise<void> {
    if (keys.length === 0) return;
    const { store, clock, log } = this.#options;
    const { environment, watches: tables } = store;
    const laterMs = clock.now() + damagedEveryMs;
    await environment.transaction(() => {
      for (const [dueMs, id] of keys) {
        if (!tables[name].has([dueMs, id]) || this.watchOf(id) !== undefined) continue;
        tables[name].remove([dueMs, id]);
        const before = tables.findings.get(id, () => undefined);
        const { scansDueMs, targetDueMs } = before ?? {};
        const due = { scansDueMs, targetDueMs, [`${name}Ms`]: laterMs };
        if (before === undefined) tables[name].put([laterMs, id], 1);
        else putFindings(tables, id, before, withDue(before, due));
      }
    });
    for (const [, id] of keys) {
      if (this.#logged.has(id)) continue;
      this.#logged.set(id, true);
      log.error({ watch: id }, 'a watch cannot be read: it is not looked at');
    }
  }

  /** @throws Failure storage_full, not_active */
  async moveFar(): Promise<void> {
    const { store, clock } = this.#options;
    const { environment, watches: tables } = store;
    const nowMs = clock.now();
    const far = [
      ...farKeys(tables.scansDue, nowMs + scansDueMsMax),
      ...farKeys(tables.targetDue, nowMs + targetDueMsMax),
    ];
    if (far.length === 0) return;
    await environment.transaction(() => {
      for (const id of new Set(far)) {
        const before = tables.findings.get(id, () => undefined);
        if (before === undefined) continue;
        const { scansDueMs, targetDueMs } = before;
        const nearer = (dueMs: number | undefined): number | undefined =>
          dueMs === undefined ? undefined : Math.min(dueMs, nowMs);
        const due = { scansDueMs: nearer(scansDueMs), targetDueMs: nearer(targetDueMs) };
        putFindings(tables, id, before, withDue(before, due));
      }
    });
  }
}

function farKeys(
  table: { keys(range: { start: [number, string]; limit: number }): Iterable<[number, string]> },
  fromMs: number,
): string[] {
  return Array.from(table.keys({ start: [fromMs, ''], limit: movedMax }), ([, id]) => id);
}
