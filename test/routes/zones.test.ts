/** Clocks of time zones: by the minute over their changes, and in the cells that programs read. */
import { describe, expect, it } from 'vitest';
import { Arena } from '../../src/links/arena.ts';
import { wordOf } from '../../src/links/finder.ts';
import { localMinutesOf, ZoneCells } from '../../src/links/zone-cells.ts';
import { localMinutes, zoneOffset } from '../../src/routes/zone-offsets.ts';
import { clockOf } from './naive.ts';

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
    const { minutes, changesAtMs, minutesAfter } = zoneOffset(zone, at - 30 * hourMs, at + hourMs);
    const isChange = zone !== 'Asia/Kathmandu';
    expect(changesAtMs).toBe(isChange ? at : undefined);
    expect(minutes === minutesAfter).toBe(!isChange);
  });

  it('shows the clock on the wall, minute by minute, from a cell that was made a day before', () => {
    let nowMs = at - 26 * hourMs;
    const arena = new Arena(new SharedArrayBuffer(65_536, { maxByteLength: 65_536 }));
    const cells = new ZoneCells(arena, () => nowMs);
    const cell = cells.cellOf(zone);
    const words = arena.chunkOf(cell);
    for (let offset = -90; offset <= 90; offset += 1) {
      const ms = at + offset * minuteMs + 59_999;
      const shown = localMinutesOf(words, wordOf(cell), ms);
      expect([offset, clockAt(shown)]).toEqual([offset, clockOf(zone, ms)[1]]);
      expect(shown).toBe(localMinutes(zone, ms));
    }
    nowMs = at + hourMs;
    cells.renew();
    const later = nowMs + 20 * hourMs;
    expect(localMinutesOf(words, wordOf(cell), later)).toBe(localMinutes(zone, later));
  });
});

it('a zone has one cell, whatever its case, and many are renewed a few at a time', () => {
  const arena = new Arena(new SharedArrayBuffer(65_536, { maxByteLength: 65_536 }));
  let nowMs = Date.UTC(2026, 0, 1);
  const cells = new ZoneCells(arena, () => nowMs);
  expect(cells.cellOf('Europe/Berlin')).toBe(cells.cellOf('EUROPE/berlin'));
  const zones = Intl.supportedValuesOf('timeZone').slice(0, 25);
  const made = zones.map((zone) => cells.cellOf(zone));
  // The clocks of half a year later.
  nowMs = Date.UTC(2026, 6, 1);
  for (let run = 0; run < 3; run += 1) cells.renew();
  for (const [index, zone] of zones.entries()) {
    const cell = made[index]!;
    const shown = localMinutesOf(arena.chunkOf(cell), wordOf(cell), nowMs);
    expect([zone, shown]).toEqual([zone, localMinutes(zone, nowMs)]);
  }
});
