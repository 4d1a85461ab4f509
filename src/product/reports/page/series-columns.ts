/** The days of a series as columns: each day, or weeks or months of them where there would be too many. */
import { dayMs } from '../../../model/day.ts';
import { dayText, monthText, rangeText, shortDayText, weekdayText } from '../labels.ts';
import type { DayScans } from '../report-numbers.ts';
import type { Column } from './drawings.ts';

/** More would be thinner than two pixels on a phone. */
const columnsMax = 92;
const daysPerWeek = 7;
/** 1970-01-01 was a Thursday: days from the Monday before it. */
const daysSinceMonday = 3;

export type Step = 'day' | 'week' | 'month';

/** @param today the last day, while it is not over */
export function seriesColumns(
  series: readonly DayScans[],
  today?: number,
): {
  readonly step: Step;
  readonly columns: readonly Column[];
} {
  const step = stepFor(series.length);
  if (step === 'day') {
    const columns = series.map(({ day, scans }) => {
      const label = `${weekdayText(day)} ${dayText(day).slice(-4)}`;
      return { ...named(label, day === today), short: shortDayText(day), scans };
    });
    return { step, columns };
  }
  const groups = Map.groupBy(series, ({ day }) => (step === 'week' ? weekOf(day) : monthOf(day)));
  return { step, columns: Array.from(groups.values(), (days) => columnOf(days, step, today)) };
}

const stepFor = (days: number): Step =>
  days <= columnsMax ? 'day' : days <= (columnsMax - 1) * daysPerWeek ? 'week' : 'month';

const weekOf = (day: number): number => Math.floor((day + daysSinceMonday) / daysPerWeek);
function monthOf(day: number): number {
  const date = new Date(day * dayMs);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** The first and the last may be cut. */
function columnOf(
  days: readonly DayScans[],
  step: Exclude<Step, 'day'>,
  today: number | undefined,
): Column {
  const fromDay = days[0]?.day ?? 0;
  const toDay = days.at(-1)?.day ?? fromDay;
  const scans = days.reduce((sum, { scans: count }) => sum + count, 0);
  const label = step === 'month' ? monthText(fromDay) : rangeText({ fromDay, toDay });
  const short = step === 'month' ? label : shortDayText(fromDay);
  return { ...named(label, toDay === today), short, scans };
}

const named = (label: string, isSoFar: boolean): Pick<Column, 'label' | 'isSoFar'> => ({
  label: isSoFar ? `${label} (so far)` : label,
  isSoFar,
});
