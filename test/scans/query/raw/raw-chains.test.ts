/** Queries over raw scans of a real engine, whatever crashed, failed and came late; of codes with few scans by their chains. */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { dayMs } from '../../../../src/model/day.ts';
import { ScanBlock } from '../../../../src/scans/block.ts';
import type { RawQuery } from '../../../../src/scans/query/raw/raw-query.ts';
import { countRaw } from '../../../../src/scans/query/raw/raw-walk.ts';
import type { ScanStore } from '../../../../src/store/scans/scans.ts';
import { EngineHarness } from '../../engine-harness.ts';
import { baseDay, codeOf, journals, run, step, workspaceOf } from '../../engine-steps.ts';
import { isPerson } from '../../plain-model.ts';
import { plainAnswer, shownAnswer } from './stored-scans.ts';
import { runs } from '../../../seconds/runs.ts';

const answer = (store: ScanStore, query: RawQuery) => shownAnswer(countRaw(store, query));

const openEngine = (): EngineHarness => {
  const engine = new EngineHarness({
    journals,
    segmentBytesMax: 700,
    actorsMax: 4,
    rawRetentionDays: 40_000,
    codeOf,
  });
  engine.nowMs = baseDay * dayMs;
  return engine;
};

const ranges: ReadonlyArray<readonly [fromDay: number, endDay: number]> = [
  [baseDay, baseDay + 1],
  [baseDay - 50, baseDay + 41],
  [baseDay + 1, baseDay + 400],
];
const subjects = [
  ...[1, 4, 5].map((codeNo) => Uint32Array.of(codeNo)),
  Uint32Array.of(1, 3, 7),
  undefined,
];

function check({
  store,
  committed,
}: {
  store: ScanStore;
  committed: EngineHarness['facts'];
}): void {
  store.environment.refresh();
  for (const subject of subjects) {
    const workspaceNo = workspaceOf(subject?.[0] ?? 1);
    for (const [fromDay, endDay] of ranges) {
      const stretch = { fromMs: fromDay * dayMs, endMs: endDay * dayMs };
      const expected = committed.filter(
        (fact) =>
          fact.workspaceNo === workspaceNo &&
          subject?.includes(fact.codeNo) !== false &&
          fact.timeMs >= stretch.fromMs &&
          fact.timeMs < stretch.endMs &&
          isPerson(fact),
      ).length;
      const query: RawQuery = {
        ...(subject && { codes: subject }),
        workspaceNo,
        ...stretch,
        expected,
        filter: { os: 'iOS' },
        of: subject === undefined ? 'workspaces' : 'codes',
      };
      const found = answer(store, query);
      expect(found.all).toBe(expected);
      const wanted = plainAnswer(store, query);
      // Bots and visits without a redirect after the last expected scan may be in unread blocks.
      const people = ({ scans, names, codes, quarters, inline }: typeof found) => {
        return { scans, names, codes, quarters, inline };
      };
      if (!isDeepStrictEqual(people(found), people(shownAnswer(wanted)))) {
        expect(people(found)).toEqual(people(shownAnswer(wanted)));
      }
    }
  }
}

it('finds what the engine has counted', async () => {
  const steps = fc.array(step, { minLength: 10, maxLength: 50, size: 'max' });
  const property = fc.asyncProperty(
    steps,
    fc.integer({ min: 1, max: 4 }),
    async (steps, shards) => {
      const engine = openEngine();
      try {
        engine.startShards(shards);
        for (const step of steps) await run(engine, step);
        check({ store: engine.store, committed: engine.committed() });
        engine.settle();
        engine.checkpoint(0);
        check({ store: engine.store, committed: engine.facts });
      } finally {
        await engine.close();
      }
    },
  );
  await fc.assert(property, { numRuns: runs(3) });
});

it('reads the blocks of a code with few scans, and the newest of all', async () => {
  const engine = openEngine();
  const visit = (codeNo: number): void =>
    engine.scan(0, baseDay * dayMs, [
      {
        codeNo,
        workspaceNo: 1,
        agent: 'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X)',
        referer: '',
        address: Uint8Array.of(192, 0, 2, 1),
        isPrefetch: false,
      },
    ]);
  try {
    engine.startShards(1);
    for (let scan = 0; scan < 200; scan++) {
      visit(scan % 50 === 25 ? 2 : 6);
      engine.cycle(0);
    }
    engine.checkpoint(0);
    visit(2);
    engine.settle();
    const { store } = engine;
    store.environment.refresh();
    const query: RawQuery = {
      codes: Uint32Array.of(2),
      workspaceNo: 1,
      fromMs: baseDay * dayMs,
      endMs: (baseDay + 1) * dayMs,
      filter: {},
      of: 'codes',
    };
    const checked = vi.spyOn(store.blocks, 'isSound');
    expect(answer(store, query)).toEqual(shownAnswer(plainAnswer(store, query)));
    expect(answer(store, query).scans).toBe(5);
    expect(checked.mock.calls.length).toBeLessThanOrEqual(2 * 5);
    const [, second = 0] = Array.from(store.blocks.keys({})).filter(
      (sequence) => new ScanBlock(store.blocks.get(sequence)!).find(2) !== -1,
    );
    // Damaged, it hides the next block of the chain: all blocks are read.
    const damage = vi.spyOn(store.blocks, 'isSound').mockImplementation((key) => key !== second);
    expect(answer(store, query)).toMatchObject({ scans: 4, all: 4, damagedBlocks: 1 });
    damage.mockRestore();
    // What has expired leads nowhere, and so have those before it.
    store.environment.transactionSync(() => store.blocks.remove(second));
    expect(answer(store, { ...query, expected: 5 })).toMatchObject({ scans: 3, all: 3 });
  } finally {
    await engine.close();
  }
});
