/** Answers of raw scans are shared by clients that ask at once, and are never older than what a client expects. */
import { expect, it } from 'vitest';
import { Sketch } from '../../../src/model/sketch/sketch.ts';
import { FilteredScans } from '../../../src/scans/query/filtered-scans.ts';
import { AnswerCache } from '../../../src/scans/query/raw/answer-cache.ts';
import type { RawAnswer, RawQuery } from '../../../src/scans/query/raw/raw-query.ts';
import { Rollup } from '../../../src/scans/rollup.ts';

const query: RawQuery = {
  workspaceNo: 1,
  fromMs: 0,
  endMs: 900_000,
  filter: { country: 'DE' },
  of: 'workspaces',
};
const bots = { ...query, readsAll: true };
const austria = { ...query, filter: { country: 'AT' } };

/** Finds as many scans as it has. */
function counter() {
  const state = { asked: 0, scans: 5, readsAll: false };
  const none = { quarters: new Float64Array(1), codes: new Map<number, number>() };
  const run = async ({ readsAll = false }: RawQuery): Promise<RawAnswer> => {
    state.asked++;
    state.readsAll = readsAll;
    const [rollup, sketch] = [new Rollup(0), Sketch.empty()];
    return { rollup, sketch, all: state.scans, damagedBlocks: 0, ...none };
  };
  return { state, cache: new AnswerCache({ run }) };
}

it('one pass answers all clients that ask at once; other questions have their own', async () => {
  const { state, cache } = counter();
  const answers = await Promise.all(Array.from({ length: 8 }, () => cache.run(query)));
  expect(new Set(answers).size).toBe(1);
  for (const codes of [
    [1, 2],
    [1, 3],
  ])
    await cache.run({ ...query, codes: Uint32Array.from(codes) });
  await cache.run(austria);
  expect(state.asked).toBe(4);
  // What is asked of bots has no expected number, so each has a pass of its own.
  await Promise.all([cache.run(bots), cache.run(bots)]);
  expect(state.asked).toBe(6);
});

it('an answer is cached only with all expected scans, and given only with all that came since', async () => {
  const { state, cache } = counter();
  const counts: number[] = [];
  for (const expected of [9, 5, 4, 6]) {
    state.scans = Math.max(state.scans, expected === 6 ? 6 : 5);
    await cache.run({ ...query, expected });
    counts.push(state.asked);
  }
  expect(counts).toEqual([1, 2, 2, 3]);
});

it('a client that joins a pass is refused like the first; a question about bots has its own pass over all', async () => {
  const { state, cache } = counter();
  const ranges = { oldestRawMs: () => undefined, expiredBeforeMs: () => -Infinity };
  const filtered = new FilteredScans(cache, ranges, async () => 9);
  const ask = (of?: 'all') =>
    filtered.of({ workspace: 1 }, { fromDay: 0, toDay: 0 }, { country: 'DE' }, of);
  const first = ask();
  const expired = { faults: [{ code: 'raw_scans_expired' }] };
  for (const asked of [first, Promise.resolve().then(() => ask())]) {
    await expect(asked).rejects.toMatchObject(expired);
  }
  expect(state).toMatchObject({ asked: 1, readsAll: false });
  await expect(ask('all')).rejects.toMatchObject(expired);
  expect(state).toMatchObject({ asked: 2, readsAll: true });
});
