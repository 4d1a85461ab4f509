import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { type Database, open } from 'lmdb';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { crc32OfView } from '../../src/store/checksum.ts';
import { StoreEnvironment, type TableKey, type ValueTable } from '../../src/store/environment.ts';
import { openTwinTable } from '../../src/store/twin-table.ts';
import { StoredBytes } from '../support/stored-bytes.ts';
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

/** Whatever bit flips in one copy of a mark, it reads as it was written; in both copies it is refused. */

let environment: StoreEnvironment;
const openTwins = () => openTwinTable<number, number>(environment, 'marks', { key: 'uint32' });

beforeEach(() => {
  environment = new StoreEnvironment(join(temporaryFolder(), 'marks.mdb'), 'create');
  const marks = openTwins();
  environment.transactionSync(() => {
    for (let key = 0; key < 3; key++) marks.put(key, key * 1_000);
  });
});
afterEach(() => environment.close());

/** Flips a bit of the value of a key in each of the tables. */
async function flip(key: number, bit: number, ...tables: string[]): Promise<void> {
  const stored = new StoredBytes(environment.path);
  for (const table of tables) stored.flip(table, stored.keys(table)[key]!, bit);
  await stored.close();
  environment.refresh();
}

test.each(['marks', 'marks_copy'])('each bit of a value in %s', async (table) => {
  const stored = new StoredBytes(environment.path);
  const bits = stored.bytes(table, stored.keys(table)[1]!).length * 8;
  await stored.close();
  for (let bit = 0; bit < bits; bit++) {
    await flip(1, bit, table);
    expect(openTwins().get(1)).toBe(1_000);
    expect([...openTwins().range({})].map(({ value }) => value)).toEqual([0, 1_000, 2_000]);
    await flip(1, bit, table);
  }
});

test('both are refused, until the next put', async () => {
  await flip(1, 9, 'marks', 'marks_copy');
  const marks = openTwins();
  expect(() => marks.get(1)).toThrow('damaged');
  expect(() => [...marks.range({})]).toThrow('damaged');
  const damaged: number[] = [];
  const sound = [...marks.range({}, (key) => damaged.push(key))].map(({ key }) => key);
  expect([marks.get(1, () => 'damaged'), sound, damaged]).toEqual(['damaged', [0, 2], [1]]);
  environment.transactionSync(() => marks.put(1, 7));
  await flip(1, 9, 'marks');
  expect(marks.get(1)).toBe(7);
});

test.each([
  ['marks', 'marks_copy'],
  ['marks_copy', 'marks'],
])('one that is damaged in %s and lost in %s is refused', async (one, other) => {
  const table = environment.table<number, number>(other, { key: 'uint32' });
  environment.transactionSync(() => table.remove(1));
  await flip(1, 9, one);
  expect(() => openTwins().get(1)).toThrow('damaged');
});

test('a key that one table has lost is read from the other', () => {
  const first = environment.table<number, number>('marks', { key: 'uint32' });
  const marks = openTwins();
  environment.transactionSync(() => first.remove(1));
  expect([marks.get(1), marks.has(1), marks.count({})]).toEqual([1_000, true, 3]);
  expect([...marks.keys({})]).toEqual([0, 2, 1]);
  environment.transactionSync(() => marks.remove(1));
  expect([marks.get(1), marks.has(1)]).toEqual([undefined, false]);
});

/** Values read where they stand: the same as copies of them, of any size, and as well guarded. */

function openedInPlace() {
  const path = join(temporaryFolder(), 'scans.mdb');
  const environment = new StoreEnvironment(path, 'create');
  onTestFinished(async () => await environment.close());
  const table = environment.table<number, Uint8Array>('blocks', { value: 'binary' });
  const put = (values: readonly Uint8Array[]): void =>
    environment.transactionSync(() => {
      for (const key of Array.from(table.keys({}))) table.remove(key);
      for (const [key, value] of values.entries()) table.put(key, value);
    });
  return { path, environment, table, put };
}

function soundIn(table: ValueTable<number, Uint8Array>): Array<[key: number, value: string]> {
  const found: Array<[number, string]> = [];
  const walk = table.walkInPlace({});
  for (let key = walk.next(); key !== undefined; key = walk.next()) {
    if (!table.isSound(key, walk.value)) continue;
    const { bytes, view, start, end } = walk.value;
    const copied = Buffer.from(bytes.subarray(start, end));
    for (const [at, byte] of copied.entries()) {
      if (view.getUint8(start + at) !== byte) throw new Error(`Byte ${at} of ${key} differs`);
    }
    found.push([key, copied.toString('hex')]);
  }
  return found;
}

test('walkInPlace and getInPlace give what was put', () => {
  const { table, put } = openedInPlace();
  const value = fc.oneof(
    fc.uint8Array({ maxLength: 400 }),
    fc
      .tuple(fc.nat({ max: 255 }), fc.integer({ min: 1_000, max: 200_000 }))
      .map(([byte, length]) => new Uint8Array(length).fill(byte)),
  );
  fc.assert(
    fc.property(fc.array(value, { maxLength: 20 }), (values) => {
      put(values);
      const wanted = Array.from(values, (bytes, key) => [key, Buffer.from(bytes).toString('hex')]);
      expect(soundIn(table)).toEqual(wanted);
      for (const [key, bytes] of values.entries()) {
        const found = table.getInPlace(key)!;
        expect(table.isSound(key, found)).toBe(true);
        expect(Buffer.compare(found.bytes.subarray(found.start, found.end), bytes)).toBe(0);
      }
      expect(table.getInPlace(values.length)).toBeUndefined();
    }),
    { numRuns: 40 },
  );
});

test('isSound notices any bit that changed, in short values and long ones, and notes where', async () => {
  const { path, environment, table, put } = openedInPlace();
  const values = [50, 130, 251, 252, 300, 9_000].map((length) => new Uint8Array(length).fill(7));
  put(values);
  const stored = new StoredBytes(path);
  onTestFinished(async () => await stored.close());
  const keys = stored.keys('blocks');
  fc.assert(
    fc.property(fc.nat({ max: values.length - 1 }), fc.nat(), (at, bit) => {
      stored.flip('blocks', keys[at]!, bit);
      environment.refresh();
      const found = table.getInPlace(at)!;
      expect(table.isSound(at, found)).toBe(false);
      expect(soundIn(table).map(([key]) => key)).not.toContain(at);
      expect(environment.damage.records.map(({ key }) => key)).toContain(String(at));
      stored.flip('blocks', keys[at]!, bit);
      environment.refresh();
      expect(soundIn(table)).toHaveLength(values.length);
    }),
    { numRuns: 60 },
  );
});

test('crc32OfView is the crc32 of zlib, of any part of a buffer and from any seed', () => {
  const seed = fc.integer({ min: 0, max: 2 ** 32 - 1 });
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 300 });
  fc.assert(
    fc.property(bytes, fc.nat({ max: 20 }), seed, (part, start, from) => {
      const view = new DataView(
        Uint8Array.from([...new Uint8Array(start), ...part, ...part]).buffer,
      );
      expect(crc32OfView(view, start, start + part.length, from)).toBe(crc32(part, from));
    }),
  );
});
