/**
 * Scans by hour of the last eight weeks, for each watch: read completely once, then only the days that can have changed. The
 * most recent 1,000 are in memory, 5 KB each.
 *
 *   whole    57 day records, in pieces of two weeks with a yield between: about 2 ms of a code that is scanned daily
 *   later    today, yesterday, and the days since counting was last known to be complete: 1 to 3 records
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { dayMs, dayOf, hourMs } from '../model/day.ts';
import { calendarOf, utcCalendar } from '../model/zones/calendar.ts';
import type { ScanAnalytics } from '../scans/query/analytics.ts';
import type { HourCounts } from './expectation.ts';
import { historyMs } from './gaps.ts';
import type { SeenSubject } from './subjects.ts';

const minutesPerHour = 60;
const hoursPerDay = 24;
const daysKept = historyMs / dayMs + 1;
const daysPerRead = 14;
const keptMax = 1_000;

interface Kept {
  readonly key: string;
  readonly firstDay: number;
  readonly counts: Uint32Array;
  /** Days before it do not change any more. */
  readonly completeDay: number;
}

export class HourHistory {
  readonly #scans: Pick<ScanAnalytics, 'series'>;
  readonly #kept = new LRUCache<string, Kept>({ max: keptMax });

  constructor(scans: Pick<ScanAnalytics, 'series'>) {
    this.#scans = scans;
  }

  /** @param countedToMs scans before it are counted @throws Failure overloaded */
  async read(
    watchId: string,
    { scans, key }: SeenSubject,
    { nowMs, countedToMs }: { readonly nowMs: number; readonly countedToMs: number },
  ): Promise<HourCounts> {
    const today = dayOf(nowMs);
    const firstDay = today - daysKept + 1;
    const counts = new Uint32Array(daysKept * hoursPerDay);
    const known = this.#kept.get(watchId);
    let from = firstDay;
    if (known !== undefined && known.key === key && known.firstDay <= firstDay) {
      from = Math.max(firstDay, Math.min(known.completeDay, today));
      const shift = (firstDay - known.firstDay) * hoursPerDay;
      counts.set(known.counts.subarray(shift, shift + (from - firstDay) * hoursPerDay));
    }
    for (let day = from; day <= today; day += daysPerRead) {
      const range = { fromDay: day, toDay: Math.min(day + daysPerRead - 1, today) };
      const points = await this.#scans.series(scans, range, 'hour');
      for (const [at, point] of points.entries()) {
        counts[(day - firstDay) * hoursPerDay + at] = point.scans;
      }
      await yieldToEventLoop();
    }
    // A scan may be timed a moment before it is counted: the day before is read again too.
    const completeDay = dayOf(countedToMs) - 1;
    this.#kept.set(watchId, { key, firstDay, counts, completeDay });
    const hoursKnown = Math.floor(nowMs / hourMs) - firstDay * hoursPerDay + 1;
    return { firstHour: firstDay * hoursPerDay, counts: counts.subarray(0, hoursKnown) };
  }

  free(watchId: string): void {
    this.#kept.delete(watchId);
  }
}

/**
 * How many hours the clocks of a zone are ahead of UTC, hour by hour: an hour is compared with the same local hour of the
 * week. Half hours are rounded down.
 * @param zone an IANA name; undefined or unknown = UTC @returns of an hour since the epoch
 */
export function localHoursOf(zone: string | undefined): (hour: number) => number {
  const calendar = calendarOf(zone ?? utcCalendar.zone) ?? utcCalendar;
  return (hour) => Math.floor(calendar.offsetAt(hour * hourMs) / minutesPerHour);
}
