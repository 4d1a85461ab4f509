/**
 * A day of one counter: one to three pieces, cut at the midnights of its workspace's time zone. A range of local days is a
 * sum of pieces. The day's first scan fixes the cuts, which its records store.
 */
import { dayMs, quarterMs } from '../../../model/day.ts';
import { Sketch } from '../../../model/sketch/sketch.ts';
import type { TimeRange } from '../../../model/zones/local-range.ts';
import { Rollup } from '../rollup.ts';

export const quartersPerDay = 96;

/** Quarters of an hour of a UTC day, the end excluded. */
export interface Quarters {
  readonly fromQuarter: number;
  readonly endQuarter: number;
}
export const wholeDay: Quarters = { fromQuarter: 0, endQuarter: quartersPerDay };

export const timesOfQuarters = (day: number, { fromQuarter, endQuarter }: Quarters): TimeRange => ({
  fromMs: day * dayMs + fromQuarter * quarterMs,
  endMs: day * dayMs + endQuarter * quarterMs,
});

/** Identifies a piece of a day. */
export interface DayPiece extends Quarters {
  readonly day: number;
  /** 0 to 2. */
  readonly index: number;
}

export const wholeDayPiece = (day: number): DayPiece & TimeRange => ({
  day,
  index: 0,
  ...wholeDay,
  ...timesOfQuarters(day, wholeDay),
});

export interface Piece extends DayPiece {
  /** Epoch ms, the end excluded. */
  readonly fromMs: number;
  readonly endMs: number;
  readonly rollup: Rollup;
  readonly sketch: Sketch;
}

export interface Day {
  readonly day: number;
  /** In order, without gaps. */
  readonly pieces: readonly Piece[];
}

/** @param cuts quarters at which a piece begins, ascending, without 0 */
export function createDay(day: number, cuts: readonly number[], namesMax: number): Day {
  const pieces = [0, ...cuts].map((fromQuarter, index) => {
    const dayPiece = { day, index, fromQuarter, endQuarter: cuts[index] ?? quartersPerDay };
    return createPiece(dayPiece, new Rollup(namesMax), Sketch.empty());
  });
  return { day, pieces };
}

export const createPiece = (dayPiece: DayPiece, rollup: Rollup, sketch: Sketch): Piece => ({
  ...dayPiece,
  ...timesOfQuarters(dayPiece.day, dayPiece),
  rollup,
  sketch,
});

/** Times that no day of the store has count in the piece at the edge. */
export function pieceAt({ pieces }: Day, timeMs: number): Piece {
  let at = 0;
  while (at < pieces.length - 1 && timeMs >= pieces[at]!.endMs) at++;
  return pieces[at]!;
}
