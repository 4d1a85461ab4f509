/** Simulated clusters, seed by seed: the replicated log (simulation/simulation.ts) and scans of edges (scan-simulation.ts). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { LmdbStore } from './simulation/lmdb-store.ts';
import { simulateScans } from './simulation/scan-simulation.ts';
import { simulate, type SimulationResult } from './simulation/simulation.ts';

const seeds = 10_000;
const lmdbSeeds = 40;
const scanSeeds = 500;

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

it('nothing answered is lost, done twice or done although refused, and equal logs make equal tables', async () => {
  const runs = new Runs();
  for (let seed = 1; seed <= seeds; seed++) runs.add(await simulate(seed));
  runs.expectEnoughHappened(seeds);
  // Brokers that lost what they had confirmed.
  expect(runs.sums.stopped).toBeGreaterThan(seeds / 50);
});

it('nothing answered is lost, done twice or done although refused, with stores in LMDB', async () => {
  const runs = new Runs();
  for (let seed = 1; seed <= lmdbSeeds; seed++) runs.add(await simulateInLmdb(seed));
  runs.expectEnoughHappened(lmdbSeeds);
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

it('every scan that an edge has on its disk comes to every core once, at its own position', async () => {
  const sums = { scans: 0, rewinds: 0, burnt: 0 };
  for (let seed = 1; seed <= scanSeeds; seed++) {
    const { faults, scans, rewinds, burnt } = await simulateScans(seed);
    expect({ seed, faults: faults.slice(0, 5) }).toEqual({ seed, faults: [] });
    sums.scans += scans;
    sums.rewinds += rewinds;
    sums.burnt += burnt;
  }
  expect(sums.scans).toBeGreaterThan(500 * scanSeeds);
  expect(sums.rewinds).toBeGreaterThan(scanSeeds);
  expect(sums.burnt).toBeGreaterThan(5 * scanSeeds);
});

it('a seed gives the same run every time', async () => {
  const [one, other] = [await simulate(7), await simulate(7)];
  expect(other).toEqual(one);
});
