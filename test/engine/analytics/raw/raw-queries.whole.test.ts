/** Queries over raw scans in their thread: side by side, one after the other, canceled, and too many. */
import { getPriority } from 'node:os';
import { readdirSync } from 'node:fs';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { dayMs } from '../../../../src/model/day.ts';
import { countryNumber } from '../../../../src/model/scan.ts';
import { RawQueries } from '../../../../src/engine/analytics/raw/raw-queries.ts';
import type { RawQuery } from '../../../../src/engine/analytics/raw/raw-query.ts';
import type { Scan } from '../../../../src/engine/counting/window.ts';
import { openFilesIn } from '../../../support/leaks.ts';
import { soon } from '../../../support/soon.ts';
import {
  openStoredScans,
  plainAnswer,
  shownAnswer,
  storedScan,
  type StoredScans,
} from './stored-scans.ts';

const fromMs = 20_700 * dayMs;

const scanOf = (scan: number): Scan => {
  const country = scan % 3 === 0 ? 'DE' : 'US';
  return storedScan({
    codeNo: scan % 300,
    timeMs: fromMs + scan * 1_000,
    visitorHigh: Math.imul(scan, 0x9e3779b1) >>> 0,
    visitorLow: Math.imul(scan, 0xc2b2ae35) >>> 0,
    country: countryNumber(country),
    city: `Town ${scan % 40}, ${country}`,
  });
};

/** @param blocks of a hundred scans each: 25,000 take some ten slices */
function fill(blocks: number): StoredScans {
  const stored = openStoredScans();
  const scansOf = (block: number): Scan[] =>
    Array.from({ length: 100 }, (_, scan) => scanOf(block * 100 + scan));
  stored.fill(Array.from({ length: blocks }, (_, block) => ({ scans: scansOf(block) })));
  return stored;
}

const largeBlocks = 6_000;
/** A query over it takes long enough to be seen while it runs. */
const large = fill(largeBlocks);
afterAll(() => large.close());

function open(blocks: number): { stored: StoredScans; queries: RawQueries; query: RawQuery } {
  const stored = blocks === largeBlocks ? large : fill(blocks);
  const queries = new RawQueries(stored.path);
  onTestFinished(async () => {
    await queries.close();
    if (stored !== large) await stored.close();
  });
  const query: RawQuery = {
    workspaceNo: 1,
    fromMs,
    endMs: fromMs + 100 * dayMs,
    filter: { country: 'DE' },
    of: 'workspaces',
  };
  return { stored, queries, query };
}

/** Nice values of this process's threads. */
const priorities = (): number[] =>
  readdirSync('/proc/self/task').map((thread) => getPriority(Number(thread)));

describe('RawQueries', () => {
  it('answers as a plain count does, by what CPU time is left, and leaves nothing open', async () => {
    const { stored, queries, query } = open(30);
    const before = openFilesIn(stored.path.replace('/scans.mdb', '')).length;
    const found = await queries.run(query);
    expect(shownAnswer(found)).toEqual(shownAnswer(plainAnswer(stored.store, query)));
    expect(found.rollup.scans).toBe(1_000);
    expect(found.sketch.estimate()).toBe(1_000);
    expect(openFilesIn(stored.path.replace('/scans.mdb', '')).length).toBe(before);
    if (process.platform === 'linux') expect(priorities()).toContain(19);
  });

  it('runs one query of a workspace at a time, and refuses what is too much', async () => {
    const { queries, query } = open(50);
    const runs = Array.from({ length: 17 }, () => queries.run(query));
    const other = queries.run({ ...query, workspaceNo: 2 });
    const results = await Promise.allSettled(runs);
    expect(results.map(({ status }) => status)).toEqual([
      ...Array.from({ length: 16 }, () => 'fulfilled'),
      'rejected',
    ]);
    expect(results[16]).toMatchObject({ reason: { code: 'overloaded', retryAfterSeconds: 2 } });
    expect((await other).all).toBe(0);
    // Of many workspaces together.
    const many = Array.from({ length: 65 }, (_, at) => queries.run({ ...query, workspaceNo: at }));
    const statuses = (await Promise.allSettled(many)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 'rejected')).toHaveLength(1);
    expect((await queries.run(query)).all).toBe(5_000);
  });

  it('counts running and waiting queries, and ends all when the service stops', async () => {
    const { queries, query } = open(largeBlocks);
    const ended = Promise.allSettled([queries.run(query), queries.run(query), queries.run(query)]);
    await expect.poll(() => queries.stats().running, soon).toBe(1);
    expect(queries.stats().waiting).toBe(2);
    await queries.close();
    expect((await ended).map(({ status }) => status)).toEqual(Array(3).fill('rejected'));
    expect(queries.stats()).toEqual({ running: 0, waiting: 0, deaths: 0 });
  });
});
