/** Answers of raw scans are shared by clients that ask at once, and are never older than what a client expects. */
import { expect, it } from 'vitest';
import { Sketch } from '../../../src/model/sketch/sketch.ts';
import { FilteredScans } from '../../../src/scans/query/filtered-scans.ts';
import { QueryClient } from '../../../src/scans/query/subject.ts';
import { AnswerCache } from '../../../src/scans/query/raw/answer-cache.ts';
import type {
  RawAnswer,
  RawControl,
  RawQuery,
  RawScanCounter,
} from '../../../src/scans/query/raw/raw-query.ts';
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

/** Passes that run until they are canceled and then `end`. */
function endless() {
  const controls: RawControl[] = [];
  const ends: Array<() => void> = [];
  const run: RawScanCounter['run'] = (_query, control) =>
    new Promise((_resolve, reject) => {
      controls.push(control!);
      ends.push(() => reject(new Error('ended')));
    });
  const cache = new AnswerCache({ run });
  const canceled = (): boolean[] => controls.map(({ isCanceled }) => isCanceled);
  const end = (): void => {
    for (const one of ends) one();
  };
  return { cache, canceled, end };
}

it('a pass ends when the last client that waits for it cancels, not before', async () => {
  const { cache, canceled, end } = endless();
  const [first, second, third] = [new QueryClient(), new QueryClient(), new QueryClient()];
  const waits = [first, second].map((client) => cache.run(query, client));
  const ended = Promise.allSettled(waits);
  first.cancel();
  expect(canceled()).toEqual([false]);
  second.cancel();
  expect(canceled()).toEqual([true]);
  // A new client does not get a canceled pass, and a canceled client starts no query.
  const again = cache.run(query, third);
  await expect(cache.run(query, first)).rejects.toThrow('was canceled');
  await expect(cache.run(austria, first)).rejects.toThrow('was canceled');
  expect(canceled()).toEqual([true, false]);
  third.cancel();
  end();
  expect((await ended).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await expect(again).rejects.toThrow('was canceled');
  expect(cache.find(query)).toBeUndefined();
});

it('a pass continues for a caller that cannot cancel; one for bots is canceled, and never shared', () => {
  const { cache, canceled } = endless();
  const [first, second] = [new QueryClient(), new QueryClient()];
  void cache.run(query, first);
  void cache.run(query);
  for (const client of [first, second]) cache.run(bots, client).catch(() => undefined);
  first.cancel();
  expect(canceled()).toEqual([false, true, false]);
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
