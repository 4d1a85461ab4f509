/** Copies of a data file beside its writer: each is one moment of it, whole, and says the same on every machine. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { copyEnvironment } from '../../src/engine/backup/copy-files.ts';
import { pinSnapshot } from '../../src/engine/backup/folder-access.ts';
import { readMeta } from '../../src/store/data-file/format.ts';
import { walkDataFile, walkSnapshot } from '../../src/store/data-file/walk.ts';
import { StoreEnvironment } from '../../src/store/environment.ts';
import { asOfAnotherBoot } from '../store/data-file/other-boot.ts';
import type { Account, AccountsOrder } from './accounts.worker.ts';
import { memoryDisk } from './memory-disk.ts';

const accounts = 3_000;
const copies = 3;

test('a copy and a walk beside a writer see one moment of it', async () => {
  const folder = mkdtempSync(join(memoryDisk, 'quietzone-copies-'));
  const path = join(folder, 'data.mdb');
  const environment = new StoreEnvironment(path, 'create');
  const table = environment.table<number, Account>('accounts');
  environment.transactionSync(() => {
    for (let no = 0; no < accounts; no++) table.put(no, [100, 'x'.repeat(200)]);
  });
  await environment.close();
  const order: AccountsOrder = { path, accounts, commits: new SharedArrayBuffer(4) };
  const commits = new Int32Array(order.commits);
  const writer = new Worker(new URL('./accounts.worker.ts', import.meta.url), {
    workerData: order,
  });
  const moreCommits = async (): Promise<void> => {
    const until = Atomics.load(commits, 0) + 40;
    while (Atomics.load(commits, 0) < until) await sleep(1);
  };
  for (let copy = 0; copy < copies; copy++) {
    const to = join(folder, `copy-${copy}.mdb`);
    // After the meta pages are read, the writer reuses pages, as it does while a large file is copied.
    await copyEnvironment(
      path,
      to,
      () => undefined,
      async () => pinSnapshot(path),
      moreCommits,
    );
    expect(walkDataFile(to).fault).toBeUndefined();
    expect(readMeta(to)?.isSynced).toBe(true);
    const copied = new StoreEnvironment(to);
    const balances = [...copied.table<number, Account>('accounts').range({})];
    expect(balances).toHaveLength(accounts);
    expect(balances.reduce((sum, { value: [balance] }) => sum + balance, 0)).toBe(100 * accounts);
    await copied.close();
  }
  // Holds up the walk, as a large file would: a page that one transaction has freed is reused two later.
  const waitForCommits = (): void => {
    const until = Atomics.load(commits, 0) + 4;
    while (Atomics.load(commits, 0) < until) Atomics.wait(commits, 0, 0, 1);
  };
  for (let walk = 0; walk < copies; walk++) {
    const found = walkSnapshot(path, { onProgress: waitForCommits });
    expect(found).toMatchObject({ fault: undefined, entries: accounts });
  }
  const ended = once(writer, 'exit');
  writer.postMessage('stop');
  await ended;
  rmSync(folder, { recursive: true });
});

/** As in a container that has a boot id of its own, or after a restart of the machine. */
test.each([
  { commits: 6, onDisk: 'newest' },
  { commits: 7, onDisk: 'newest' },
  { commits: 7, onDisk: 'before' },
] as const)('a copy of another boot is whole: $commits, $onDisk', async ({ commits, onDisk }) => {
  const folder = mkdtempSync(join(memoryDisk, 'quietzone-copies-'));
  const [path, to] = [join(folder, 'data.mdb'), join(folder, 'copy.mdb')];
  const environment = new StoreEnvironment(path, 'create');
  const table = environment.table<number, string>('texts');
  for (let no = 1; no <= commits; no++) {
    // Short texts fit into pages that are free; the last one needs more, and makes the file longer.
    const text = 'x'.repeat(no === commits ? 200_000 : 20_000);
    environment.transactionSync(() => table.put(no % 2, text));
    await environment.flush();
  }
  asOfAnotherBoot(path, onDisk);
  await copyEnvironment(
    path,
    to,
    () => undefined,
    async () => pinSnapshot(path),
  );
  expect(walkDataFile(to).fault).toBeUndefined();
  const copied = new StoreEnvironment(to);
  expect(copied.table<number, string>('texts').get(commits % 2)).toHaveLength(200_000);
  await copied.close();
  await environment.close();
  rmSync(folder, { recursive: true });
});
