/**
 * Splits a range into whole UTC days, the whole months of these, and the partial UTC day at either end (none in UTC).
 *
 *      from |--edge--| whole days … |== whole months ==| … whole days |--edge--| end
 */
import { dayMs } from '../../model/day.ts';
import { Failure } from '../../model/failure.ts';
import { type LocalRange, type TimeRange, timeRangeOf } from '../../model/zones/local-range.ts';
import { dayStoredMax } from '../../store/scans/scans.ts';
import type { Timed } from '../counting/days/stored-piece.ts';
import { firstDayOf, monthOf } from '../counting/summaries.ts';

export interface Spans extends TimeRange {
  /** Whole UTC days, and whole months of these, the ends excluded. */
  readonly fromDay: number;
  readonly endDay: number;
  readonly firstMonth: number;
  readonly endMonth: number;
  /** UTC days that are only partly in the range. */
  readonly edgeDays: readonly number[];
}

const storedEndMs = (dayStoredMax + 1) * dayMs;

/** Clamps to days that can have scans: the API takes dates up to the year 9999. */
export function spansOf(range: LocalRange): Spans {
  const timeRange = timeRangeOf(range);
  const fromMs = Math.min(Math.max(0, timeRange.fromMs), storedEndMs);
  const endMs = Math.max(fromMs, Math.min(timeRange.endMs, storedEndMs));
  const fromDay = Math.ceil(fromMs / dayMs);
  const endDay = Math.max(fromDay, Math.floor(endMs / dayMs));
  const month = monthOf(fromDay);
  const firstMonth = firstDayOf(month) === fromDay ? month : month + 1;
  const edges: number[] = [];
  if (fromMs < endMs) {
    if (fromMs < fromDay * dayMs) edges.push(fromDay - 1);
    if (endMs > endDay * dayMs) edges.push(endDay);
  }
  const endMonth = monthOf(endDay);
  return { fromMs, endMs, fromDay, endDay, firstMonth, endMonth, edgeDays: edges };
}

/** Times outside the days that the store can name count on its first or last day. */
export function isWithin(timeMs: number, { fromMs, endMs }: TimeRange): boolean {
  const storedMs = Math.min(Math.max(0, timeMs), storedEndMs - 1);
  return storedMs >= fromMs && storedMs < endMs;
}

export type Overlap = 'inside' | 'outside' | 'partly';

export function overlapOf(part: TimeRange, whole: TimeRange): Overlap {
  if (part.fromMs >= whole.fromMs && part.endMs <= whole.endMs) return 'inside';
  return part.endMs <= whole.fromMs || part.fromMs >= whole.endMs ? 'outside' : 'partly';
}

/** A piece's scans in the quarters of an hour that begin in a range. */
export function scansWithin(piece: Timed, timeRange: TimeRange): number {
  let scans = 0;
  piece.eachQuarter((fromMs, count) => {
    if (beginsWithin(fromMs, timeRange)) scans += count;
  });
  return scans;
}

export function clip(piece: Timed, timeRange: TimeRange): Timed {
  if (overlapOf(piece, timeRange) === 'inside') return piece;
  return {
    fromMs: Math.max(piece.fromMs, timeRange.fromMs),
    endMs: Math.min(piece.endMs, timeRange.endMs),
    scans: scansWithin(piece, timeRange),
    eachQuarter: (visit) =>
      piece.eachQuarter((fromMs, count) => {
        if (beginsWithin(fromMs, timeRange)) visit(fromMs, count);
      }),
  };
}

const beginsWithin = (fromMs: number, timeRange: TimeRange): boolean =>
  fromMs >= timeRange.fromMs && fromMs < timeRange.endMs;

export function unavailable(message: string): Failure {
  return new Failure('validation_failed', 'No data for this range in this time zone', {
    faults: [{ path: 'timezone', code: 'timezone_unavailable', message }],
  });
}

/** Undefined when raw scans have expired, or days were cut in another zone. */
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
