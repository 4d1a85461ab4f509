import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  chainBytes,
  decodeWrites,
  encodeEntry,
  encodeWrites,
  type Entry,
  type ReadEntry,
  readEntry,
  writesBytesMax,
} from '../../../src/cluster/log/entry.ts';
import { packPlain, unpackPlain } from '../../../src/store/codec.ts';
import type { StoredWrite } from '../../../src/store/replicated-transactions.ts';
import type { TableKey } from '../../../src/store/table.ts';

const bytes = (min: number, max: number) =>
  fc.uint8Array({ minLength: min, maxLength: max }).map((value) => Buffer.from(value));
const count = fc.oneof(fc.nat(300), fc.maxSafeNat());
const text = fc.string({ unit: 'binary', maxLength: 40 });

const content = fc.oneof(
  fc.record({
    kind: fc.constant('lead' as const),
    leader: fc.record({ owner: text, url: text, version: text }),
    after: count,
  }),
  fc.tuple(count, fc.integer({ min: 1, max: 300 }), bytes(0, 400)).map(([part, more, value]) => ({
    kind: 'tx' as const,
    part: Math.min(part, Number.MAX_SAFE_INTEGER - more),
    parts: Math.min(part + more, Number.MAX_SAFE_INTEGER),
    bytes: value,
  })),
  fc.record({ kind: fc.constant('beat' as const), count }),
  fc.record({ kind: fc.constant('release' as const), to: text }),
);
const entry: fc.Arbitrary<Entry> = fc
  .tuple(count, count, bytes(chainBytes, chainBytes), content)
  .map(([epoch, n, chain, what]) => ({ epoch: Math.max(1, epoch), n, chain, ...what }));

const chain = Buffer.alloc(chainBytes, 7);
const beat: Entry = { epoch: 3, n: 4, chain, kind: 'beat', count: 5 };
const release: Entry = { epoch: 3, n: 4, chain, kind: 'release', to: 'b.7' };
const tx: Entry = { epoch: 3, n: 4, chain, kind: 'tx', part: 1, parts: 2, bytes: chain };
const leader = { owner: 'a.1', url: 'https://a', version: '2.0' };
const lead: Entry = { epoch: 3, n: 0, chain, kind: 'lead', leader, after: 9 };

/** The entry's fields, one of them changed. */
function changed(of: Entry, at: number, value: unknown): Uint8Array {
  const fields = unpackPlain(encodeEntry(of)) as unknown[];
  return packPlain(fields.with(at, value));
}

const noIntegers = [-1, 0.5, 2 ** 53, Infinity, NaN, 2n ** 63n, -5n];
const noCounts = [...noIntegers, null, undefined, '1', [1], chain];
const noTexts = [0, null, undefined, false, chain, []];
const noBytes = ['abc', 0, null, undefined, [1, 2]];

describe('an entry', () => {
  it('is read as it was written, of any kind', () => {
    fc.assert(
      fc.property(entry, (written) => {
        const { epoch, n, chain, ...content } = written;
        const read: ReadEntry = { head: { version: 1, epoch, n }, chain, content };
        expect(readEntry(encodeEntry(written))).toEqual(read);
      }),
    );
  });

  it('is nothing when it is cut off, or bytes follow it', () => {
    for (const whole of [beat, release, tx, lead].map(encodeEntry)) {
      for (let end = 0; end < whole.length; end++) {
        expect(readEntry(whole.subarray(0, end))).toBeUndefined();
      }
      expect(readEntry(Buffer.concat([whole, Buffer.alloc(1)]))).toBeUndefined();
    }
  });

  it('is invalid if its head is not a count, or its chain has another type or length', () => {
    const noChains = [...noBytes, chain.subarray(1), Buffer.alloc(chainBytes + 1)];
    const bad = [[0, ...noCounts], [0, ...noCounts], noCounts, noChains];
    for (const [at, values] of bad.entries()) {
      for (const value of values) expect(readEntry(changed(tx, at, value))).toBeUndefined();
    }
    expect(readEntry(changed(tx, 2, 0))?.head.n).toBe(0);
  });

  it('has no content where its kind or a field of it is not known', () => {
    const bad: Array<readonly [Entry, number, readonly unknown[]]> = [
      [beat, 4, ['migrate', 'lead', 'tx', 0, null]],
      [beat, 5, noCounts],
      [release, 5, noTexts],
      // A part at or behind the last.
      [tx, 5, [...noCounts, 2, 3]],
      [tx, 6, [...noCounts, 0, 1]],
      [tx, 7, noBytes],
      [lead, 5, noTexts],
      [lead, 6, noTexts],
      [lead, 7, noTexts],
      [lead, 8, noCounts],
    ];
    for (const [of, at, values] of bad) {
      for (const value of values) {
        const read = readEntry(changed(of, at, value));
        expect(read).toMatchObject({ head: { epoch: of.epoch, n: of.n } });
        expect({ at, value, content: read?.content }).toEqual({ at, value, content: undefined });
      }
    }
  });

  it('has only its head where its version is newer, whatever follows', () => {
    const read = readEntry(packPlain([2 ** 40, 3, 4, null, 'more']));
    expect(read).toMatchObject({ head: { version: 2 ** 40, epoch: 3, n: 4 }, content: undefined });
    for (const value of noCounts) {
      expect(readEntry(packPlain([2, value, 4]))).toBeUndefined();
      expect(readEntry(packPlain([2, 3, value]))).toBeUndefined();
    }
  });
});

describe('foreign bytes', () => {
  // Lists, maps, bytes and text of 4 billion, and a list of 30 million.
  const endless = 'ddffffffff dfffffffff c6ffffffff dbffffffff dd01c9c380';
  // What the decoder knows besides msgpack: records, bundled text, errors, patterns, dates.
  const extended =
    'd4724093a161a162a163010203 d66200000004a161 c7046592a161a162 c7057892a128a167 d6ff00000000';
  const others = 'c7046592a1 c40100 a3616263 80 90 c0 c1 07';
  const words = `${endless} ${extended} ${others}`.split(' ');
  const hostile = words.map((hex) => Buffer.from(hex, 'hex'));
  hostile.push(Buffer.alloc(0), Buffer.alloc(500_000, 0x91));

  it('are no entry, and neither throw nor change how the next one is read', () => {
    const whole = encodeEntry(tx);
    const read = readEntry(whole);
    for (const body of hostile) {
      expect(readEntry(body)).toBeUndefined();
      expect(readEntry(whole)).toEqual(read);
    }
    const place = fc.tuple(fc.nat(), fc.nat(255));
    fc.assert(
      fc.property(entry, fc.array(place, { minLength: 1, maxLength: 4 }), (of, places) => {
        const body = Buffer.from(encodeEntry(of));
        for (const [at, value] of places) body[at % body.length] = value;
        expect(() => readEntry(body)).not.toThrow();
        expect(readEntry(whole)).toEqual(read);
      }),
    );
  });
});

describe('writes', () => {
  const number = fc.double().filter((value) => !Object.is(value, -0));
  const plainKey = fc.oneof(text, fc.integer(), number, bytes(0, 30));
  const key: fc.Arbitrary<TableKey> = fc.oneof(plainKey, fc.array(plainKey, { maxLength: 4 }));
  const write: fc.Arbitrary<StoredWrite> = fc.oneof(
    fc.tuple(text, key),
    fc.tuple(text, key, bytes(0, 60)),
  );
  const writes = fc.array(write, { maxLength: 8 });

  it('come back equal from parts of any size, each full but the last', () => {
    const property = fc.property(writes, fc.integer({ min: 1, max: 90 }), (all, max) => {
      const parts = encodeWrites(all, max);
      expect(decodeWrites(parts)).toStrictEqual(all);
      expect(parts.slice(0, -1).every(({ length }) => length === max)).toBe(true);
      expect(parts.at(-1)!.length).toBeLessThanOrEqual(max);
      expect(parts.at(-1)!.length).toBeGreaterThan(0);
    });
    fc.assert(property);
  });

  it('above the bound are refused, with both sizes', () => {
    expect(() => encodeWrites([['t', 1, Buffer.alloc(writesBytesMax - 9)]])).toThrow(
      `Cannot replicate a transaction of ${writesBytesMax + 1} bytes, expected at most ${writesBytesMax}`,
    );
  });

  it('are not read from other bytes', () => {
    const list = [null, {}, [1], [[]], [['t']], [[1, 2]], [['t', 1, 'text']], [['t', 1, chain, 1]]];
    for (const value of list) {
      expect(() => decodeWrites([packPlain(value)])).toThrow(/^Cannot read the writes of a log/);
    }
    expect(() => decodeWrites([])).toThrow(Error);
  });
});
