/** New and returning scanners against the truth, from few that are counted to a million that are estimated. */
import { describe, expect, it } from 'vitest';
import { Sketch } from '../../../src/model/sketch/sketch.ts';
import { scannersFrom } from '../../../src/scans/query/answers.ts';
import { visitorHashes } from '../../support/visitor-hashes.ts';

/** Standard errors that an estimate may be off: one of 15,000 is more. */
const errorsMax = 4;

function sketchOf(first: number, count: number): Sketch {
  const hashes = visitorHashes(7);
  const sketch = Sketch.empty();
  for (let visitor = first; visitor < first + count; visitor++) {
    hashes.make(visitor);
    sketch.add(hashes.hi, hashes.lo);
  }
  return sketch;
}

const scannersOf = (now: Sketch, before: Sketch) => scannersFrom(now.estimate(), now, before);

describe.each([1_000, 100_000, 1_000_000])('%d scanners', (scanners) => {
  it.each([0, 0.1, 0.5, 1])('of whom %d had scanned before', (share) => {
    const returning = scanners * share;
    const before = sketchOf(scanners - returning, scanners);
    const found = scannersOf(sketchOf(0, scanners), before);
    const error = found.error ?? 0;
    expect(error).toBeLessThan(0.02 * scanners);
    if (scanners === 1_000) expect(error).toBe(0);
    const slack = errorsMax * error + 0.5;
    const near = (value: number | null, truth: number): void => {
      // Numbers below the error are not shown.
      if (value === null) expect(truth).toBeLessThan(10 * error + slack);
      else expect(Math.abs(value - truth)).toBeLessThanOrEqual(slack);
    };
    near(found.newScanners, scanners - returning);
    near(found.returningScanners, returning);
    if (share === 0.5) expect([found.newScanners, found.returningScanners]).not.toContain(null);
  });
});

it('all are new when there were no scans before', () => {
  const now = sketchOf(0, 100_000);
  const found = scannersOf(now, Sketch.empty());
  expect(found).toMatchObject({ newScanners: now.estimate(), returningScanners: 0 });
  expect(found.error).toBeGreaterThan(100);
  const none = { newScanners: 0, returningScanners: 0, error: 0 };
  expect(scannersOf(Sketch.empty(), sketchOf(0, 100_000))).toEqual(none);
});

it('few among very many are not shown', () => {
  const found = scannersOf(sketchOf(0, 1_000), sketchOf(500, 1_000_000));
  expect(found).toMatchObject({ newScanners: null, returningScanners: null });
  expect(found.error).toBeGreaterThan(100);
});

it('new and returning ones are no more than there were scans, whatever the sketch estimates', () => {
  const now = sketchOf(0, 100_000);
  const scanners = now.estimate() - 500;
  for (const before of [Sketch.empty(), sketchOf(50_000, 100_000)]) {
    const { newScanners, returningScanners } = scannersFrom(scanners, now, before);
    expect((newScanners ?? 0) + (returningScanners ?? 0)).toBe(scanners);
  }
});
