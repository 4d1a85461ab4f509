import { join } from 'node:path';
import fc from 'fast-check';
import { type Database, open } from 'lmdb';
import { expect, onTestFinished, test } from 'vitest';
import { StoreEnvironment, type TableKey } from '../../src/store/environment.ts';
import { temporaryFolder } from './temporary-management.ts';

const keyEncodings = { codes: 'uint32', days: 'binary', answers: 'ordered-binary' } as const;
/** lmdb's flag NO_SYNC_FLUSH; its enum has no value at run time. */
const withoutSync: number = 0x10000;
type Name = keyof typeof keyEncodings;

/** An environment, and the bytes of its file as lmdb-js has them. */
function opened() {
  const path = join(temporaryFolder(), 'management.mdb');
  const environment = new StoreEnvironment(path, 'create');
  onTestFinished(async () => await environment.close());
  const tables = {
    codes: environment.table<number, unknown>('codes', { key: 'uint32' }),
    days: environment.table<Uint8Array, Uint8Array>('days', { key: 'binary', value: 'binary' }),
    answers: environment.table<Array<string | number>, string>('answers', {
      value: 'string',
    }),
  };
  const root = open({ path, noSubdir: true, maxDbs: 64 });
  onTestFinished(async () => await root.close());
  const plain = <K extends TableKey>(name: Name): Database<Uint8Array, K> =>
    root.openDB<Uint8Array, K>({ name, encoding: 'binary', keyEncoding: keyEncodings[name] });
  const plains = { codes: plain('codes'), days: plain('days'), answers: plain('answers') };
  const raw = (name: Name): Database<Uint8Array> => plains[name];
  const put = (work: () => void): void => environment.transactionSync(work);
  /** The same record with other bytes, as a bad disk would have them. */
  const overwrite = (name: Name, key: TableKey, bytes: Uint8Array): void => {
    root.transactionSync(() => raw(name).putSync(key, bytes), withoutSync);
    environment.refresh();
  };
  const bytesOf = (name: Name, key: TableKey): Uint8Array => {
    root.resetReadTxn();
    return raw(name).get(key)!;
  };
  return { environment, tables, raw, put, overwrite, bytesOf };
}

const flipped = (bytes: Uint8Array, bit: number): Uint8Array =>
  bytes.map((byte, at) => (at === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte));

const damaged = expect.objectContaining({ code: 'data_damaged' });

test('refuses a record of which any byte changed, whatever its encoding', () => {
  const { environment, tables, put, overwrite, bytesOf } = opened();
  const key = ['ws', 7];
  const day = Uint8Array.of(0, 0, 0, 9, 1, 2);
  put(() => {
    tables.codes.put(3, ['qr_1', 'https://t.example/', { a: [1, null] }, Buffer.from('x')]);
    tables.answers.put(key, '{"ok":true}');
    tables.days.put(day, Uint8Array.of(1, 0xc1, 0, 255));
  });
  for (const [name, of] of [
    ['codes', 3],
    ['answers', key],
    ['days', day],
  ] as const) {
    const sound = bytesOf(name, of);
    for (let at = 0; at < sound.length; at++) {
      const bit = at * 8 + (at & 7);
      overwrite(name, of, flipped(sound, bit));
      const read = (): unknown =>
        name === 'codes'
          ? tables.codes.get(3)
          : name === 'answers'
            ? tables.answers.get(key)
            : tables.days.get(day);
      expect(read, `${name} bit ${bit}`).toThrow(damaged);
    }
    for (let length = 0; length < sound.length; length++) {
      overwrite(name, of, sound.subarray(0, length));
      expect(() => [...tables[name].range({})], `${name} cut at ${length}`).toThrow(damaged);
    }
  }
  expect(environment.damage.records).toMatchObject([
    { file: 'management.mdb', table: 'codes', key: '3' },
    { file: 'management.mdb', table: 'answers', key: '… 7' },
    { file: 'management.mdb', table: 'days', key: '000000090102' },
  ]);
});

test('refuses a record under another key, and in another table', () => {
  const { environment, tables, put, overwrite, bytesOf } = opened();
  put(() => tables.codes.put(1, ['target']));
  const sound = bytesOf('codes', 1);
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 2 ** 32 - 1 }), (other) => {
      overwrite('codes', other, sound);
      expect(() => tables.codes.get(other)).toThrow(damaged);
    }),
    { numRuns: 50 },
  );
  const copies = environment.table<number, unknown>('copies', { key: 'uint32' });
  put(() => copies.put(1, ['target']));
  expect(Buffer.compare(bytesOf('codes', 1), sound)).toBe(0);
  const tuples = [['a', 1], ['a', 1.5], ['a', 2], [1, 'a'], ['b', 1], ['a', 1, 0], ['a']];
  for (const key of tuples) put(() => tables.answers.put(key, 'text'));
  const stored = tuples.map((key) => Buffer.from(bytesOf('answers', key)).toString('hex'));
  expect(new Set(stored).size).toBe(tuples.length);
});

test('walks on past damage when asked to, and notes each record once until it is repaired', () => {
  const { environment, tables, put, overwrite, bytesOf } = opened();
  put(() => [1, 2, 3, 4].forEach((no) => tables.codes.put(no, { no })));
  for (const no of [2, 4]) overwrite('codes', no, flipped(bytesOf('codes', no), 60));
  let noticed = 0;
  environment.damage.noticed.listen(() => void noticed++);
  for (let round = 0; round < 2; round++) {
    const skipped: number[] = [];
    const found = [...tables.codes.range({}, (no) => void skipped.push(no))];
    expect(found.map(({ key }) => key)).toEqual([1, 3]);
    expect(skipped).toEqual([2, 4]);
  }
  expect(tables.codes.get(2, (no) => `instead of ${no}`)).toBe('instead of 2');
  expect(() => [...tables.codes.range({})]).toThrow(damaged);
  expect(noticed).toBe(2);
  expect(environment.damage.records).toMatchObject([
    { file: 'management.mdb', table: 'codes', key: '2' },
    { file: 'management.mdb', table: 'codes', key: '4' },
  ]);
  put(() => {
    tables.codes.put(2, { no: 2 });
    tables.codes.remove(4);
  });
  expect(environment.damage.records).toEqual([]);
  expect([...tables.codes.range({})].map(({ key }) => key)).toEqual([1, 2, 3]);
});
