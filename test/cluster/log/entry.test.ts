import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  chainAfter,
  chainBytes,
  decodeWrites,
  emptyChain,
  encodeEntry,
  encodeWrites,
  type Entry,
  partBytesMax,
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
  fc
    .tuple(count, count, bytes(0, 400))
    .filter(([one, other]) => one !== other)
    .map(([one, other, value]) => ({
      kind: 'tx' as const,
      part: Math.min(one, other),
      parts: Math.max(one, other),
      bytes: value,
    })),
  fc.record({ kind: fc.constant('beat' as const), count }),
  fc.record({ kind: fc.constant('release' as const), to: text }),
);
const entry: fc.Arbitrary<Entry> = fc
  .tuple(
    count.map((value) => Math.max(1, value)),
    count,
    bytes(chainBytes, chainBytes),
    content,
  )
  .map(([epoch, n, chain, what]) => ({ epoch, n, chain, ...what }));

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

const noNumbers = [2n ** 63n, -5n, null, undefined, true, '1', '', [1], [], {}, new Date(0), chain];
const huge = [2 ** 53, 2 ** 64, 1e300, -1e300, Infinity, -Infinity, NaN];
const noCounts = [-1, -1e12, 0.5, 1e-9, ...huge, ...noNumbers];
const noTexts = [0, 1.5, null, undefined, false, chain, [], {}];
const noBytes = ['', 'abc', 0, null, undefined, [1, 2], {}];

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
      expect(readEntry(Buffer.concat([whole, whole]))).toBeUndefined();
    }
  });

  it('is nothing where a field of its head is no count, or none that can be', () => {
    for (const at of [0, 1, 2]) {
      for (const value of noCounts) expect(readEntry(changed(tx, at, value))).toBeUndefined();
    }
    expect(readEntry(changed(tx, 0, 0))).toBeUndefined();
    expect(readEntry(changed(tx, 1, 0))).toBeUndefined();
    expect(readEntry(changed(tx, 2, 0))?.head.n).toBe(0);
  });

  it('is nothing where its chain is of another type or length', () => {
    const others = [...noBytes, chain.subarray(1), Buffer.alloc(chainBytes + 1), Buffer.alloc(0)];
    for (const value of others) expect(readEntry(changed(tx, 3, value))).toBeUndefined();
  });

  it('has no content where its kind or a field of it is not known', () => {
    const bad: Array<readonly [Entry, number, readonly unknown[]]> = [
      [beat, 4, ['migrate', 'lead', 'tx', 0, null, undefined, chain]],
      [beat, 5, noCounts],
      [release, 5, noTexts],
      [tx, 4, ['lead', 'Tx', '']],
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
    const rest = fc.array(fc.oneof(fc.integer(), fc.string(), fc.constant(null), bytes(0, 20)));
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 2 ** 40 }), rest, (version, more) => {
        const read = readEntry(packPlain([version, 3, 4, ...more]));
        expect(read?.head).toEqual({ version, epoch: 3, n: 4 });
        expect(read?.content).toBeUndefined();
      }),
    );
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
  const hostile = `${endless} ${extended} ${others}`
    .split(' ')
    .map((hex) => Buffer.from(hex, 'hex'));
  hostile.push(Buffer.alloc(0), Buffer.alloc(500_000, 0x91));

  it('are no entry, and do not change how the next one is read', () => {
    const whole = encodeEntry(tx);
    const read = readEntry(whole);
    for (const body of hostile) {
      expect(readEntry(body)).toBeUndefined();
      expect(readEntry(whole)).toEqual(read);
    }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (body) => {
        expect(readEntry(body)?.content).toBeUndefined();
        expect(readEntry(whole)).toEqual(read);
      }),
    );
  });

  it('never make it throw: entries with any byte changed', () => {
    const place = fc.tuple(fc.nat(), fc.nat(255));
    fc.assert(
      fc.property(entry, fc.array(place, { minLength: 1, maxLength: 4 }), (of, places) => {
        const body = Buffer.from(encodeEntry(of));
        for (const [at, value] of places) body[at % body.length] = value;
        expect(() => readEntry(body)).not.toThrow();
      }),
    );
  });

  it('are no writes', () => {
    const words = /^Cannot read the writes of a log entry/;
    const list = [null, 5, 'a', {}, [1], [[]], [['t']], [[1, 2]], [['t', 1, 'text']]];
    for (const value of [...list, [['t', 1, chain, chain]], [['t', 1, null]]]) {
      expect(() => decodeWrites([packPlain(value)])).toThrow(words);
    }
    for (const body of hostile.filter(([first]) => first !== 0x90)) {
      expect(() => decodeWrites([body])).toThrow(Error);
    }
    expect(() => decodeWrites([])).toThrow(Error);
  });
});

describe('the chain', () => {
  it('has its length, and tells every log from every other', () => {
    const one = chainAfter(emptyChain, Buffer.from('ab'));
    expect(one).toHaveLength(chainBytes);
    expect(chainAfter(emptyChain, Buffer.from('ab'))).toEqual(one);
    const others = [
      chainAfter(emptyChain, Buffer.from('a')),
      chainAfter(emptyChain, Buffer.from('ba')),
      chainAfter(one, Buffer.from('ab')),
      chainAfter(chainAfter(emptyChain, Buffer.from('a')), Buffer.from('b')),
    ];
    expect(new Set([one, ...others].map((value) => Buffer.from(value).toString('hex'))).size).toBe(
      5,
    );
  });
});

describe('writes', () => {
  const plainKey = fc.oneof(
    text,
    fc.integer(),
    fc.double().filter((value) => !Object.is(value, -0)),
    bytes(0, 30),
  );
  const key: fc.Arbitrary<TableKey> = fc.oneof(plainKey, fc.array(plainKey, { maxLength: 4 }));
  const write: fc.Arbitrary<StoredWrite> = fc.oneof(
    fc.tuple(text, key),
    fc.tuple(text, key, bytes(0, 60)),
  );

  it('come back equal from parts of any size, each full but the last', () => {
    fc.assert(
      fc.property(
        fc.array(write, { maxLength: 8 }),
        fc.integer({ min: 1, max: 90 }),
        (all, max) => {
          const parts = encodeWrites(all, max);
          expect(decodeWrites(parts)).toStrictEqual(all);
          expect(parts.slice(0, -1).every(({ length }) => length === max)).toBe(true);
          expect(parts.at(-1)!.length).toBeLessThanOrEqual(max);
          expect(parts.at(-1)!.length).toBeGreaterThan(0);
        },
      ),
    );
  });

  it('have one part where they fit, and a new one for the next byte', () => {
    const frame = encodeWrites([['t', 1, Buffer.alloc(65_536)]])[0]!.length - 65_536;
    const ofBytes = (size: number): Uint8Array[] =>
      encodeWrites([['t', 1, Buffer.alloc(size - frame)]]);
    expect(ofBytes(partBytesMax).map(({ length }) => length)).toEqual([partBytesMax]);
    expect(ofBytes(partBytesMax + 1).map(({ length }) => length)).toEqual([partBytesMax, 1]);
  });

  it('above the bound are refused, with both sizes', () => {
    const value = Buffer.alloc(writesBytesMax);
    const frame = 10;
    expect(encodeWrites([['t', 1, value.subarray(frame)]])).toHaveLength(128);
    expect(() => encodeWrites([['t', 1, value.subarray(frame - 1)]])).toThrow(
      `Cannot replicate a transaction of ${writesBytesMax + 1} bytes, expected at most ${writesBytesMax}`,
    );
  });
});
