/**
 * The days before a range, of which two things may be asked: who was seen in the last 90 of them, and the numbers of a period. Both
 * end where the range begins, so what they share is read once: from the beginning of a month on, so that no month is read in days.
 *
 *      period ----------- earlier --------+-- shared --+
 *                 seen ------ earlier ----+-- shared --+-- range
 */
import { dayMs } from '../../model/day.ts';
import { Failure } from '../../model/failure.ts';
import type { Sketch } from '../../model/sketch/sketch.ts';
import { type LocalRange, splitAt } from '../../model/zones/local-range.ts';
import type { Rollup } from '../rollup.ts';
import { firstDayOf } from '../summaries.ts';
import { spansOf } from './spans.ts';

/** Scanners who were seen in so many days before a range return in it. */
const seenBeforeDays = 90;

export interface Counted {
  readonly rollup: Rollup;
  readonly sketch: Sketch;
}

/** Undefined where its days are not known. */
type MaybeCounted = Counted | undefined;

export const seenBefore = (range: LocalRange): LocalRange => ({
  ...range,
  fromDay: range.fromDay - seenBeforeDays,
  toDay: range.fromDay - 1,
});

/** As many days right before a range. */
export const periodBefore = (range: LocalRange): LocalRange => ({
  ...range,
  fromDay: 2 * range.fromDay - range.toDay - 1,
  toDay: range.fromDay - 1,
});

/** @param period ends where `seen` does */
export async function countBoth(
  seen: LocalRange,
  period: LocalRange,
  count: (range: LocalRange) => Promise<Counted>,
): Promise<[seen: MaybeCounted, period: MaybeCounted]> {
  const month = Math.max(spansOf(seen).firstMonth, spansOf(period).firstMonth);
  const splitMs = firstDayOf(month) * dayMs;
  const shared = await undefinedWhereUnknown(count(splitAt(seen, splitMs)[1]));
  const countWhole = async (range: LocalRange): Promise<MaybeCounted> => {
    if (shared === undefined) return undefined;
    const [earlier] = splitAt(range, splitMs);
    const counted = await undefinedWhereUnknown(count(earlier));
    counted?.rollup.merge(shared.rollup);
    counted?.sketch.merge(shared.sketch);
    return counted;
  };
  return [await countWhole(seen), await countWhole(period)];
}

/** Raw scans may have expired, and days may have been cut in another zone. */
export async function undefinedWhereUnknown<Answer>(
  answer: Promise<Answer>,
): Promise<Answer | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Failure && error.code === 'validation_failed') return undefined;
    throw error;
  }
}
