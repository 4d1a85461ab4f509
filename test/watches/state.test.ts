/** The state that a watch is shown in. */
import { expect, it } from 'vitest';
import { type WatchFindings, watchStateOf } from '../../src/model/watches/watch.ts';

const silent = { incidentId: 'inc_1', sinceMs: 1 };
const scans = { scansDueMs: 9, scansCheckedAtMs: 5 };

it.each([
  ['pending', { scansDueMs: 9 }],
  ['pending', { targetDueMs: 9 }],
  ['pending', { ...scans, targetDueMs: 9 }],
  ['silent', { ...scans, silent, targetDueMs: 9 }],
  ['ok', scans],
  ['ok', { ...scans, targetDueMs: 9, targetCheckedAtMs: 5 }],
] as const)('%s: %o', (state, findings: Partial<WatchFindings>) => {
  expect(watchStateOf({ gaps: [], failing: [], ...findings })).toBe(state);
});
