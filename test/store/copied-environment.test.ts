/** A copy of a data file says the same on every machine: commits that only this boot knows as whole are in it, too. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { keepNewest } from '../../src/store/copied-file.ts';
import { StoreEnvironment } from '../../src/store/environment.ts';
import { asOfAnotherBoot } from './data-file/other-boot.ts';
import { temporaryFolder } from './temporary-management.ts';

/** Makes the file one of a machine that was copied between a commit and its sync, on another boot. */
function asFromAnotherMachine(path: string): void {
  asOfAnotherBoot(path, 'before');
  rmSync(`${path}-lock`);
}

async function written(): Promise<string> {
  const path = join(temporaryFolder(), 'data.mdb');
  const environment = new StoreEnvironment(path, 'create');
  const table = environment.table<string, number>('table');
  for (const value of [1, 2]) environment.transactionSync(() => table.put('value', value));
  await environment.close();
  return path;
}

async function valueIn(path: string): Promise<number | undefined> {
  const environment = new StoreEnvironment(path);
  const value = environment.table<string, number>('table').get('value');
  await environment.close();
  return value;
}

test('a file of another machine goes back to what had reached its disk', async () => {
  const path = await written();
  asFromAnotherMachine(path);
  expect(await valueIn(path)).toBe(1);
});

test('a copy keeps its newest commit there', async () => {
  const path = await written();
  asFromAnotherMachine(path);
  await keepNewest(path);
  expect(await valueIn(path)).toBe(2);
});
