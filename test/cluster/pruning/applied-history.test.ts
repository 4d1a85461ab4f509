import { expect, it } from 'vitest';
import { AppliedHistory } from '../../../src/cluster/log/applied-history.ts';

it('what was applied ten minutes ago is told, and nothing before a process has run for so long', () => {
  const history = new AppliedHistory();
  const minute = 60_000;
  const told: Array<readonly [minutes: number, seq: number | undefined]> = [];
  for (let ms = 0; ms <= 25 * minute; ms += 1_000) {
    const held = history.held([ms, 2 * ms], ms + 5_000);
    if (held !== undefined) expect(held[1]).toBe(2 * held[0]);
    if (ms % (5 * minute) === 0) told.push([ms / minute, held?.[0]]);
  }
  expect(told).toEqual([
    [0, undefined],
    [5, undefined],
    [10, 0],
    [15, 5 * minute],
    [20, 10 * minute],
    [25, 15 * minute],
  ]);
});

it('a machine that stood still tells of what it had before, not of what came after', () => {
  const history = new AppliedHistory({ heldMs: 100, noteMs: 10 });
  history.held([1, 1], 0);
  expect(history.held([9, 9], 1_000)).toEqual([1, 1]);
  expect(history.held([9, 9], 1_099)).toEqual([1, 1]);
  expect(history.held([9, 9], 1_100)).toEqual([9, 9]);
});
