/** Answers that are kept for seconds: shared by those who ask at once, never older than what is expected of them. */
import { expect, it } from 'vitest';
import { Sketch } from '../../../src/model/sketch/sketch.ts';
import { FilteredScans } from '../../../src/scans/query/filtered-scans.ts';
import { KeptAnswers } from '../../../src/scans/query/raw/kept-answers.ts';
import type { RawAnswer, RawQuery } from '../../../src/scans/query/raw/raw-query.ts';
import { Rollup } from '../../../src/scans/rollup.ts';

const query: RawQuery = {
  workspaceNo: 1,
  spans: [{ fromMs: 0, endMs: 900_000 }],
  filter: { country: 'DE' },
  of: 'workspaces',
  namesMax: 10,
};

/** Counts what it is asked, and finds as many scans as it has. */
function counter() {
  const state = { asked: 0, scans: 5 };
  const run = async (): Promise<RawAnswer> => {
    state.asked++;
    const rollup = new Rollup(0);
    const all = [state.scans];
    const none = { quarters: [], codes: new Map<number, number>(), damagedBlocks: 0 };
    return { rollup, sketch: Sketch.empty(), all, ...none };
  };
  return { state, kept: new KeptAnswers({ run }) };
}

it('one pass answers all who ask at once, and other questions have their own', async () => {
  const { state, kept } = counter();
  const answers = await Promise.all(Array.from({ length: 8 }, () => kept.run(query)));
  expect(new Set(answers).size).toBe(1);
  await kept.run({ ...query, filter: { country: 'AT' } });
  await kept.run({ ...query, codes: Uint32Array.of(1, 2) });
  await kept.run({ ...query, codes: Uint32Array.of(1, 3) });
  expect(state.asked).toBe(4);
});

it('an answer without scans that have come since is not given', async () => {
  const { state, kept } = counter();
  await kept.run({ ...query, expected: [5] });
  await kept.run({ ...query, expected: [4] });
  expect(state.asked).toBe(1);
  state.scans = 6;
  expect((await kept.run({ ...query, expected: [6] })).all).toEqual([6]);
  expect(state.asked).toBe(2);
});

it('an answer that lacks what has expired is kept for nobody', async () => {
  const { state, kept } = counter();
  await kept.run({ ...query, expected: [9] });
  expect(kept.find(query)).toBeUndefined();
  await kept.run({ ...query, expected: [9] });
  expect(state.asked).toBe(2);
});

it('who asks a filter meanwhile is refused like the first where scans have expired', async () => {
  const { state, kept } = counter();
  const filtered = new FilteredScans({
    raw: kept,
    scansOf: async () => 9,
    oldestMs: () => undefined,
    expiredBeforeMs: () => -Infinity,
  });
  const ask = () => filtered.of({ workspace: 1 }, { fromDay: 0, toDay: 0 }, { country: 'DE' });
  const first = ask();
  const second = Promise.resolve().then(ask);
  for (const asked of [first, second]) {
    await expect(asked).rejects.toMatchObject({ faults: [{ code: 'raw_scans_expired' }] });
  }
  expect(state.asked).toBe(1);
});
