/** Journals while two processes write them. */
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CountedJournals } from '../../../src/engine/journals.ts';
import { openScanStore, type ScanStore } from '../../../src/store/scans/scans.ts';
import { createLog } from '../../../src/telemetry/log.ts';

const log = createLog('silent');
let folder = '';
let store: ScanStore;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quietzone-journals-'));
  mkdirSync(join(folder, 'journal'));
  store = openScanStore(join(folder, 'scans.mdb'), 'create');
});
afterEach(async () => {
  await store.environment.close();
  rmSync(folder, { recursive: true, force: true });
});

const root = () => join(folder, 'journal');
const open = (threads: number, others?: readonly number[]) =>
  new CountedJournals(store, { root: root(), threads, log, others });

test.each([
  { others: undefined, own: [0, 1] },
  { others: [0, 1], own: [2, 3] },
  { others: [2, 3], own: [0, 1] },
  { others: [0], own: [1, 2] },
  { others: [1, 2, 5], own: [0, 3] },
])('beside $others the journals are $own', ({ others, own }) => {
  expect(open(2, others).own).toEqual(own);
});

test("another process's journal is left as it is until that has ended, then its torn tail is cut", () => {
  const before = open(1);
  const file = join(before.folder(0), '0000000000000000.log');
  appendFileSync(file, 'the first half of a record');
  const after = open(1, before.own);
  expect(after.own).toEqual([1]);
  expect(statSync(file).size).toBeGreaterThan(0);
  expect(after.tails.journals).toEqual([1]);
  after.recoverOthers();
  expect(statSync(file).size).toBe(0);
  expect(readdirSync(root()).toSorted()).toEqual(['0', '1']);
});

test('what an earlier process has left under our numbers, and under others, is recovered at once', () => {
  const first = open(3);
  for (const journal of first.own)
    appendFileSync(join(first.folder(journal), '0000000000000000.log'), 'torn');
  const next = open(1, [0]);
  const sizes = first.own.map((n) => statSync(join(first.folder(n), '0000000000000000.log')).size);
  expect(next.own).toEqual([1]);
  expect(sizes).toEqual([4, 0, 0]);
});
