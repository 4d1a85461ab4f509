/**
 * Simulated clusters, seed by seed: the replicated log (simulation/simulation.ts) and scans of edges (scan-simulation.ts).
 * Each day has other seeds: the names of the tests say which, and `npm run simulate:cluster -- --first SEED` runs them again.
 */
import { expect, it } from 'vitest';
import { dayMs } from '../../src/model/day.ts';
import { simulateScans } from './simulation/scan-simulation.ts';
import { simulate } from './simulation/simulation.ts';

const seeds = 1000;
const scanSeeds = 60;
const first = Math.floor(Date.now() / dayMs) * seeds;

const named = (count: number): string => `seeds ${first} to ${first + count - 1}`;

it(`nothing answered is lost, done twice or done although refused, and equal logs make equal tables: ${named(seeds)}`, async () => {
  const sums = { done: 0, refused: 0, leads: 0, releases: 0, stopped: 0, pruned: 0 };
  for (let seed = first; seed < first + seeds; seed++) {
    const { faults, trace, ...counts } = await simulate(seed);
    const shown = faults.length === 0 ? [] : trace;
    expect({ seed, faults, shown }).toEqual({ seed, faults: [], shown: [] });
    for (const name of Object.keys(sums) as Array<keyof typeof sums>) sums[name] += counts[name];
  }
  // So much happened, on average, that the checks had something to find.
  expect(sums.done).toBeGreaterThan(10 * seeds);
  expect(sums.refused).toBeGreaterThan(10 * seeds);
  expect(sums.leads).toBeGreaterThan(1.2 * seeds);
  expect(sums.pruned).toBeGreaterThan(seeds);
  expect(sums.releases).toBeGreaterThan(0.1 * seeds);
  // Brokers that lost what they had confirmed: 25 to 100 in a thousand seeds, in 300 days of them.
  expect(sums.stopped).toBeGreaterThan(seeds / 50);
});

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
