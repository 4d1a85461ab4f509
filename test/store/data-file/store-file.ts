/** A small store with everything that a data file may have: branch, leaf and overflow pages, free pages, odd keys. */
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { createRandom as createNumbers } from '../../../bench/random.ts';
import { StoreEnvironment, type Table } from '../../../src/store/environment.ts';

/** Numbers from 0 up to below the argument. */
export type Random = (below: number) => number;

export function createRandom(seed: number): Random {
  const next = createNumbers(seed);
  return (below) => next() % below;
}

function openTables(environment: StoreEnvironment) {
  const binary = { key: 'binary', value: 'binary' } as const;
  const numbers: Table<number, Uint8Array> = environment.table('numbers', {
    key: 'uint32',
    value: 'binary',
  });
  const pairs: Table<[number, string], Uint8Array> = environment.table('pairs', {
    value: 'binary',
  });
  const bytes: Table<Uint8Array, Uint8Array> = environment.table('bytes', binary);
  return { numbers, pairs, bytes };
}

const keysMax = 700;
const valueBytes = [4, 40, 40, 300, 2_000, 9_000] as const;

/** One transaction of some puts and removals. */
async function change(environment: StoreEnvironment, random: Random): Promise<void> {
  const { numbers, pairs, bytes } = openTables(environment);
  await environment.transaction(() => {
    for (let left = random(60); left > 0; left--) {
      const key = random(keysMax);
      const pair: [number, string] = [key % 9, 'p'.repeat(key % 60) + key];
      const name = Buffer.from(`${key}-`.repeat(1 + (key % 20)));
      const value = Buffer.alloc(1 + random(valueBytes[random(valueBytes.length)] ?? 1), key);
      const table = random(6);
      if (table === 0) numbers.put(key, value);
      else if (table === 1) pairs.put(pair, value);
      else if (table === 2) bytes.put(name, value);
      else if (table === 3) numbers.remove(key);
      else if (table === 4) pairs.remove(pair);
      else bytes.remove(name);
    }
  });
}

/** What reading every record gives: the count and a checksum of all keys and values. */
export interface Contents {
  readonly entries: number;
  readonly checksum: number;
}

function readAll(environment: StoreEnvironment): Contents {
  let entries = 0;
  let checksum = 0;
  const add = (key: unknown, value: Uint8Array): void => {
    entries++;
    checksum = crc32(value, crc32(String(key), checksum));
  };
  // Its checksum is wrong; LMDB reads it.
  const damaged = (): void => void entries++;
  const { numbers, pairs, bytes } = openTables(environment);
  for (const { key, value } of numbers.range({}, damaged)) add(key, value);
  for (const { key, value } of pairs.range({}, damaged)) add(key, value);
  for (const { key, value } of bytes.range({}, damaged))
    add(Buffer.from(key).toString('hex'), value);
  return { entries, checksum };
}

/** Makes such a file, and closes it. */
export async function makeStore(path: string, seed: number, changes = 60): Promise<Contents> {
  const environment = new StoreEnvironment(path, 'create');
  const random = createRandom(seed);
  for (let at = 0; at < changes; at++) await change(environment, random);
  const contents = readAll(environment);
  await environment.flush();
  await environment.close();
  return contents;
}

/**
 * A process of its own that opens data files with LMDB, reads all of each and writes to it: where that ends the
 * process, the test sees it, and goes on.
 */

process.on('message', (path) => {
  void read(String(path)).then((answer) => process.send?.(answer));
});

async function read(path: string): Promise<object> {
  let environment: StoreEnvironment | undefined;
  try {
    environment = new StoreEnvironment(path);
    const contents = readAll(environment);
    const random = createRandom(1);
    for (let at = 0; at < 3; at++) await change(environment, random);
    readAll(environment);
    return contents;
  } catch (error) {
    return { error: String(error) };
  } finally {
    await environment?.close();
  }
}

/** Data files as another boot left them: of another machine, of before a restart, or seen from another container. */

/** The two meta pages, and lmdb-js's third in the middle of the first: of what has reached the disk. */
const [even, confirmed, odd] = [0, 2_048, 4_096];
const metaBytes = 168;
const flagsAt = 52;
const transactionAt = 152;
const bootAt = 160;
const unconfirmed = 0x1000;

/** @param onDisk the transaction that has reached the disk: the newest at rest, the one before in the middle of a commit */
export function asOfAnotherBoot(path: string, onDisk: 'newest' | 'before', boot = 77n): void {
  const file = openSync(path, 'r+');
  const metas = [even, odd].map((at) => {
    const bytes = Buffer.alloc(metaBytes);
    readSync(file, bytes, 0, metaBytes, at);
    bytes.writeBigInt64LE(boot, bootAt);
    bytes.writeUInt16LE(bytes.readUInt16LE(flagsAt) | unconfirmed, flagsAt);
    return { at, bytes, transaction: bytes.readBigUInt64LE(transactionAt) };
  });
  for (const { at, bytes } of metas) writeSync(file, bytes, 0, metaBytes, at);
  const [before, newest] = metas.toSorted((a, b) => (a.transaction < b.transaction ? -1 : 1));
  const bytes = (onDisk === 'newest' ? newest : before)?.bytes;
  if (bytes === undefined) throw new Error('Cannot find the meta pages');
  bytes.writeUInt16LE(bytes.readUInt16LE(flagsAt) & ~unconfirmed, flagsAt);
  // Without magic and version: only what follows them is read here.
  writeSync(file, bytes, 32, metaBytes - 32, confirmed + 32);
  closeSync(file);
}
