/** Answers that are kept for seconds: shared by those who ask at once, never older than what is expected of them. */
import { expect, it } from 'vitest';
import { Sketch } from '../../../src/model/sketch/sketch.ts';
import { FilteredScans } from '../../../src/scans/query/filtered-scans.ts';
import { QueryClient } from '../../../src/scans/query/subject.ts';
import { AnswerCache } from '../../../src/scans/query/raw/answer-cache.ts';
import type {
  RawAnswer,
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

/** Counts what it is asked, and finds as many scans as it has. */
function counter() {
  const state = { asked: 0, scans: 5 };
  const run = async (): Promise<RawAnswer> => {
    state.asked++;
    const rollup = new Rollup(0);
    const all = state.scans;
    const none = {
      quarters: new Float64Array(1),
      codes: new Map<number, number>(),
      damagedBlocks: 0,
    };
    return { rollup, sketch: Sketch.empty(), all, ...none };
  };
  return { state, kept: new AnswerCache({ run }) };
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
  await kept.run({ ...query, expected: 5 });
  await kept.run({ ...query, expected: 4 });
  expect(state.asked).toBe(1);
  state.scans = 6;
  expect((await kept.run({ ...query, expected: 6 })).all).toBe(6);
  expect(state.asked).toBe(2);
});

it('an answer that lacks expired scans is not cached', async () => {
  const { state, kept } = counter();
  await kept.run({ ...query, expected: 9 });
  expect(kept.find(query)).toBeUndefined();
  await kept.run({ ...query, expected: 9 });
  expect(state.asked).toBe(2);
});

/** Passes that go on until they are given up. */
function endless() {
  const passes: Array<{
    readonly isGivenUp: () => boolean;
    readonly tell: (share: number) => void;
  }> = [];
  const run: RawScanCounter['run'] = (_query, onProgress, signal) => {
    passes.push({
      isGivenUp: () => signal?.aborted === true,
      tell: (share) => onProgress?.(share),
    });
    return new Promise((_resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason));
    });
  };
  return { passes, kept: new AnswerCache({ run }) };
}

it('a pass ends when the last client that waits for it cancels, not before', async () => {
  const { passes, kept } = endless();
  const [first, second, third] = [new QueryClient(), new QueryClient(), new QueryClient()];
  const ended = Promise.allSettled([first, second].map((client) => kept.run(query, client)));
  first.cancel();
  expect(passes[0]?.isGivenUp()).toBe(false);
  second.cancel();
  expect(passes[0]?.isGivenUp()).toBe(true);
  // A new client does not get a canceled pass, and a canceled client starts no query.
  const again = kept.run(query, third);
  const [one, other] = await ended;
  for (const { status } of [one!, other!]) expect(status).toBe('rejected');
  await expect(kept.run(query, first)).rejects.toThrow('was canceled');
  await expect(kept.run({ ...query, filter: {} }, first)).rejects.toThrow('was canceled');
  expect(passes.map(({ isGivenUp }) => isGivenUp())).toEqual([true, false]);
  expect(kept.find(query)).toBeDefined();
  third.cancel();
  await expect(again).rejects.toThrow('was canceled');
  expect(kept.find(query)).toBeUndefined();
});

it('a pass continues for a caller that cannot cancel', async () => {
  const { passes, kept } = endless();
  const client = new QueryClient();
  void kept.run(query, client);
  void kept.run(query);
  client.cancel();
  expect(passes.map(({ isGivenUp }) => isGivenUp())).toEqual([false]);
});

it('a query for bots is canceled as well, and never cached', async () => {
  const { passes, kept } = endless();
  const [first, second] = [new QueryClient(), new QueryClient()];
  const bots = { ...query, readsAll: true };
  const ended = Promise.allSettled([first, second].map((client) => kept.run(bots, client)));
  first.cancel();
  expect(passes.map(({ isGivenUp }) => isGivenUp())).toEqual([true, false]);
  second.cancel();
  await ended;
});

it('each client sees the progress of its pass', async () => {
  const { passes, kept } = endless();
  const [first, second] = [new QueryClient(), new QueryClient()];
  const ended = Promise.allSettled([
    kept.run(query, first),
    kept.run({ ...query, filter: { country: 'AT' } }, second),
  ]);
  passes[0]?.tell(0.5);
  passes[1]?.tell(0.25);
  expect([first, second].map(({ waitsFor }) => waitsFor?.share)).toEqual([0.5, 0.25]);
  for (const client of [first, second]) client.cancel();
  await ended;
  expect(first.waitsFor).toBeUndefined();
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
