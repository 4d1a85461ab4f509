/** Queries over raw scans against a plain count of the same blocks. */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { dayMs, quarterMs } from '../../../../src/model/day.ts';
import { browserNames, countryNumber, deviceNames, osNames } from '../../../../src/model/scan.ts';
import type { RawQuery } from '../../../../src/engine/analytics/raw/raw-query.ts';
import { packAnswer, unpackAnswer } from '../../../../src/engine/analytics/raw/raw-task.ts';
import { countRaw } from '../../../../src/engine/analytics/raw/raw-walk.ts';
import type { Scan } from '../../../../src/engine/counting/window.ts';
import { dayStoredMax, type ScanStore } from '../../../../src/store/scans/scans.ts';
import { StoredBytes } from '../../../support/stored-bytes.ts';
import {
  openStoredScans,
  plainAnswer,
  shownAnswer,
  storedScan,
  type StoredScans,
} from './stored-scans.ts';
import { runs } from '../../../seconds/runs.ts';

const open = (): StoredScans => {
  const stored = openStoredScans();
  onTestFinished(() => stored.close());
  return stored;
};

const baseMs = 20_700 * dayMs;
const workspaceOf = (codeNo: number): number => (codeNo % 2) + 1;
const places = ['DE', 'US', 'ZZ'];
const cities = ['', 'Köln', 'Ulm', 'New York', 'A'];
const urls = ['https://www.example.org/a?b=c', 'https://example.org/', 'http://x.test'];
const referers = ['', 'no', ...urls];
const routes = [0, 0, 0, 1, 2, 58, 59, 62];

const scan: fc.Arbitrary<Scan> = fc
  .record({
    codeNo: fc.integer({ min: 1, max: 9 }),
    timeMs: fc.oneof(
      {
        weight: 30,
        arbitrary: fc.integer({ min: -2 * dayMs, max: 3 * dayMs }).map((ms) => baseMs + ms),
      },
      // Of clocks that are far off.
      { weight: 1, arbitrary: fc.constantFrom(-dayMs, 1e14) },
    ),
    journal: fc.integer({ min: 0, max: 9 }),
    position: fc.integer({ min: 0, max: 2 ** 50 }),
    visitor: fc.integer({ min: 0, max: 2_000 }),
    place: fc.constantFrom(...places),
    town: fc.constantFrom(...cities),
    referer: fc.constantFrom(...referers),
    device: fc.integer({ min: 0, max: 3 }),
    platform: fc.integer({ min: 0, max: 2 }),
    os: fc.integer({ min: 0, max: 6 }),
    browser: fc.integer({ min: 0, max: 27 }),
    bot: fc.constantFrom(0, 0, 0, 0, 1, 3),
    route: fc.constantFrom(...routes),
  })
  .map(({ visitor, place, town, ...rest }) => ({
    ...rest,
    workspaceNo: workspaceOf(rest.codeNo),
    country: countryNumber(place),
    city: town === '' ? '' : `${town}, ${place}`,
    visitorHigh: Math.imul(visitor, 0x9e3779b1) >>> 0,
    visitorLow: Math.imul(visitor ^ 0x5bd1e995, 0xc2b2ae35) >>> 0,
  }));
const block = fc.record({ scans: fc.array(scan, { minLength: 1, maxLength: 40 }) });

const optional = <T>(values: readonly T[]): fc.Arbitrary<T | undefined> =>
  fc.option(fc.constantFrom(...values), { nil: undefined, freq: 1 });
const filter = fc.record(
  {
    country: fc.constantFrom(...places, 'FR'),
    city: fc.constantFrom('', 'Köln, DE', 'New York, US', 'Paris, FR'),
    device: fc.constantFrom(...deviceNames),
    os: fc.constantFrom(...osNames),
    browser: fc.constantFrom(...browserNames),
    referer: fc.constantFrom('', 'example.org', 'x.test', 'www.example.org'),
    routes: fc.subarray([0, 1, 2, 58, 59]),
  },
  { requiredKeys: [] },
);
const bound = fc.oneof(
  fc.integer({ min: -2 * 96, max: 3 * 96 }).map((quarter) => baseMs + quarter * quarterMs),
  // The start of a campaign is of any millisecond.
  fc.integer({ min: -2 * dayMs, max: 3 * dayMs }).map((ms) => baseMs + ms),
);
const storedEndMs = (dayStoredMax + 1) * dayMs;
const edges = [
  { fromMs: 0, endMs: dayMs },
  { fromMs: storedEndMs - dayMs, endMs: storedEndMs },
];
const stretchNear = fc
  .tuple(bound, bound)
  .map(([one, other]) => ({ fromMs: Math.min(one, other), endMs: Math.max(one, other) }));

const anyStretch = fc.oneof(
  { weight: 9, arbitrary: stretchNear },
  { weight: 1, arbitrary: fc.constantFrom(...edges) },
);

/** The same scans in blocks of the same lengths, the oldest first. */
function inOrder<Block extends { readonly scans: readonly Scan[] }>(
  blocks: readonly Block[],
): Block[] {
  const scans = blocks.flatMap((block) => block.scans).sort((a, b) => a.timeMs - b.timeMs);
  return blocks.map((block) => ({ ...block, scans: scans.splice(0, block.scans.length) }));
}

const run = (store: ScanStore, query: RawQuery) =>
  shownAnswer(unpackAnswer(packAnswer(countRaw(store, query))));

const wholeQuery: RawQuery = {
  workspaceNo: 1,
  fromMs: baseMs - 2 * dayMs,
  endMs: baseMs + 4 * dayMs,
  filter: {},
  of: 'workspaces',
};

describe('a query over raw scans', () => {
  const hours = (count: number): number => baseMs + count * 3_600_000;
  const stretch = { fromMs: hours(9.5), endMs: hours(10.5) };

  it('counts what a plain count does, sketch and names to the byte', () => {
    const stored = open();
    const property = fc.property(
      fc.array(block, { minLength: 1, maxLength: 12 }),
      fc.array(fc.record({ filter, stretch: anyStretch }), { minLength: 6, maxLength: 6 }),
      optional([Uint32Array.of(2, 3, 4), Uint32Array.of(7), new Uint32Array()]),
      fc.constantFrom('codes' as const, 'workspaces' as const),
      (blocks, asked, codes, of) => {
        stored.fill(inOrder(blocks));
        const workspaceNo = codes?.length === 1 ? undefined : 1;
        for (const { stretch: times, ...one } of asked) {
          const query = { ...one, ...times, workspaceNo, of, ...(codes && { codes }) };
          const wanted = plainAnswer(stored.store, query);
          const found = run(stored.store, { ...query, expected: wanted.all });
          if (!isDeepStrictEqual(found, shownAnswer(wanted))) {
            expect(found).toEqual(shownAnswer(wanted));
          }
        }
      },
    );
    fc.assert(property, { numRuns: runs(30) });
  });

  it('finds late scans, and scans in blocks before their time, by what is expected', () => {
    const stored = open();
    const add = (...times: number[]): void =>
      stored.add(...times.map((timeMs) => storedScan({ timeMs })));
    // A shard that was behind for hours counts its scans after another's, in whose middle the search lands.
    add(hours(1));
    add(hours(10));
    for (let late = 2; late < 12; late++) add(hours(late));
    add(hours(40), hours(10));
    const query = { ...wholeQuery, ...stretch };
    const { all } = plainAnswer(stored.store, query);
    expect(all).toBe(3);
    expect(run(stored.store, { ...query, expected: all }).all).toBe(3);
    // Without it blocks from the beginning that was found on are read, to the last.
    expect(run(stored.store, query).all).toBeGreaterThanOrEqual(2);
  });

  it('finds bots in blocks before their time, of whom nothing is expected, where it reads all', () => {
    const stored = open();
    for (const late of [10, 1]) stored.add(storedScan({ timeMs: hours(late), bot: 1 }));
    const query = { ...wholeQuery, ...stretch, expected: 0 };
    const all = shownAnswer(plainAnswer(stored.store, query));
    expect(run(stored.store, { ...query, readsAll: true })).toEqual(all);
    expect(run(stored.store, query)).not.toEqual(all);
  });

  it('passes over a damaged block, and counts it', async () => {
    const stored = open();
    for (let at = 0; at < 3; at++) stored.add(storedScan({ timeMs: baseMs + at }));
    stored.add(storedScan({ codeNo: 1, workspaceNo: 2, timeMs: baseMs }));
    const bytes = new StoredBytes(stored.path);
    try {
      const [, second, , fourth] = bytes.keys('blocks');
      bytes.flip('blocks', second!, 8 * 70);
      bytes.flip('blocks', fourth!, 8 * 70);
      stored.store.environment.refresh();
      const found = run(stored.store, { ...wholeQuery, expected: 3 });
      // Of the fourth nothing is asked.
      expect(found).toMatchObject({ all: 2, damagedBlocks: 1 });
      expect(stored.store.environment.damage.records.map(({ key }) => key)).toEqual(['2']);
      bytes.flip('blocks', second!, 8 * 70);
      bytes.flip('blocks', second!, 8 * 5);
      stored.store.environment.refresh();
      expect(run(stored.store, wholeQuery)).toMatchObject({ all: 2, damagedBlocks: 1 });
    } finally {
      await bytes.close();
    }
  });

  it('refuses a range of more quarters than it has space for', () => {
    const stored = open();
    const query = { ...wholeQuery, fromMs: 0, endMs: 400_001 * quarterMs };
    expect(() => run(stored.store, query)).toThrow('11 years');
  });
});
