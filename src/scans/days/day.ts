/**
 * A day of one counter, as it is counted: one piece, or up to three, cut at the midnights of its workspace's time zone. Each
 * piece has numbers and scanners of its own, so that a range of local days is a sum of pieces; the UTC day is the sum of all.
 * Where a day is cut is decided when its first scan is counted, and stands in its records: it never changes.
 */
import { dayMs, quarterMs } from '../../model/day.ts';
import { Sketch } from '../../model/sketch/sketch.ts';
import type { Stretch } from '../../model/zones/local-range.ts';
import { Rollup } from '../rollup.ts';

export const quartersPerDay = 96;

/** Quarters of an hour of a UTC day, the end excluded. */
export interface Quarters {
  readonly fromQuarter: number;
  readonly endQuarter: number;
}
export const wholeDay: Quarters = { fromQuarter: 0, endQuarter: quartersPerDay };

export const stretchOfQuarters = (day: number, { fromQuarter, endQuarter }: Quarters): Stretch => ({
  fromMs: day * dayMs + fromQuarter * quarterMs,
  endMs: day * dayMs + endQuarter * quarterMs,
});

/** Which piece of which day. */
export interface Place extends Quarters {
  readonly day: number;
  /** 0 to 2. */
  readonly index: number;
}

export const wholePlace = (day: number): Place & Stretch => ({
  day,
  index: 0,
  ...wholeDay,
  ...stretchOfQuarters(day, wholeDay),
});

export interface Piece extends Place {
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
    const place = { day, index, fromQuarter, endQuarter: cuts[index] ?? quartersPerDay };
    return createPiece(place, new Rollup(namesMax), Sketch.empty());
  });
  return { day, pieces };
}

export const createPiece = (place: Place, rollup: Rollup, sketch: Sketch): Piece => ({
  ...place,
  ...stretchOfQuarters(place.day, place),
  rollup,
  sketch,
});

/** Times beyond what the store can name count on its first and its last day: at its edge. */
export function pieceAt({ pieces }: Day, timeMs: number): Piece {
  let at = 0;
  while (at < pieces.length - 1 && timeMs >= pieces[at]!.endMs) at++;
  return pieces[at]!;
}
