/** Whatever bit flips in one copy of a mark, it reads as it was written; in both copies it is refused. */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { StoreEnvironment } from '../../src/store/environment.ts';
import { openTwinTable } from '../../src/store/twin-table.ts';
import { StoredBytes } from '../support/stored-bytes.ts';
import { temporaryFolder } from './temporary-management.ts';

let environment: StoreEnvironment;
const open = () => openTwinTable<number, number>(environment, 'marks', { key: 'uint32' });

beforeEach(() => {
  environment = new StoreEnvironment(join(temporaryFolder(), 'marks.mdb'), 'create');
  const marks = open();
  environment.transactionSync(() => {
    for (let key = 0; key < 3; key++) marks.put(key, key * 1_000);
  });
});
afterEach(() => environment.close());

/** Flips a bit of the value of a key in each of the tables. */
async function flip(key: number, bit: number, ...tables: string[]): Promise<void> {
  const stored = new StoredBytes(environment.path);
  for (const table of tables) stored.flip(table, stored.keys(table)[key]!, bit);
  await stored.close();
  environment.refresh();
}

test.each(['marks', 'marks_copy'])('each bit of a value in %s', async (table) => {
  const stored = new StoredBytes(environment.path);
  const bits = stored.bytes(table, stored.keys(table)[1]!).length * 8;
  await stored.close();
  for (let bit = 0; bit < bits; bit++) {
    await flip(1, bit, table);
    expect(open().get(1)).toBe(1_000);
    expect([...open().range({})].map(({ value }) => value)).toEqual([0, 1_000, 2_000]);
    await flip(1, bit, table);
  }
});

test('both are refused, until the next put', async () => {
  await flip(1, 9, 'marks', 'marks_copy');
  const marks = open();
  expect(() => marks.get(1)).toThrow('damaged');
  expect(() => [...marks.range({})]).toThrow('damaged');
  const damaged: number[] = [];
  const sound = [...marks.range({}, (key) => damaged.push(key))].map(({ key }) => key);
  expect([marks.get(1, () => 'damaged'), sound, damaged]).toEqual(['damaged', [0, 2], [1]]);
  environment.transactionSync(() => marks.put(1, 7));
  await flip(1, 9, 'marks');
  expect(marks.get(1)).toBe(7);
});

test.each([
  ['marks', 'marks_copy'],
  ['marks_copy', 'marks'],
])('one that is damaged in %s and lost in %s is refused', async (one, other) => {
  const table = environment.table<number, number>(other, { key: 'uint32' });
  environment.transactionSync(() => table.remove(1));
  await flip(1, 9, one);
  expect(() => open().get(1)).toThrow('damaged');
});

test('a key that one table has lost is read from the other', () => {
  const first = environment.table<number, number>('marks', { key: 'uint32' });
  const marks = open();
  environment.transactionSync(() => first.remove(1));
  expect([marks.get(1), marks.has(1), marks.count({})]).toEqual([1_000, true, 3]);
  expect([...marks.keys({})]).toEqual([0, 2, 1]);
  environment.transactionSync(() => marks.remove(1));
  expect([marks.get(1), marks.has(1)]).toEqual([undefined, false]);
});
