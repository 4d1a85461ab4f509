/** Flags of a series: events of a code or a campaign, each at its point in time. */
import type { Point } from '../../client/point-labels.ts';
import type { ServiceEvent } from '../../client/wire.ts';
import { dayIn } from './days.ts';

export interface Moment {
  readonly atMs: number;
  readonly text: string;
}

/** The newest changes of the workspace's codes, one page; older changes have no flag. */
export const changesPath = '/events?type=qr.updated&limit=100';

/** The moments when a code's destination changed, and when it was paused or resumed. */
export function momentsOfCode(id: string, changes: readonly ServiceEvent[]): Moment[] {
  return changes.flatMap(({ createdAt = '', data }) => {
    if (data.id !== id || typeof data.after !== 'object' || data.after === null) return [];
    const texts = 'target' in data.after ? ['Destination changed'] : [];
    if ('paused' in data.after) texts.push(data.after.paused === true ? 'Paused' : 'Resumed');
    return texts.map((text) => ({ atMs: Date.parse(createdAt), text }));
  });
}

interface Schedule {
  readonly startDate: string;
  readonly endDate: string | null;
}

/** A campaign has UTC days: from the start of the first to the end of the last. Without future moments. */
export function momentsOfCampaign(
  { startDate, endDate }: Schedule,
  name: string,
  nowMs: number,
): Moment[] {
  const moments = [
    { atMs: Date.parse(startDate), text: `${name} began` },
    { atMs: Date.parse(`${endDate ?? ''}T23:59:59.999Z`), text: `${name} ended` },
  ];
  return moments.filter(({ atMs }) => atMs <= nowMs);
}

/**
 * The text at each point, by its index. Several moments at one point are one flag.
 * @param to the last day shown, in `zone`
 */
export function flagsOn(
  points: readonly Point[],
  moments: readonly Moment[],
  zone: string,
  to: string,
): ReadonlyMap<number, string> {
  const starts = points.map(({ start }) => Date.parse(start));
  const flags = new Map<number, Set<string>>();
  for (const { atMs, text } of moments.toSorted((one, other) => one.atMs - other.atMs)) {
    const index = starts.findLastIndex((startMs) => startMs <= atMs);
    if (index < 0 || dayIn(zone, atMs) > to) continue;
    flags.set(index, (flags.get(index) ?? new Set()).add(text));
  }
  return new Map([...flags].map(([index, texts]) => [index, [...texts].join(', ')]));
}
