/** The state that a watch is shown in. */
import { expect, it } from 'vitest';
import {
  type WatchFindings,
  type WatchRules,
  watchStateOf,
} from '../../src/model/watches/watch.ts';

const silent = { incidentId: 'inc_1', sinceMs: 1 };
const scansCheckedAtMs = 5;
const targetCheckedAtMs = 5;
const scans: WatchRules = { silentHours: 5, target: false, mailTo: [] };
const target: WatchRules = { target: true, mailTo: [] };
const both: WatchRules = { spikeFactor: 3, target: true, mailTo: [] };

it.each<[string, WatchRules, Partial<WatchFindings>]>([
  ['pending', scans, {}],
  ['pending', target, { scansCheckedAtMs }],
  ['pending', both, { scansCheckedAtMs }],
  ['silent', both, { scansCheckedAtMs, silent }],
  ['ok', scans, { scansCheckedAtMs }],
  ['ok', target, { targetCheckedAtMs }],
  ['ok', both, { scansCheckedAtMs, targetCheckedAtMs }],
])('%s: %o %o', (state, rules, findings) => {
  expect(watchStateOf(rules, { gaps: [], failing: [], ...findings })).toBe(state);
});
