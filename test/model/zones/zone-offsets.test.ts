/** Clocks of time zones by the minute over their changes. What programs read of them: test/links/zone-cells.test.ts. */
import { describe, expect, it } from 'vitest';
import { localMinutes } from '../../../src/model/zones/calendar.ts';
import { zoneOffset } from '../../../src/model/zones/zone-offsets.ts';
import { clockOf } from '../../routes/naive.ts';

const minuteMs = 60_000;
const hourMs = 3_600_000;

/** A change of each kind: an hour, half an hour, none, a whole day that was left out. */
const changes: ReadonlyArray<readonly [zone: string, at: number]> = [
  ['America/New_York', Date.UTC(2026, 2, 8, 7)],
  ['America/New_York', Date.UTC(2026, 10, 1, 6)],
  ['Australia/Lord_Howe', Date.UTC(2026, 3, 4, 15)],
  ['Australia/Lord_Howe', Date.UTC(2026, 9, 3, 15, 30)],
  ['Asia/Kathmandu', Date.UTC(2026, 5, 1)],
  ['Pacific/Apia', Date.UTC(2011, 11, 30, 10)],
  ['Europe/Berlin', Date.UTC(2026, 9, 25, 1)],
];

/** `HH:MM` of minutes since the epoch. */
const clockAt = (minutes: number): string =>
  new Date(minutes * minuteMs).toISOString().slice(11, 16);

describe.each(changes)('%s at %d', (zone, at) => {
  it('changes at its minute', () => {
    const offset = zoneOffset(zone, at - 30 * hourMs, at + hourMs);
    const { minutes, changesAtMs, minutesAfter } = offset!;
    const isChange = zone !== 'Asia/Kathmandu';
    expect(changesAtMs).toBe(isChange ? at : undefined);
    expect(minutes === minutesAfter).toBe(!isChange);
  });

  it('shows the clock on the wall, minute by minute', () => {
    for (let offset = -90; offset <= 90; offset += 1) {
      const ms = at + offset * minuteMs + 59_999;
      expect([offset, clockAt(localMinutes(zone, ms))]).toEqual([offset, clockOf(zone, ms)[1]]);
    }
  });
});

it('a zone that the runtime does not know has no offset, and no time', () => {
  expect(zoneOffset('Mars/Olympus', 0, hourMs)).toBeUndefined();
  expect(localMinutes('Mars/Olympus', 0)).toBeNaN();
});
