/** Answers that are kept for seconds: shared by those who ask at once, never older than what is expected of them. */
import { expect, it } from 'vitest';
import { Sketch } from '../../../src/model/sketch/sketch.ts';
import { FilteredScans } from '../../../src/scans/query/filtered-scans.ts';
import { Asker } from '../../../src/scans/query/asker.ts';
import { KeptAnswers } from '../../../src/scans/query/raw/kept-answers.ts';
import type {
  RawAnswer,
  RawQuery,
  RawScanCounter,
} from '../../../src/scans/query/raw/raw-query.ts';
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
  return { passes, kept: new KeptAnswers({ run }) };
}

it('a pass ends when the last who waits for it leaves, and not before', async () => {
  const { passes, kept } = endless();
  const [first, second, third] = [new Asker(), new Asker(), new Asker()];
  const ended = Promise.allSettled([first, second].map((asker) => kept.run(query, asker)));
  first.leave();
  expect(passes[0]?.isGivenUp()).toBe(false);
  second.leave();
  expect(passes[0]?.isGivenUp()).toBe(true);
  // Who comes at once is not given what was given up, and who has left asks nothing more.
  const anew = kept.run(query, third);
  const [one, other] = await ended;
  for (const { status } of [one!, other!]) expect(status).toBe('rejected');
  await expect(kept.run(query, first)).rejects.toThrow('has left');
  await expect(kept.run({ ...query, filter: {} }, first)).rejects.toThrow('has left');
  expect(passes.map(({ isGivenUp }) => isGivenUp())).toEqual([true, false]);
  expect(kept.find(query)).toBeDefined();
  third.leave();
  await expect(anew).rejects.toThrow('has left');
  expect(kept.find(query)).toBeUndefined();
});

it('a pass goes on for one who cannot leave', async () => {
  const { passes, kept } = endless();
  const asker = new Asker();
  void kept.run(query, asker);
  void kept.run(query);
  asker.leave();
  expect(passes.map(({ isGivenUp }) => isGivenUp())).toEqual([false]);
});

it('what is asked of bots is given up as well, and kept for nobody', async () => {
  const { passes, kept } = endless();
  const [first, second] = [new Asker(), new Asker()];
  const bots = { ...query, readsAll: true };
  const ended = Promise.allSettled([first, second].map((asker) => kept.run(bots, asker)));
  first.leave();
  expect(passes.map(({ isGivenUp }) => isGivenUp())).toEqual([true, false]);
  second.leave();
  await ended;
});

it('each is told how far the pass is that it waits for', async () => {
  const { passes, kept } = endless();
  const [first, second] = [new Asker(), new Asker()];
  const ended = Promise.allSettled([
    kept.run(query, first),
    kept.run({ ...query, filter: { country: 'AT' } }, second),
  ]);
  passes[0]?.tell(0.5);
  passes[1]?.tell(0.25);
  expect([first, second].map(({ waitsFor }) => waitsFor?.share)).toEqual([0.5, 0.25]);
  for (const asker of [first, second]) asker.leave();
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
