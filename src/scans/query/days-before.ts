/**
 * The days before a range, of which two things may be asked: who was seen in the last 90 of them, and the numbers of a period. Both
 * end where the range begins, so what they have in common is read once, from a month's beginning on: none is cut for it.
 *
 *      period ----------------------------+-- common --+
 *                      90 days -----------+-- common --+-- range
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

/** @param one ends where the other does */
export async function countBoth(
  one: LocalRange,
  other: LocalRange,
  count: (range: LocalRange) => Promise<Counted>,
): Promise<[one: MaybeCounted, other: MaybeCounted]> {
  const month = Math.max(spansOf(one).firstMonth, spansOf(other).firstMonth);
  const commonMs = firstDayOf(month) * dayMs;
  const [, end] = splitAt(one, commonMs);
  const common = await whereKnown(count(end));
  const withRest = async (range: LocalRange): Promise<MaybeCounted> => {
    if (common === undefined) return undefined;
    const rest = await whereKnown(count(splitAt(range, commonMs)[0]));
    rest?.rollup.merge(common.rollup);
    rest?.sketch.merge(common.sketch);
    return rest;
  };
  return [await withRest(one), await withRest(other)];
}

/** Raw scans may have expired, and days may have been cut in another zone. */
export async function whereKnown<Answer>(answer: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Failure && error.code === 'validation_failed') return undefined;
    throw error;
  }
}
