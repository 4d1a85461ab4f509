/** The days before a range, and numbers that may not be known. */
import { Failure } from '../../model/failure.ts';
import type { Sketch } from '../../model/sketch/sketch.ts';
import type { LocalRange } from '../../model/zones/local-range.ts';
import type { Rollup } from '../rollup.ts';

/** Scanners who were seen in so many days before a range return in it. */
const seenBeforeDays = 90;

export interface Counted {
  readonly rollup: Rollup;
  readonly sketch: Sketch;
}

export const seenBefore = (range: LocalRange): LocalRange => ({
  ...range,
  fromDay: range.fromDay - seenBeforeDays,
  toDay: range.fromDay - 1,
});

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
