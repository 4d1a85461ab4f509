/** Spans of time that say nothing about how much is scanned: the service was down, a code was paused. */
import { hourMs } from '../model/day.ts';
import type { Gap } from '../model/watches/watch.ts';

/** Hours are compared with those of so many weeks before. */
export const historyMs = 8 * 7 * 24 * hourMs;

/** Adds a span, and leaves out those before the history; beyond `gapsMax` the two oldest become one, with what is between. */
export function withGap(gaps: readonly Gap[], gap: Gap, nowMs: number, gapsMax: number): Gap[] {
  const kept = [...gaps, gap].filter(([fromMs, toMs]) => toMs > nowMs - historyMs && fromMs < toMs);
  const [first, second, ...rest] = kept;
  if (kept.length <= gapsMax || first === undefined || second === undefined) return kept;
  return [[first[0], second[1]], ...rest];
}

/** Whether an hour has a part of a gap in it. @param hour since the epoch */
export const isInGap = (gaps: readonly Gap[], hour: number): boolean =>
  gaps.some(([fromMs, toMs]) => fromMs < (hour + 1) * hourMs && toMs > hour * hourMs);
