/** Values read where they stand: the same as copies of them, of any size, and as well guarded. */
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { StoreEnvironment, type ValueTable } from '../../src/store/environment.ts';
import { StoredBytes } from '../support/stored-bytes.ts';
import { temporaryFolder } from './temporary-management.ts';

function opened() {
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
  const { table, put } = opened();
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
  const { path, environment, table, put } = opened();
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
