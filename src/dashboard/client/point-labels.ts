/**
 * Points of a series as text. A point has its start in the workspace's zone, `2026-11-01T00:00:00-04:00`, which is
 * shown unchanged in every browser.
 */
export type Interval = 'quarter_hour' | 'hour' | 'day' | 'week' | 'month';

export interface Point {
  readonly start: string;
  readonly scans: number;
}

const format = (options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat(undefined, { ...options, timeZone: 'UTC' });
const times = { hour: '2-digit', minute: '2-digit' } as const;
const day = { day: 'numeric', month: 'short' } as const;
const moments = format({ ...day, ...times, year: 'numeric' });
const days = format({ ...day, year: 'numeric', weekday: 'short' });
const weeks = format({ ...day, year: 'numeric' });
const months = format({ month: 'long', year: 'numeric' });
const shortDays = format(day);
const shortTimes = format(times);
const shortMonths = format({ month: 'short' });
const years = format({ year: 'numeric' });

/** `2026-11-01T00:00:00`: the length of a start without its offset. */
const wallLength = 19;

/** Time of a start: `01:45`. */
export const timeOf = (start: string): string =>
  shortTimes.format(new Date(`${start.slice(0, wallLength)}Z`));

const isClock = (interval: Interval): boolean => interval === 'hour' || interval === 'quarter_hour';

const wallOf = ({ start }: Point): Date => new Date(`${start.slice(0, wallLength)}Z`);
const offsetOf = ({ start }: Point): string => start.slice(wallLength);

/**
 * Index of the running point; later points are in the future. Undefined: all are over; -1: all are in the future.
 * @param isOver whether the last day is
 */
export const runningIn = (
  points: readonly Point[],
  nowMs: number,
  isOver: boolean,
): number | undefined =>
  isOver ? undefined : points.findLastIndex(({ start }) => Date.parse(start) <= nowMs);

/**
 * Label of each point. Hours have their offset on days when the clock changes, because one hour comes twice. @param
 * running index of the running point
 */
export function labelsOf(points: readonly Point[], interval: Interval, running?: number): string[] {
  const hasOffsets = isClock(interval) && new Set(points.map(offsetOf)).size > 1;
  return points.map((point, at) => {
    const offset = hasOffsets ? ` (UTC${offsetOf(point).replace('Z', '+00:00')})` : '';
    const soFar = at === running ? ', so far' : '';
    return `${labelOf(wallOf(point), interval)}${offset}${soFar}`;
  });
}

function labelOf(wall: Date, interval: Interval): string {
  if (isClock(interval)) return moments.format(wall);
  if (interval === 'day') return days.format(wall);
  return interval === 'week' ? `Week from ${weeks.format(wall)}` : months.format(wall);
}

/** Short, below an axis: the time of an hour, but the day of midnight; the year of January. */
export function tickOf(point: Point, interval: Interval): string {
  const wall = wallOf(point);
  if (isClock(interval) && minuteOf(point) !== 0) return shortTimes.format(wall);
  if (interval !== 'month') return shortDays.format(wall);
  return (wall.getUTCMonth() === 0 ? years : shortMonths).format(wall);
}

const minuteOf = (point: Point): number => {
  const wall = wallOf(point);
  return wall.getUTCHours() * 60 + wall.getUTCMinutes();
};

/** Minutes between two ticks; after the last, whole days. */
const minuteSteps = [15, 30, 60, 120, 180, 360, 720, 1_440];

/** Indexes of the points with a tick, at most this many. */
export function ticksOf(points: readonly Point[], interval: Interval, most: number): number[] {
  const all = points.map((_, index) => index);
  if (!isClock(interval)) return thin(all, most);
  const minutes = points.map(minuteOf);
  let found = all;
  for (const step of minuteSteps) {
    found = all.filter((index) => (minutes[index] ?? 0) % step === 0);
    if (found.length <= most) break;
  }
  return thin(found, most);
}

function thin(places: readonly number[], most: number): number[] {
  const step = Math.max(1, Math.ceil(places.length / Math.max(1, most)));
  return places.filter((_, index) => index % step === 0);
}
