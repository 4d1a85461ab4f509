/** A small store with everything that a data file may have: branch, leaf and overflow pages, free pages, odd keys. */
import { crc32 } from 'node:zlib';
import { createRandom as createNumbers } from '../../../bench/random.ts';
import { StoreEnvironment } from '../../../src/store/environment.ts';

/** Numbers from 0 up to below the argument. */
export type Random = (below: number) => number;

export function createRandom(seed: number): Random {
  const next = createNumbers(seed);
  return (below) => next() % below;
}

const openTables = (environment: StoreEnvironment) => ({
  numbers: environment.table<number, Uint8Array>('numbers', { key: 'uint32', value: 'binary' }),
  pairs: environment.table<[number, string], Uint8Array>('pairs', { value: 'binary' }),
  bytes: environment.table<Uint8Array, Uint8Array>('bytes', { key: 'binary', value: 'binary' }),
});

const keysMax = 700;
const valueBytes = [4, 40, 40, 300, 2_000, 9_000] as const;

/** One transaction of some puts and removals. */
export async function change(environment: StoreEnvironment, random: Random): Promise<void> {
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

export function readAll(environment: StoreEnvironment): Contents {
  let entries = 0;
  let checksum = 0;
  const add = (key: unknown, value: Uint8Array): void => {
    entries++;
    checksum = crc32(value, crc32(String(key), checksum));
  };
  // Its checksum is wrong; LMDB reads it.
  const damaged = (): void => void entries++;
  const { numbers, pairs, bytes } = openTables(environment);
  for (const table of [numbers, pairs, bytes]) {
    for (const { key, value } of table.range({}, damaged)) add(key, value);
  }
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
