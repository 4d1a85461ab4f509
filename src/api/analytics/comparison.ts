/**
 * The period that a range is compared with. Scanners of a part of a day are counted from raw scans; if these have expired,
 * both periods end with the day before.
 */
import { z } from 'zod';
import { type DayRange, parseDay } from '../../model/day.ts';
import { invalid } from '../../model/failure.ts';
import { formatLocal } from '../../model/zones/calendar.ts';
import { type ComparedDays, shifts } from '../../model/zones/comparison.ts';
import { calendarOfRange, type LocalRange, splitAt } from '../../model/zones/local-range.ts';

const periodPattern = /^(\d{4}-\d{2}-\d{2})\.\.(\d{4}-\d{2}-\d{2})$/;

type Named = keyof typeof shifts;
const isNamed = (text: string): text is Named => Object.hasOwn(shifts, text);

export const compare = z
  .string()
  .transform((text, context): DayRange | Named => {
    if (isNamed(text)) return text;
    const [, from = '', to = ''] = periodPattern.exec(text) ?? [];
    const [fromDay, toDay] = [parseDay(from), parseDay(to)];
    if (fromDay !== undefined && toDay !== undefined && fromDay <= toDay) return { fromDay, toDay };
    const names = Object.keys(shifts).join(', ');
    context.addIssue({
      code: 'custom',
      message: `Expected ${names}, or days as 2026-02-01..2026-02-28`,
    });
    return z.NEVER;
  })
  .optional()
  .meta({
    override: { type: 'string' },
    description:
      'A second period: `previous` = as many days directly before, `previous_weekdays` = moved back by whole ' +
      'weeks, `last_month_days`, `last_year` = the same days then, or as many days, such as ' +
      '`2026-02-01..2026-02-28`',
    example: 'previous',
    param: { id: 'Compare' },
  });
export type Compare = z.output<typeof compare>;

/** @throws Failure validation_failed for days that are not as many as those of the range */
export function comparedDays(
  asked: Compare,
  { fromDay, toDay }: DayRange,
): ComparedDays | undefined {
  if (asked === undefined) return undefined;
  // A range without days, as of a future campaign, is compared as one day.
  const days = Math.max(1, toDay - fromDay + 1);
  if (typeof asked === 'string') {
    const dayFor = (day: number): number => shifts[asked](day, days);
    return { fromDay: dayFor(fromDay), toDay: dayFor(fromDay + days - 1), dayFor };
  }
  const found = asked.toDay - asked.fromDay + 1;
  if (found === days) return { ...asked, dayFor: (day) => day - fromDay + asked.fromDay };
  throw invalid(
    'compare',
    'compare_length',
    `Expected ${days} days as in the range, found ${found}`,
  );
}

export const cutAt = <Of extends { readonly range: LocalRange; readonly shown?: LocalRange }>(
  scope: Of,
  endMs: number,
): Of => ({
  ...scope,
  range: splitAt(scope.range, endMs)[0],
  ...(scope.shown === undefined ? {} : { shown: splitAt(scope.shown, endMs)[0] }),
});

export const formatUntil = (range: LocalRange, timeMs: number) => ({
  until: formatLocal(calendarOfRange(range), timeMs),
});
