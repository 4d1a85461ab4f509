/**
 * How far the clocks of a time zone are from UTC, and when that changes next; by the rules that come with the runtime. One
 * of another machine of a cluster may be newer, and know more zones.
 * A look takes some 50 µs: never on the path of a redirect.
 */
import { dayMs, minuteMs } from '../day.ts';

/** No zone has changed its clocks for less time than this. */
const stepMs = dayMs;

/** Minutes that a zone's clocks are ahead of UTC. */
export interface ZoneOffset {
  readonly minutes: number;
  /** When they change next, epoch ms; undefined when not before the end that was asked for. */
  readonly changesAtMs: number | undefined;
  /** From then on; as before without a change. */
  readonly minutesAfter: number;
}

/** @param zone an IANA name @param untilMs how far to look for a change @returns undefined for an unknown zone */
export function zoneOffset(zone: string, nowMs: number, untilMs: number): ZoneOffset | undefined {
  const offsetAt = offsetsOf(zone);
  if (offsetAt === undefined) return undefined;
  const minutes = offsetAt(nowMs);
  for (let from = nowMs; from < untilMs; from += stepMs) {
    const to = Math.min(from + stepMs, untilMs);
    const minutesAfter = offsetAt(to);
    if (minutesAfter === minutes) continue;
    return { minutes, changesAtMs: firstMinute(offsetAt, minutes, from, to), minutesAfter };
  }
  return { minutes, changesAtMs: undefined, minutesAfter: minutes };
}

/** Minutes since the epoch, on the clocks of a zone; NaN for an unknown one, in whose windows no time is. */
export function localMinutes(zone: string, nowMs: number): number {
  const offsetAt = offsetsOf(zone);
  return offsetAt === undefined ? Number.NaN : Math.floor(nowMs / minuteMs) + offsetAt(nowMs);
}

/** The first minute between the two, epoch ms, that has another offset than `minutes`. */
export function firstMinute(
  offsetAt: (ms: number) => number,
  minutes: number,
  from: number,
  to: number,
): number {
  let before = Math.floor(from / minuteMs);
  let after = Math.ceil(to / minuteMs);
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (offsetAt(middle * minuteMs) === minutes) before = middle;
    else after = middle;
  }
  return after * minuteMs;
}

/** Minutes ahead of UTC at a time, epoch ms; undefined for an unknown zone. */
export function offsetsOf(zone: string): ((ms: number) => number) | undefined {
  const format = formatOf(zone);
  if (format === undefined) return undefined;
  return (ms) => {
    const parts = format.formatToParts(ms);
    const [month, day, year, hour, minute, second] = parts
      .filter(({ type }) => type !== 'literal')
      .map(({ value }) => Number(value));
    const local = Date.UTC(year!, month! - 1, day, hour, minute, second);
    return Math.round((local - Math.floor(ms / 1_000) * 1_000) / minuteMs);
  };
}

function formatOf(timeZone: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      calendar: 'gregory',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
