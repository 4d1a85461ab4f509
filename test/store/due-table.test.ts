/** Timers fire in order, once for each key, even if the row of a key is damaged. */
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DueTable } from '../../src/store/due-table.ts';
import { StoreEnvironment } from '../../src/store/environment.ts';
import { StoredBytes } from '../support/stored-bytes.ts';
import { timersOf } from './timers.ts';
import { temporaryFolder } from './temporary-management.ts';

let environment: StoreEnvironment;
let table: DueTable<[name: string, no: number]>;

beforeEach(() => {
  environment = new StoreEnvironment(join(temporaryFolder(), 'due.mdb'), 'create');
  table = new DueTable(environment, 'due');
});
afterEach(() => environment.close());

const set = async (name: string, no: number, dueMs: number | undefined): Promise<void> =>
  await environment.transaction(() => table.set([name, no], dueMs));

test('the queue is the set of the last times, by time', async () => {
  const name = fc.constantFrom('a', 'b', 'ab');
  const time = fc.option(fc.integer({ min: 0, max: 9 }), { nil: undefined });
  const moves = fc.array(fc.tuple(name, fc.nat(1), time), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(moves, fc.nat(9), async (done, untilMs) => {
      const last = new Map<string, [number, string, number]>();
      await environment.transaction(() => {
        for (const [, name, no] of timersOf(table)) table.set([name, no], undefined);
        for (const [name, no, dueMs] of done) {
          table.set([name, no], dueMs);
          if (dueMs === undefined) last.delete(name + no);
          else last.set(name + no, [dueMs, name, no]);
        }
      });
      const due = [...last.values()].filter(([dueMs]) => dueMs <= untilMs);
      const entries = table.due(untilMs, 100);
      const times = entries.map(([dueMs]) => dueMs);
      expect(times).toEqual(times.toSorted((one, other) => one - other));
      expect(entries).toHaveLength(due.length);
      expect(entries).toEqual(expect.arrayContaining(due));
      for (const [dueMs, name, no] of last.values()) expect(table.at(name, no)).toBe(dueMs);
    }),
    { numRuns: 50 },
  );
});

test('a damaged row of a key leaves no second timer', async () => {
  await set('a', 1, 5);
  await set('b', 1, 6);
  const stored = new StoredBytes(environment.path);
  stored.flip('due_at', stored.keys('due_at')[0]!, 60);
  await stored.close();
  environment.refresh();
  expect(table.at('a', 1)).toBe(5);
  await set('a', 1, 7);
  expect(timersOf(table).map(String)).toEqual(['6,b,1', '7,a,1']);
});

test('timers of a clock that ran ahead become due now', async () => {
  await set('a', 1, 5);
  await set('b', 1, 5_000);
  await table.pullIn(1_000, 10);
  expect(timersOf(table).map(String)).toEqual(['5,a,1', '10,b,1']);
});

test('a walk over the rows of keys with one part finds no damage', async () => {
  const single = new DueTable<[id: string]>(environment, 'single');
  await environment.transaction(() => single.set(['a'], 5));
  const rows = environment.table<string, number>('single_at').range({});
  expect([...rows]).toEqual([{ key: 'a', value: 5 }]);
});
