/** Scanners that were united for an answer before: as many as are counted anew, also when a closed day gets a late scan. */
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Summaries } from '../../../src/scans/summaries.ts';
import { openScanQueries } from '../../../src/scans/query/queries.ts';
import { Dimension } from '../../../src/scans/rollup.ts';
import { openScanStore } from '../../../src/store/scans/scans.ts';
import { visitorHashes } from '../../support/visitor-hashes.ts';
import { temporaryFolder } from '../../store/temporary-management.ts';

const codeNo = 1;
const days = 70;
const visitorsPerDay = 300;

test('a late scan of a closed day is in the next answer', async () => {
  const store = openScanStore(join(temporaryFolder(), 'scans.mdb'), 'create');
  onTestFinished(() => store.environment.close());
  const summaries = new Summaries(store, 10);
  const hashes = visitorHashes(3);
  let visitors = 0;
  const count = (day: number, scans: number): void => {
    const counted = summaries.closedDay(codeNo, day) ?? summaries.emptyDay(day, 1);
    const { rollup, sketch } = counted.pieces[0]!;
    for (let scan = 0; scan < scans; scan++) {
      hashes.make(visitors++);
      sketch.add(hashes.hi, hashes.lo);
      rollup.scans++;
      rollup.count(Dimension.platform, 1);
    }
    store.environment.transactionSync(() => {
      if (day < days) summaries.closeDay(codeNo, counted);
      else summaries.putSummary(codeNo, { total: visitors, newestBlock: 0, newestDay: counted });
    });
  };
  for (let day = 0; day <= days; day++) count(day, visitorsPerDay);
  const { analytics } = openScanQueries(store, () => undefined);
  const range = { fromDay: 3, toDay: days };
  const ask = async (of: typeof analytics) => await of.totals({ code: codeNo }, range);
  const expectFresh = async (): Promise<void> => {
    const fresh = openScanQueries(store, () => undefined).analytics;
    expect(await ask(analytics)).toEqual(await ask(fresh));
  };
  const reads = vi.spyOn(store.chunks, 'walkInPlace');
  await ask(analytics);
  expect(reads).toHaveBeenCalled();
  reads.mockClear();
  await expectFresh();
  reads.mockClear();
  const before = await ask(analytics);
  expect(reads).not.toHaveBeenCalled();
  // In whole months, and beside them.
  for (const day of [4, 20, 31, 49, 58, 60]) {
    count(day, 100);
    await expectFresh();
  }
  const after = await ask(analytics);
  expect(after.totalScans).toBe(before.totalScans + 600);
  expect(after.uniqueScanners).toBeGreaterThan(before.uniqueScanners + 450);
});
