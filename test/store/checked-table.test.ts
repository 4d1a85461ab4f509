import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { crc32OfView } from '../../src/store/checksum.ts';
import { StoreEnvironment } from '../../src/store/environment.ts';
import { openTwinTable } from '../../src/store/twin-table.ts';
import { StoredBytes } from '../support/stored-bytes.ts';
import { temporaryFolder } from './temporary-management.ts';

/** An environment with tables of every encoding, and the bytes of its file as lmdb-js has them. */
function opened() {
  const path = join(temporaryFolder(), 'management.mdb');
  const environment = new StoreEnvironment(path, 'create');
  const openTwins = () => openTwinTable<number, number>(environment, 'marks', { key: 'uint32' });
  const tables = {
    codes: environment.table<number, unknown>('codes', { key: 'uint32' }),
    copies: environment.table<number, unknown>('copies', { key: 'uint32' }),
    days: environment.table<Uint8Array, Uint8Array>('days', { key: 'binary', value: 'binary' }),
    answers: environment.table<Array<string | number>, string>('answers', { value: 'string' }),
    blocks: environment.table<number, Uint8Array>('blocks', { value: 'binary' }),
    marks: openTwins(),
  };
  const stored = new StoredBytes(path);
  onTestFinished(async () => {
    await stored.close();
    await environment.close();
  });
  const keyOf = (table: string, at: number): Buffer => stored.keys(table)[at]!;
  return {
    environment,
    tables,
    openTwins,
    put: (work: () => void): void => environment.transactionSync(work),
    bytesOf: (table: string, at: number): Buffer => stored.records(table)[at]![1],
    /** The record at this place with other bytes, as a bad disk would have them. */
    overwrite: (table: string, at: number, bytes: Uint8Array): void => {
      stored.put(table, keyOf(table, at), bytes);
      environment.refresh();
    },
    flip: (table: string, at: number, bit: number): void => {
      stored.flip(table, keyOf(table, at), bit);
      environment.refresh();
    },
  };
}

const damaged = expect.objectContaining({ code: 'data_damaged' });

test('refuses a record of which any byte changed, whatever its encoding', () => {
  const { environment, tables, put, overwrite, flip, bytesOf } = opened();
  const key = ['ws', 7];
  const day = Uint8Array.of(0, 0, 0, 9, 1, 2);
  put(() => {
    tables.codes.put(3, ['qr_1', 'https://t.example/', { a: [1, null] }, Buffer.from('x')]);
    tables.answers.put(key, '{"ok":true}');
    tables.days.put(day, Uint8Array.of(1, 0xc1, 0, 255));
  });
  for (const [name, read] of [
    ['codes', () => tables.codes.get(3)],
    ['answers', () => tables.answers.get(key)],
    ['days', () => tables.days.get(day)],
  ] as const) {
    const sound = bytesOf(name, 0);
    for (let at = 0; at < sound.length; at++) {
      const bit = at * 8 + (at & 7);
      flip(name, 0, bit);
      expect(read, `${name} bit ${bit}`).toThrow(damaged);
      flip(name, 0, bit);
    }
    // From the end: what is left of nothing, this test does not find again.
    for (let length = sound.length - 1; length >= 0; length--) {
      overwrite(name, 0, sound.subarray(0, length));
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
  const { tables, put, overwrite, bytesOf } = opened();
  put(() => tables.codes.put(1, ['target']));
  const sound = bytesOf('codes', 0);
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 2 ** 32 - 1 }), (other) => {
      put(() => tables.codes.put(other, ['other']));
      overwrite('codes', 1, sound);
      expect(() => tables.codes.get(other)).toThrow(damaged);
      put(() => tables.codes.remove(other));
    }),
    { numRuns: 50 },
  );
  put(() => tables.copies.put(1, ['target']));
  expect(Buffer.compare(bytesOf('copies', 0), sound)).not.toBe(0);
  const tuples = [['a', 1], ['a', 1.5], ['a', 2], [1, 'a'], ['b', 1], ['a', 1, 0], ['a']];
  for (const key of tuples) put(() => tables.answers.put(key, 'text'));
  const bytes = tuples.map((_, at) => bytesOf('answers', at).toString('hex'));
  expect(new Set(bytes).size).toBe(tuples.length);
});

test('walks on past damage when asked to, and notes each record once until it is repaired', () => {
  const { environment, tables, put, flip } = opened();
  put(() => [1, 2, 3, 4].forEach((no) => tables.codes.put(no, { no })));
  for (const at of [1, 3]) flip('codes', at, 60);
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
function openedTwins() {
  const all = opened();
  const { environment, tables, put } = all;
  put(() => [0, 1, 2].forEach((key) => tables.marks.put(key, key * 1_000)));
  const copyOf = (name: string) => environment.table<number, number>(name, { key: 'uint32' });
  return { ...all, copyOf };
}

test.each(['marks', 'marks_copy'])('each bit of a value in %s', (table) => {
  const { flip, bytesOf, openTwins } = openedTwins();
  const bits = bytesOf(table, 1).length * 8;
  for (let bit = 0; bit < bits; bit++) {
    flip(table, 1, bit);
    expect(openTwins().get(1)).toBe(1_000);
    expect([...openTwins().range({})].map(({ value }) => value)).toEqual([0, 1_000, 2_000]);
    flip(table, 1, bit);
  }
});

test('both are refused, until the next put', () => {
  const { flip, put, openTwins } = openedTwins();
  for (const table of ['marks', 'marks_copy']) flip(table, 1, 9);
  const marks = openTwins();
  expect(() => marks.get(1)).toThrow('damaged');
  expect(() => [...marks.range({})]).toThrow('damaged');
  const skipped: number[] = [];
  const sound = [...marks.range({}, (key) => skipped.push(key))].map(({ key }) => key);
  expect([marks.get(1, () => 'damaged'), sound, skipped]).toEqual(['damaged', [0, 2], [1]]);
  put(() => marks.put(1, 7));
  flip('marks', 1, 9);
  expect(marks.get(1)).toBe(7);
});

test.each(['marks', 'marks_copy'])(
  'one that is damaged in %s is refused if the other lost it',
  (one) => {
    const other = one === 'marks' ? 'marks_copy' : 'marks';
    const { copyOf, flip, put, openTwins } = openedTwins();
    put(() => copyOf(other).remove(1));
    flip(one, 1, 9);
    expect(() => openTwins().get(1)).toThrow('damaged');
  },
);

test('a key that one table has lost is read from the other', () => {
  const { copyOf, put, openTwins } = openedTwins();
  const marks = openTwins();
  put(() => copyOf('marks').remove(1));
  expect([marks.get(1), marks.has(1), marks.count({})]).toEqual([1_000, true, 3]);
  expect([...marks.keys({})]).toEqual([0, 2, 1]);
  put(() => marks.remove(1));
  expect([marks.get(1), marks.has(1)]).toEqual([undefined, false]);
});

/** Values read where they stand: the same as copies of them, of any size, and as well guarded. */
function openedInPlace() {
  const all = opened();
  const { blocks } = all.tables;
  const fill = (values: readonly Uint8Array[]): void =>
    all.put(() => {
      for (const key of Array.from(blocks.keys({}))) blocks.remove(key);
      for (const [key, value] of values.entries()) blocks.put(key, value);
    });
  /** By key. */
  const sound = (): Map<number, Buffer> => {
    const found = new Map<number, Buffer>();
    const walk = blocks.walkInPlace({});
    for (let key = walk.next(); key !== undefined; key = walk.next()) {
      if (!blocks.isSound(key, walk.value)) continue;
      const { bytes, view, start, end } = walk.value;
      const viewed = new Uint8Array(view.buffer, view.byteOffset + start, end - start);
      expect(Buffer.compare(viewed, bytes.subarray(start, end))).toBe(0);
      found.set(key, Buffer.from(viewed));
    }
    return found;
  };
  return { ...all, blocks, fill, sound };
}

test('walkInPlace and getInPlace give what was put', () => {
  const { blocks, fill, sound } = openedInPlace();
  const short = fc.uint8Array({ maxLength: 400 });
  const size = fc.tuple(fc.nat({ max: 255 }), fc.integer({ min: 1_000, max: 200_000 }));
  const long = size.map(([byte, length]) => new Uint8Array(length).fill(byte));
  const value = fc.oneof(short, long);
  fc.assert(
    fc.property(fc.array(value, { maxLength: 20 }), (values) => {
      fill(values);
      const walked = sound();
      expect([...walked.keys()]).toEqual([...values.keys()]);
      for (const [key, bytes] of values.entries()) {
        expect(walked.get(key)?.equals(bytes)).toBe(true);
        const found = blocks.getInPlace(key)!;
        expect(blocks.isSound(key, found)).toBe(true);
        expect(Buffer.compare(found.bytes.subarray(found.start, found.end), bytes)).toBe(0);
      }
      expect(blocks.getInPlace(values.length)).toBeUndefined();
    }),
    { numRuns: 40 },
  );
});

test('isSound notices any bit that changed, in short values and long ones, and notes where', () => {
  const { environment, blocks, fill, flip, sound } = openedInPlace();
  const values = [50, 130, 251, 252, 300, 9_000].map((length) => new Uint8Array(length).fill(7));
  fill(values);
  fc.assert(
    fc.property(fc.nat({ max: values.length - 1 }), fc.nat(), (at, bit) => {
      flip('blocks', at, bit);
      expect(blocks.isSound(at, blocks.getInPlace(at)!)).toBe(false);
      expect([...sound().keys()]).not.toContain(at);
      expect(environment.damage.records.map(({ key }) => key)).toContain(String(at));
      flip('blocks', at, bit);
      expect(sound().size).toBe(values.length);
    }),
    { numRuns: 60 },
  );
});

test('crc32OfView is the crc32 of zlib, of any part of a buffer and from any seed', () => {
  const seed = fc.integer({ min: 0, max: 2 ** 32 - 1 });
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 300 });
  fc.assert(
    fc.property(bytes, fc.nat({ max: 20 }), seed, (part, start, from) => {
      const all = Uint8Array.from([...new Uint8Array(start), ...part, ...part]);
      const view = new DataView(all.buffer);
      expect(crc32OfView(view, start, start + part.length, from)).toBe(crc32(part, from));
    }),
  );
});
