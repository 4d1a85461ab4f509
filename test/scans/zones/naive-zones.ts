/** Local days counted the plain way: what `Intl` shows of each scan's time, without a calendar. */
import type { BreakdownRow } from '../../../src/scans/query/answers.ts';
import type { ScanFact } from '../engine-harness.ts';
import { isPerson } from '../plain-model.ts';

const formats = new Map<string, Intl.DateTimeFormat>();

/** What the clock on the wall shows. */
export function localTime(zone: string, timeMs: number) {
  let format = formats.get(zone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      calendar: 'gregory',
      hourCycle: 'h23',
      weekday: 'short',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
    });
    formats.set(zone, format);
  }
  const parts = new Map(format.formatToParts(timeMs).map(({ type, value }) => [type, value]));
  const part = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? '';
  return {
    date: `${part('year').padStart(4, '0')}-${part('month')}-${part('day')}`,
    hour: part('hour'),
    minute: part('minute'),
    weekday: part('weekday').toLowerCase(),
  };
}

/** Facts on the local days of a range, both included. */
export const onDays = (
  facts: readonly ScanFact[],
  zone: string,
  from: string,
  to: string,
): ScanFact[] =>
  facts.filter(({ timeMs }) => {
    const { date } = localTime(zone, timeMs);
    return date >= from && date <= to;
  });

/** Scans by what the zone's clocks show when a point begins: two hours of one name count together. */
export function byPoint(
  facts: readonly ScanFact[],
  zone: string,
  interval: 'day' | 'quarter_hour',
): Map<string, number> {
  const counts = new Map<string, number>();
  for (const fact of facts.filter(isPerson)) {
    const { date, hour, minute } = localTime(zone, fact.timeMs);
    const quarter = String(Math.floor(Number(minute) / 15) * 15).padStart(2, '0');
    const key = interval === 'day' ? date : `${date}T${hour}:${quarter}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

export function byHourOfWeek(facts: readonly ScanFact[], zone: string): BreakdownRow[] {
  const counts = new Map<string, number>();
  for (const fact of facts.filter(isPerson)) {
    const { weekday, hour } = localTime(zone, fact.timeMs);
    const key = `${weekday}-${hour}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const rows = Array.from(counts, ([key, scans]) => ({ key, scans }));
  return rows.sort((a, b) => (a.key < b.key ? -1 : 1));
}
