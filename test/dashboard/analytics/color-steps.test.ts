/** Five steps of color: whole numbers from 1 to the most, each with a color of its own. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { stepClass, stepOf, stepsOf } from '../../../src/dashboard/analytics/color-steps.ts';

test('even steps are as wide as each other, rising ones are round numbers', () => {
  expect(stepsOf(200, 'even')).toEqual([1, 41, 81, 121, 161]);
  expect(stepsOf(100_000, 'rising')).toEqual([1, 10, 100, 1_000, 10_000]);
  expect(stepsOf(9_000, 'rising')).toEqual([1, 6, 40, 200, 1_000]);
});

test('few scans have few steps, the most of them in the strongest color', () => {
  expect(stepsOf(0, 'even')).toEqual([]);
  expect(stepsOf(2, 'even')).toEqual([1, 2]);
  expect([0, 1, 2].map((scans) => stepClass(scans, stepsOf(2, 'even')))).toEqual([
    'step-0',
    'step-4',
    'step-5',
  ]);
  expect(stepClass(0, [])).toBe('step-0');
});

test('every number has a step that does not fall as numbers rise', () => {
  const spread = fc.constantFrom('even', 'rising');
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1e12 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      spread,
      (most, part, of) => {
        const steps = stepsOf(most, of);
        const some = Math.max(1, Math.floor(most * part));
        expect(steps.length).toBeLessThanOrEqual(5);
        expect(steps.toSorted((a, b) => a - b)).toEqual(steps);
        expect(stepOf(some, steps)).toBeGreaterThanOrEqual(1);
        expect(stepOf(some, steps)).toBeLessThanOrEqual(stepOf(most, steps));
        expect(stepClass(most, steps)).toBe('step-5');
      },
    ),
  );
});
