/**
 * Simulated clusters, seed by seed: the replicated log (simulation/simulation.ts) and scans of edges (scan-simulation.ts).
 * Each day has other seeds: the names of the tests say which, and `npm run simulate:cluster -- --first SEED` runs them again.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { dayMs } from '../../src/model/day.ts';
import { LmdbStore } from './simulation/lmdb-store.ts';
import { simulateScans } from './simulation/scan-simulation.ts';
import { simulate, type SimulationResult } from './simulation/simulation.ts';

const seeds = 1000;
const lmdbSeeds = 10;
const scanSeeds = 60;
const first = Math.floor(Date.now() / dayMs) * seeds;

class Runs {
  readonly sums = { done: 0, refused: 0, leads: 0, releases: 0, stopped: 0, pruned: 0 };

  add({
    seed,
    faults,
    trace,
    done,
    refused,
    leads,
    releases,
    stopped,
    pruned,
  }: SimulationResult): void {
    const shown = faults.length === 0 ? [] : trace;
    expect({ seed, faults, shown }).toEqual({ seed, faults: [], shown: [] });
    this.sums.done += done;
    this.sums.refused += refused;
    this.sums.leads += leads;
    this.sums.releases += releases;
    this.sums.stopped += stopped;
    this.sums.pruned += pruned;
  }

  /** So much happened in them, on average, that the checks had something to find. */
  expectEnoughHappened(count: number): void {
    expect(this.sums.done).toBeGreaterThan(10 * count);
    expect(this.sums.refused).toBeGreaterThan(10 * count);
    expect(this.sums.leads).toBeGreaterThan(1.2 * count);
    expect(this.sums.pruned).toBeGreaterThan(count);
    expect(this.sums.releases).toBeGreaterThan(0.1 * count);
  }
}

const named = (count: number): string => `seeds ${first} to ${first + count - 1}`;

it(`nothing answered is lost, done twice or done although refused, and equal logs make equal tables: ${named(seeds)}`, async () => {
  const runs = new Runs();
  for (let seed = first; seed < first + seeds; seed++) runs.add(await simulate(seed));
  runs.expectEnoughHappened(seeds);
  // Brokers that lost what they had confirmed: 25 to 100 in a thousand seeds, in 300 days of them.
  expect(runs.sums.stopped).toBeGreaterThan(seeds / 50);
});

it(`nothing answered is lost, done twice or done although refused, with stores in LMDB: ${named(lmdbSeeds)}`, async () => {
  const runs = new Runs();
  for (let seed = first; seed < first + lmdbSeeds; seed++) runs.add(await simulateInLmdb(seed));
  // In so few, most may be refused; what happens in many is looked at above.
  expect(runs.sums.done).toBeGreaterThan(0);
});

async function simulateInLmdb(seed: number): Promise<SimulationResult> {
  const folder = mkdtempSync(join(tmpdir(), 'quietzone-simulation-'));
  const stores: LmdbStore[] = [];
  try {
    return await simulate(seed, (time, at) => {
      const store = new LmdbStore(join(folder, String(at)), (work) => time.busy(work));
      stores.push(store);
      return store;
    });
  } finally {
    for (const store of stores) await store.close();
    rmSync(folder, { recursive: true });
  }
}

it(`every scan that an edge has on its disk comes to every core once, at its own position: ${named(scanSeeds)}`, async () => {
  const sums = { scans: 0, rewinds: 0, burnt: 0 };
  for (let seed = first; seed < first + scanSeeds; seed++) {
    const { faults, scans, rewinds, burnt } = await simulateScans(seed);
    expect({ seed, faults: faults.slice(0, 5) }).toEqual({ seed, faults: [] });
    sums.scans += scans;
    sums.rewinds += rewinds;
    sums.burnt += burnt;
  }
  expect(sums.scans).toBeGreaterThan(500 * scanSeeds);
  // 0.85 to 1.9 of a seed in 20 days.
  expect(sums.rewinds).toBeGreaterThan(scanSeeds / 4);
  expect(sums.burnt).toBeGreaterThan(5 * scanSeeds);
});

it('a seed gives the same run every time', async () => {
  const [one, other] = [await simulate(7), await simulate(7)];
  expect(other).toEqual(one);
});
