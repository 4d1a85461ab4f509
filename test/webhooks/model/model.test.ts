/** Webhooks against what their receivers know, killed between any two writes: some seeds of simulation.ts, others each day. */
import { expect, it } from 'vitest';
import { seedsOfToday } from '../../seconds/runs.ts';
import { simulate } from './simulation.ts';

const seeds = seedsOfToday(6);

it(`nothing is lost, and nothing settled that was not answered: seeds from ${seeds[0]}`, async () => {
  let [allStarts, allSent] = [0, 0];
  for (const seed of seeds) {
    const { faults, starts, sent, trace } = await simulate(seed, 60);
    const shown = faults.length === 0 ? [] : trace;
    expect({ seed, faults, shown }).toEqual({ seed, faults: [], shown: [] });
    allStarts += starts;
    allSent += sent;
  }
  expect(allStarts).toBeGreaterThan(seeds.length);
  expect(allSent).toBeGreaterThan(10);
});

it('a backlog that was settled before the position of its outbox was stored is removed', async () => {
  expect((await simulate(90, 200)).faults).toEqual([]);
});
