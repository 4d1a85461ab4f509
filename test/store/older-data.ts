/** Data as the release before checksums wrote it: what stands in a file now, without them. */
import { open, type RangeOptions } from 'lmdb';

const mark = 0xc1;
const checksumBytes = 5;
/** From the first key: a range without a start begins at a key that tables of numbers cannot have. */
const whole: RangeOptions = Object.fromEntries([['start', undefined]]);
/** Version of each file before checksums, by its key in `meta`. */
const versions = {
  management: ['schema', 2],
  scans: ['schemaVersion', 1],
  delivery: ['schema', 1],
} as const;

/** Takes the checksums out of a closed file. @returns how many records had one */
export async function makeOlder(path: string, kind: keyof typeof versions): Promise<number> {
  const root = open({ path, noSubdir: true, maxDbs: 128 });
  let records = 0;
  for (const name of [...root.getKeys()].map(String)) {
    const table = root.openDB<Uint8Array, Uint8Array>({
      name,
      encoding: 'binary',
      keyEncoding: 'binary',
    });
    const entries = [...table.getRange(whole)].map(({ key, value }) => ({
      key,
      value: Buffer.from(value),
    }));
    root.transactionSync(() => {
      for (const { key, value } of entries) {
        if (value[0] !== mark) continue;
        records++;
        table.putSync(key, value.subarray(checksumBytes));
      }
    });
  }
  const meta = root.openDB<number, string>({ name: 'meta' });
  meta.removeSync('checksums');
  const [key, version] = versions[kind];
  meta.putSync(key, version);
  await root.close();
  return records;
}

/** Records of a closed file, of sets none, and how many of them have no checksum. */
export async function countRecords(path: string): Promise<{ with: number; without: number }> {
  const root = open({ path, noSubdir: true, maxDbs: 128 });
  const count = { with: 0, without: 0 };
  for (const name of [...root.getKeys()].map(String)) {
    const table = root.openDB<Uint8Array, Uint8Array>({
      name,
      encoding: 'binary',
      keyEncoding: 'binary',
    });
    for (const { value } of table.getRange(whole)) {
      if (value[0] === mark) count.with++;
      else if (value.length > 1) count.without++;
    }
  }
  await root.close();
  return count;
}

/** Flips a bit of the value under a key, as a bad disk does. */
export async function flipBit(
  path: string,
  name: string,
  key: number | string,
  keyEncoding: 'uint32' | 'ordered-binary' = 'ordered-binary',
): Promise<void> {
  const root = open({ path, noSubdir: true, maxDbs: 128 });
  const table = root.openDB<Uint8Array, number | string>({ name, encoding: 'binary', keyEncoding });
  const value = Buffer.from(table.get(key)!);
  value[value.length - 3]! ^= 4;
  table.putSync(key, value);
  await root.close();
}
