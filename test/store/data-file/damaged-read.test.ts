/** What LMDB itself finds damaged while it reads: a record behind a damaged page is refused as a damaged one is. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { readMeta } from '../../../src/store/data-file/format.ts';
import { walkSnapshot } from '../../../src/store/data-file/walk.ts';
import { StoreEnvironment } from '../../../src/store/environment.ts';
import { temporaryFolder } from '../temporary-management.ts';
import { asOfAnotherBoot } from './other-boot.ts';

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

function reopened(path: string) {
  const environment = new StoreEnvironment(path);
  onTestFinished(() => environment.close());
  return { environment, table: environment.table<number, string>('table') };
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
  const changed = readFileSync(path, 'latin1').replaceAll('x'.repeat(100), `y${'x'.repeat(99)}`);
  writeFileSync(path, changed, 'latin1');
  const { environment, table } = reopened(path);
  expect([...table.range({}, () => undefined)]).toEqual([]);
  cutBranches(path);
  environment.refresh();
  environment.damage.review();
  expect(environment.damage.records).toHaveLength(500);
});

it('a record behind a page that is not there is refused as damaged', async () => {
  const path = await withBranches();
  cutBranches(path, 1);
  const { environment, table } = reopened(path);
  const damaged = expect.objectContaining({ code: 'data_damaged' });
  for (const read of [() => table.get(0), () => [...table.range({})], () => [...table.keys({})]]) {
    expect(read).toThrow(damaged);
    expect(table.get(499)).toBe('x'.repeat(100));
  }
  expect(table.get(0, () => 'instead')).toBe('instead');
  const record = { file: 'data.mdb', table: 'table', key: '0' };
  expect(environment.damage.records).toContainEqual(expect.objectContaining(record));
});

/** Which of its transactions a data file is read at: the one that LMDB reads. */

/** Each commit adds a record; `entries` has by transaction how many there were. */
async function commit(path: string, commits: number) {
  const environment = new StoreEnvironment(path, 'create');
  const table = environment.table<number, number>('table');
  const entries = new Map<number | undefined, number>();
  for (let no = 1; no <= commits; no++) {
    environment.transactionSync(() => table.put(no, no));
    await environment.flush();
    entries.set(readMeta(path, 'newest')?.transaction, no);
  }
  return { environment, entries };
}

const boots = [0n, 77n].flatMap((boot) => [
  { boot, onDisk: 'newest' as const },
  { boot, onDisk: 'before' as const },
]);
it.each(boots.flatMap((boot) => [6, 7].map((commits) => ({ ...boot, commits }))))(
  'LMDB opens the one that is looked at: boot $boot, $onDisk on the disk, $commits commits',
  async ({ boot, onDisk, commits }) => {
    const path = join(temporaryFolder(), 'data.mdb');
    const { environment, entries } = await commit(path, commits);
    await environment.close();
    asOfAnotherBoot(path, onDisk, boot);
    rmSync(`${path}-lock`);
    const picked = readMeta(path)?.transaction;
    const opened = new StoreEnvironment(path);
    const found = [...opened.table<number, number>('table').range({})].length;
    await opened.close();
    expect(entries.get(picked)).toBe(found);
    expect(found).toBe(onDisk === 'newest' ? commits : commits - 1);
  },
);

it('walks the newest transaction beside a writer of another boot', async () => {
  const path = join(temporaryFolder(), 'data.mdb');
  const { environment } = await commit(path, 5);
  asOfAnotherBoot(path, 'before');
  const found = walkSnapshot(path);
  await environment.close();
  expect(found).toMatchObject({ fault: undefined, entries: 5 });
});
