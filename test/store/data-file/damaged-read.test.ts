/** What LMDB itself finds damaged while it reads: a record behind a damaged page is refused as a damaged one is. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { StoreEnvironment } from '../../../src/store/environment.ts';
import { temporaryFolder } from '../temporary-management.ts';

const pageBytes = 4_096;
const [kindAt, branch, lowerAt, firstOffsetAt, headerBytes] = [18, 1, 20, 24, 24];

async function withBranches(): Promise<string> {
  const path = join(temporaryFolder(), 'data.mdb');
  const environment = new StoreEnvironment(path, 'create');
  const table = environment.table<number, string>('table');
  environment.transactionSync(() => {
    for (let key = 0; key < 500; key++) table.put(key, 'x'.repeat(100));
  });
  await environment.close();
  return path;
}

/** Makes children of every branch page, all or the first, ones that are not there: changes the middle of their numbers. */
function cutBranches(path: string, childrenMax = Infinity): void {
  const bytes = readFileSync(path);
  for (let at = 2 * pageBytes; at < bytes.length; at += pageBytes) {
    if (bytes.readUInt16LE(at + kindAt) !== branch) continue;
    const children = Math.min(childrenMax, bytes.readUInt16LE(at + lowerAt) / 2);
    for (let child = 0; child < children; child++) {
      const node = at + headerBytes + bytes.readUInt16LE(at + firstOffsetAt + 2 * child);
      bytes.writeUInt16LE(0x7fff, node + 2);
    }
  }
  writeFileSync(path, bytes);
}

it('damaged records stay so when a page is damaged that leads to them', async () => {
  const path = await withBranches();
  const bytes = readFileSync(path);
  const value = 'x'.repeat(100);
  for (let at = bytes.indexOf(value); at !== -1; at = bytes.indexOf(value)) bytes.write('y', at);
  writeFileSync(path, bytes);
  const environment = new StoreEnvironment(path);
  const table = environment.table<number, string>('table');
  expect([...table.range({}, () => undefined)]).toEqual([]);
  const { damage } = environment;
  cutBranches(path);
  environment.refresh();
  damage.review();
  expect(damage.records).toHaveLength(500);
  await environment.close();
});

it('a record behind a page that is not there is refused as damaged', async () => {
  const path = await withBranches();
  cutBranches(path, 1);
  const environment = new StoreEnvironment(path);
  const table = environment.table<number, string>('table');
  const damaged = expect.objectContaining({ code: 'data_damaged' });
  for (const read of [() => table.get(0), () => [...table.range({})], () => [...table.keys({})]]) {
    expect(read).toThrow(damaged);
    expect(table.get(499)).toBe('x'.repeat(100));
  }
  expect(table.get(0, () => 'instead')).toBe('instead');
  expect(environment.damage.records).toContainEqual(
    expect.objectContaining({ file: 'data.mdb', table: 'table', key: '0' }),
  );
  await environment.close();
});
