/** The clocks of time zones in the link table: right at every minute, whenever they are looked at anew. */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { Arena } from '../../../src/engine/links/arena.ts';
import { wordOf } from '../../../src/engine/links/finder.ts';
import { localMinutesOf, ZoneCells } from '../../../src/engine/links/zone-cells.ts';
import { localTime } from '../counting/plain-model.ts';
import { routedLink } from './routed.ts';
import { openTable } from './table.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const yearMs = 365 * 24 * hourMs;

/** Minutes that the clocks show, in another way than src/model/zones/zone-offsets.ts has them. */
function shownMinutes(zone: string, ms: number): number {
  const { date, hour, minute } = localTime(zone, ms);
  return Date.parse(`${date}T${hour}:${minute}Z`) / minuteMs;
}

class Zones {
  nowMs: number;
  readonly arena = new Arena(openTable({ arenaBytesMax: 2 ** 20 }).memory.arena);
  readonly cells = new ZoneCells(this.arena, () => this.nowMs);

  constructor(nowMs: number) {
    this.nowMs = nowMs;
  }

  /** Whether a reader has the right time, told apart by minutes; empty where it has. */
  fault(zone: string, cell: number): string {
    const read = localMinutesOf(this.arena.chunkOf(cell), wordOf(cell), this.nowMs);
    const right = shownMinutes(zone, this.nowMs);
    return read === right ? '' : `${zone} ${new Date(this.nowMs).toISOString()}: ${read - right}`;
  }
}

function lookedAtADayAgo(zone: string, nowMs: number): [zones: Zones, cell: number] {
  const zones = new Zones(nowMs - 25 * hourMs);
  const cell = zones.cells.cellOf(zone);
  zones.nowMs = nowMs;
  return [zones, cell];
}

/** Around a change of each: by an hour, by half of one, over the date line, and of a zone that has none. */
const changes = [
  ['America/New_York', '2026-03-08T07:00:00Z'],
  ['America/New_York', '2026-11-01T06:00:00Z'],
  ['Australia/Lord_Howe', '2026-04-04T15:00:00Z'],
  ['Australia/Lord_Howe', '2026-10-03T15:30:00Z'],
  ['Pacific/Apia', '2011-12-30T10:00:00Z'],
  ['Asia/Kathmandu', '2026-03-08T07:00:00Z'],
  ['Africa/Casablanca', '2026-02-15T02:00:00Z'],
] as const;

describe('the clock of a zone', () => {
  test.each(changes)(
    '%s around %s is right at every minute, however late it is looked at',
    (zone, at) => {
      const change = Date.parse(at);
      for (const everyMinutes of [1, 37, 24 * 60 - 1]) {
        const zones = new Zones(change - 75 * hourMs - everyMinutes * minuteMs);
        const cell = zones.cells.cellOf(zone);
        const faults: string[] = [];
        for (let minute = 0; zones.nowMs < change + 50 * hourMs; minute++) {
          if (minute % everyMinutes === 0) zones.cells.renew();
          faults.push(zones.fault(zone, cell));
          zones.nowMs += minuteMs;
        }
        expect(faults.filter((fault) => fault !== '')).toEqual([]);
      }
    },
  );

  test('is right between the stores of a renewal, too', () => {
    const store = Atomics.store.bind(Atomics);
    onTestFinished(() => void vi.restoreAllMocks());
    for (const [zone, at] of changes) {
      for (const hours of [-49, -47, -25, -1, 0, 1, 23]) {
        const [zones, cell] = lookedAtADayAgo(zone, Date.parse(at) + hours * hourMs);
        const faults: string[] = [];
        let stores = 0;
        vi.spyOn(Atomics, 'store').mockImplementation((words, index, value) => {
          faults.push(zones.fault(zone, cell));
          const stored = store(words, index, value);
          faults.push(zones.fault(zone, cell));
          stores += 1;
          return stored;
        });
        zones.cells.renew();
        vi.restoreAllMocks();
        expect([stores, faults.filter((fault) => fault !== '')]).toEqual([3, []]);
      }
    }
  });

  test('is right when it is renewed while somebody reads it', () => {
    for (const [zone, at] of changes) {
      for (const hours of [-47, -25, -1, 1]) {
        for (const readsBefore of [0, 1, 2]) {
          const [zones, cell] = lookedAtADayAgo(zone, Date.parse(at) + hours * hourMs);
          let reads = 0;
          const words = new Proxy(zones.arena.chunkOf(cell), {
            get(target, name): unknown {
              if (reads++ === readsBefore) zones.cells.renew();
              return Reflect.get(target, name);
            },
          });
          const read = localMinutesOf(words, wordOf(cell), zones.nowMs);
          expect(read).toBe(shownMinutes(zone, zones.nowMs));
        }
      }
    }
  });

  test.each([-yearMs / 2, -hourMs, yearMs / 2])(
    'is right after the next look when the wall clock steps by %i ms',
    (stepMs) => {
      const zones = new Zones(Date.parse('2026-07-01T00:00:00Z'));
      const cell = zones.cells.cellOf('Europe/Berlin');
      zones.cells.renew();
      zones.nowMs += stepMs;
      zones.cells.renew();
      expect(zones.fault('Europe/Berlin', cell)).toBe('');
    },
  );

  test('of all zones there are is right within fifty looks', () => {
    const zones = new Zones(Date.parse('2026-07-01T00:00:00Z'));
    const cells = Intl.supportedValuesOf('timeZone').map(
      (zone) => [zone, zones.cells.cellOf(zone)] as const,
    );
    expect(new Set(cells.map(([, cell]) => cell)).size).toBe(cells.length);
    zones.nowMs = Date.parse('2026-12-20T00:00:00Z');
    for (let renewals = 0; renewals < 50; renewals++) zones.cells.renew();
    expect(cells.map(([zone, cell]) => zones.fault(zone, cell)).join('')).toBe('');
  });
});

describe('names of zones', () => {
  test('are told apart without case: writing one in thousands of ways takes one cell', () => {
    const zones = new Zones(0);
    const cell = zones.cells.cellOf('Europe/Berlin');
    const free = zones.arena.freeBytes;
    for (const name of ['EUROPE/BERLIN', 'europe/berlin', 'eUROPE/bERLIN']) {
      expect(zones.cells.cellOf(name)).toBe(cell);
    }
    expect(zones.arena.freeBytes).toBe(free);
  });

  test('that are not known here take no memory, and leave the link as it should be', () => {
    const { writer, reader } = openTable();
    const time = { timezone: 'Mars/Olympus_Mons' };
    const rules = [{ label: 'mars', if: { time }, then: { target: 'https://example.com/mars' } }];
    writer.put(routedLink('ZONED', { rules }));
    const used = writer.bytesUsed - writer.bytesFree;
    writer.put(routedLink('ZONED', { rules }));
    writer.free();
    expect(writer.bytesUsed - writer.bytesFree).toBe(used);
    expect(reader.program(reader.find('ZONED', 0))).toBeDefined();
    expect(reader.localMinutes(0, Date.now())).toBeNaN();
  });
});
