/** Webhooks against what their receivers know, killed between any two writes: some seeds of simulation.ts. */
import { expect, it } from 'vitest';
import { simulate } from './simulation.ts';

it.each([3, 4, 8])(
  'nothing is lost, and nothing settled that was not answered: seed %i',
  async (seed) => {
    const { faults, starts, sent, trace } = await simulate(seed, 100);
    const shown = faults.length === 0 ? [] : trace;
    expect({ seed, faults, shown }).toEqual({ seed, faults: [], shown: [] });
    expect(starts).toBeGreaterThan(1);
    expect(sent).toBeGreaterThan(10);
  },
);

it('a seed gives the same run every time', async () => {
  const [one, other] = [await simulate(7, 30), await simulate(7, 30)];
  expect(other).toEqual(one);
});
