/** Which of its transactions a data file is read at: the one that LMDB reads. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readMeta } from '../../../src/store/data-file/format.ts';
import { walkSnapshot } from '../../../src/store/data-file/walk.ts';
import { StoreEnvironment } from '../../../src/store/environment.ts';
import { temporaryFolder } from '../temporary-management.ts';
import { asOfAnotherBoot } from './other-boot.ts';

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

it.each(
  [0n, 77n].flatMap((boot) =>
    (['newest', 'before'] as const).flatMap((onDisk) =>
      [6, 7].map((commits) => ({ boot, onDisk, commits })),
    ),
  ),
)(
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
