/**
 * How many hours the clocks of a workspace's zone are ahead of UTC, hour by hour: an hour is compared with the same hour of
 * the week on those clocks. Where they change, a shop opens an hour earlier or later in UTC. Half hours count as the whole hour
 * before.
 */
import { hourMs } from '../model/day.ts';
import { calendarOf, utcCalendar } from '../model/zones/calendar.ts';

const minutesPerHour = 60;

/** @param zone an IANA name; undefined, and one that is unknown here, is UTC @returns of an hour since the epoch */
export function localHoursOf(zone: string | undefined): (hour: number) => number {
  const calendar = calendarOf(zone ?? utcCalendar.zone) ?? utcCalendar;
  return (hour) => Math.floor(calendar.offsetAt(hour * hourMs) / minutesPerHour);
}
