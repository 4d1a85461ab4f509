/**
 * A range of days as it is read: the whole UTC days in it, the whole months of these, and what is left of a UTC day at either
 * end, which is nothing where the range is of UTC days.
 *
 *      from |--edge--| whole days … |== whole months ==| … whole days |--edge--| end
 */
import { dayMs } from '../../model/day.ts';
import { Failure } from '../../model/failure.ts';
import { type LocalRange, type Stretch, stretchOf } from '../../model/zones/local-range.ts';
import { dayStoredMax } from '../../store/scans/scans.ts';
import type { Timed } from '../days/stored-piece.ts';
import { firstDayOf, monthOf } from '../summaries.ts';

export interface Spans extends Stretch {
  /** Whole UTC days, the end excluded. */
  readonly fromDay: number;
  readonly endDay: number;
  /** Whole months of these, the end excluded. */
  readonly firstMonth: number;
  readonly endMonth: number;
  /** UTC days of which the range has a part. */
  readonly edgeDays: readonly number[];
}

const storedEndMs = (dayStoredMax + 1) * dayMs;

/** The part of a range that can hold scans: the API takes dates up to the year 9999. */
export const spansOf = (range: LocalRange): Spans => spansOfStretch(stretchOf(range));

export function spansOfStretch(stretch: Stretch): Spans {
  const fromMs = Math.min(Math.max(0, stretch.fromMs), storedEndMs);
  const endMs = Math.max(fromMs, Math.min(stretch.endMs, storedEndMs));
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

/** Times beyond what the store can name count at its edge, as their day does. */
export function isWithin(timeMs: number, { fromMs, endMs }: Stretch): boolean {
  const storedMs = Math.min(Math.max(0, timeMs), storedEndMs - 1);
  return storedMs >= fromMs && storedMs < endMs;
}

export type Overlap = 'inside' | 'outside' | 'partly';

export function overlapOf(part: Stretch, whole: Stretch): Overlap {
  if (part.fromMs >= whole.fromMs && part.endMs <= whole.endMs) return 'inside';
  return part.endMs <= whole.fromMs || part.fromMs >= whole.endMs ? 'outside' : 'partly';
}

/** Scans of a piece in a part of it; undefined where only the hour of some is known, and the part begins or ends within it. */
export function scansWithin(piece: Timed, stretch: Stretch): number | undefined {
  let scans: number | undefined = 0;
  piece.eachTime((fromMs, endMs, count) => {
    const overlap = overlapOf({ fromMs, endMs }, stretch);
    if (overlap === 'partly') scans = undefined;
    else if (overlap === 'inside' && scans !== undefined) scans += count;
  });
  return scans;
}

/** What a piece has in a stretch. @throws Failure validation_failed */
export function clip(piece: Timed, stretch: Stretch): Timed {
  const scans = scansWithin(piece, stretch);
  if (scans === undefined) throw hoursAlone();
  return {
    fromMs: Math.max(piece.fromMs, stretch.fromMs),
    endMs: Math.min(piece.endMs, stretch.endMs),
    scans,
    eachTime: (visit) =>
      piece.eachTime((fromMs, endMs, count) => {
        if (overlapOf({ fromMs, endMs }, stretch) === 'inside') visit(fromMs, endMs, count);
      }),
  };
}

export function hoursAlone(): Failure {
  return unavailable(
    'Scans of this range were counted by whole hours of UTC, before quarters of an hour were kept; ' +
      'ask for timezone=UTC, or for a zone that is whole hours away from it',
  );
}

export function unavailable(message: string): Failure {
  return new Failure('validation_failed', 'The numbers are not known in this time zone', {
    faults: [{ path: 'timezone', code: 'timezone_unavailable', message }],
  });
}
