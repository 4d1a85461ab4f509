/**
 * Offsets of time zones and their next changes, from the runtime's rules. In a cluster, the runtime of another machine may
 * know more zones. A look-up takes some 50 µs, so it is not part of a redirect.
 */
import { dayMs, minuteMs } from '../day.ts';

const stepMs = dayMs;

export interface ZoneOffset {
  readonly minutes: number;
  /** The next change, epoch ms; undefined = not before `untilMs`. */
  readonly changesAtMs: number | undefined;
  readonly minutesAfter: number;
}

/** @param zone an IANA name @param untilMs end of the search for a change @returns undefined for an unknown zone */
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

/** The first minute, epoch ms, between two times whose offset is not `minutes`. */
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

/** A function of epoch ms to minutes ahead of UTC; undefined for an unknown zone. */
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
