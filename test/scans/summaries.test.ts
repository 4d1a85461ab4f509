/** Days and months in a real store: whatever the order in which days close, a month is the sum of its days. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Sketch } from '../../src/model/sketch/sketch.ts';
import { Dimension, monthNamesFactor, Rollup } from '../../src/scans/rollup.ts';
import type { Piece } from '../../src/scans/days/day.ts';
import { firstDayOf, monthOf, Summaries } from '../../src/scans/summaries.ts';
import { openScanStore, type ScanStore } from '../../src/store/scans/scans.ts';
import { visitorHashes } from '../support/visitor-hashes.ts';

const namesMax = 5;
const hashes = visitorHashes(3);
let folder: string;
let store: ScanStore;
let summaries: Summaries;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quietzone-summaries-'));
  store = openScanStore(join(folder, 'scans.mdb'), 'create');
  summaries = new Summaries(store, namesMax);
});
afterEach(async () => {
  await store.environment.close();
  rmSync(folder, { recursive: true });
});

interface Visits {
  readonly day: number;
  /** Visitors `first` to `first + count - 1`, one scan each. */
  readonly first: number;
  readonly count: number;
}

function countVisits(day: Piece, { first, count }: Visits): void {
  for (let visitor = first; visitor < first + count; visitor++) {
    hashes.make(visitor);
    day.sketch.add(hashes.hi, hashes.lo);
    day.rollup.scans++;
    day.rollup.count(Dimension.browser, visitor % 24);
    day.rollup.countName(Dimension.city, visitor % 3 === 0 ? '' : `City ${visitor % 40}, DE`);
  }
}

const sumOf = (rollup: Rollup, of: 'browser' | 'city'): number => {
  const rows = of === 'browser' ? rollup.values(Dimension.browser) : rollup.names(Dimension.city);
  return [...rows].reduce((sum, { count }) => sum + count, 0);
};

describe('closeDay', () => {
  it('keeps months exact when days close late, again, and in any order', () => {
    const base = firstDayOf(monthOf(20_730));
    const visits = fc.record({
      day: fc.constantFrom(0, 1, 2, 27, 30, 31, 35, 400, 61_439 - base).map((step) => base + step),
      first: fc.constantFrom(0, 50, 100, 1_000),
      count: fc.integer({ min: 1, max: 130 }),
    });
    let codeNo = 0;
    const property = fc.property(fc.array(visits, { minLength: 1, maxLength: 25 }), (steps) => {
      codeNo++;
      for (const step of steps) {
        store.environment.transactionSync(() => {
          const day = summaries.closedDay(codeNo, step.day) ?? summaries.emptyDay(step.day, 1);
          countVisits(day.pieces[0]!, step);
          summaries.closeDay(codeNo, day);
        });
      }
      const months = new Set(steps.map(({ day }) => monthOf(day)));
      for (const month of months) {
        const own = steps.filter(({ day }) => monthOf(day) === month);
        const scans = own.reduce((sum, { count }) => sum + count, 0);
        const union = Sketch.empty();
        const found = summaries.month(codeNo, month)!;
        const rollup = new Rollup(Number.MAX_SAFE_INTEGER);
        const sketch = Sketch.empty();
        const wanted = new Rollup(Number.MAX_SAFE_INTEGER);
        for (const number of new Set(own.map(({ day }) => day))) {
          const [day] = summaries.closedDay(codeNo, number)!.pieces;
          union.merge(day!.sketch);
          wanted.merge(day!.rollup);
          expect(sumOf(day!.rollup, 'city')).toBe(day!.rollup.scans);
        }
        for (const piece of summaries.monthPieces(codeNo, month, month + 1)) {
          piece.addTo(rollup, sketch);
        }
        expect([found.rollup.scans, rollup.scans, wanted.scans]).toEqual([scans, scans, scans]);
        expect([sumOf(rollup, 'browser'), sumOf(rollup, 'city')]).toEqual([scans, scans]);
        for (let browser = 0; browser < 24; browser++) {
          expect(rollup.get(Dimension.browser, browser)).toBe(
            wanted.get(Dimension.browser, browser),
          );
        }
        expect([found.sketch.estimate(), sketch.estimate()]).toEqual([
          union.estimate(),
          union.estimate(),
        ]);
        const bits = found.mask.toString(2).replaceAll('0', '').length;
        expect(bits).toBe(new Set(own.map(({ day }) => day)).size);
      }
    });
    fc.assert(property, { numRuns: 40 });
  });
});

describe('names of a month', () => {
  it('stay bounded, and the rest counts as other', () => {
    for (let day = 0; day < 31; day++) {
      const made = summaries.emptyDay(20_730 + day, 1);
      const { rollup } = made.pieces[0]!;
      for (let i = 0; i < 5; i++) rollup.countName(Dimension.referer, `r${day}-${i}.example`);
      store.environment.transactionSync(() => summaries.closeDay(4, made));
    }
    const { rollup } = summaries.month(4, monthOf(20_740))!;
    const names = [...rollup.names(Dimension.referer)];
    expect(names.length).toBeLessThanOrEqual(namesMax * monthNamesFactor + 1);
    expect(names.some(({ name }) => name === 'other')).toBe(true);
  });
});
