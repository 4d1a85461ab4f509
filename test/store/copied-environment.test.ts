/** A copy of a data file says the same on every machine: commits that only this boot knows as whole are in it, too. */
import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { keepNewest, StoreEnvironment } from '../../src/store/environment.ts';
import { temporaryFolder } from './temporary-management.ts';

/** The two meta pages, and lmdb-js's third in the middle of the first: of what has reached the disk. */
const [first, confirmed, second] = [0, 2_048, 4_096];
const metaBytes = 168;
const flagsAt = 52;
const transactionAt = 152;
const bootAt = 160;
const unconfirmed = 0x1000;

/** Makes the file one of a machine that was copied between a commit and its sync, on another boot. */
function asFromAnotherMachine(path: string): void {
  const file = openSync(path, 'r+');
  const metas = [first, second].map((at) => {
    const bytes = Buffer.alloc(metaBytes);
    readSync(file, bytes, 0, metaBytes, at);
    bytes.writeBigInt64LE(77n, bootAt);
    return { at, bytes, transaction: bytes.readBigUInt64LE(transactionAt) };
  });
  const [older, newer] = metas.toSorted((a, b) => (a.transaction < b.transaction ? -1 : 1));
  if (older === undefined || newer === undefined) throw new Error('Cannot find the meta pages');
  newer.bytes.writeUInt16LE(newer.bytes.readUInt16LE(flagsAt) | unconfirmed, flagsAt);
  for (const { at, bytes } of metas) writeSync(file, bytes, 0, metaBytes, at);
  older.bytes.writeUInt16LE(older.bytes.readUInt16LE(flagsAt) & ~unconfirmed, flagsAt);
  // Without magic and version: only what follows them is read here.
  writeSync(file, older.bytes, 32, metaBytes - 32, confirmed + 32);
  closeSync(file);
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
