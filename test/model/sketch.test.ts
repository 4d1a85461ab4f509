import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chunkRegisters, Registers } from '../../src/model/sketch/sketch-chunk.ts';
import { Sketch, sketchChunks } from '../../src/model/sketch/sketch.ts';
import { isRegister, union } from '../../src/model/sketch/ultra-log-log.ts';
import { visitorHashes } from '../support/visitor-hashes.ts';
import { runs } from '../seconds/runs.ts';

type Hash = readonly [hi: number, lo: number];

function sketchOf(hashes: Iterable<Hash>): Sketch {
  const sketch = Sketch.empty();
  for (const [hi, lo] of hashes) sketch.add(hi, lo);
  return sketch;
}

/** The visitors from…to of a seed. */
function sketchRange(seed: number, from: number, to: number): Sketch {
  const hashes = visitorHashes(seed);
  const sketch = Sketch.empty();
  for (let index = from; index < to; index++) {
    hashes.make(index);
    sketch.add(hashes.hi, hashes.lo);
  }
  return sketch;
}

interface Parts {
  readonly inline: Uint8Array;
  readonly chunks: Map<number, Uint8Array>;
}

function findChunk(sketch: Sketch, index: number): Uint8Array | undefined {
  try {
    return sketch.chunkBytes(index).slice();
  } catch {
    return undefined;
  }
}

/** What a store holds of a sketch. */
function store(sketch: Sketch): Parts {
  const chunks = new Map<number, Uint8Array>();
  for (let index = 0; index < sketchChunks; index++) {
    const bytes = findChunk(sketch, index);
    if (bytes !== undefined) chunks.set(index, bytes);
  }
  return { inline: sketch.inlineBytes().slice(), chunks };
}

const load = ({ inline, chunks }: Parts): Sketch =>
  Sketch.fromParts(inline, (index) => chunks.get(index));

/** Digest of the whole state: equal ones are byte for byte the same sketch. */
function image(sketch: Sketch): string {
  const { inline, chunks } = store(sketch);
  const digest = createHash('sha256').update(`${inline.length}:`).update(inline);
  for (const [index, bytes] of chunks) digest.update(`${index}:${bytes.length}:`).update(bytes);
  return digest.digest('hex');
}

const unite = (a: Sketch, b: Sketch): Sketch => {
  const united = load(store(a));
  united.merge(b);
  return united;
};

describe('exact while small', () => {
  it('counts distinct visitors up to 2,000 without error, at every step', () => {
    for (const seed of [1, 2, 3]) {
      const hashes = visitorHashes(seed);
      const sketch = Sketch.empty();
      for (let index = 0; index < 2_000; index++) {
        hashes.make(index);
        expect(sketch.add(hashes.hi, hashes.lo)).toBe(true);
        expect(sketch.add(hashes.hi, hashes.lo)).toBe(false);
        expect(sketch.estimate()).toBe(index + 1);
      }
    }
  });

  it('counts any set of hashes as a Set of their first 48 bits does', () => {
    const hash = fc.tuple(
      fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 0xffffffff })),
      fc.oneof(fc.integer({ min: 0, max: 0x1ffff }), fc.integer({ min: 0, max: 0xffffffff })),
    );
    fc.assert(
      fc.property(fc.array(hash, { maxLength: 170 }), (hashes) => {
        const distinct = new Set(hashes.map(([hi, lo]) => `${hi} ${lo >>> 16}`));
        expect(sketchOf(hashes).estimate()).toBe(distinct.size);
      }),
    );
  });

  it('is inline up to 64 visitors, in at most 384 bytes', () => {
    const sketch = sketchRange(1, 0, 64);
    expect(sketch.isInline()).toBe(true);
    expect(sketch.inlineBytes()).toHaveLength(384);
    expect(sketch.dirtyChunks()).toEqual([]);
    sketch.merge(sketchRange(1, 64, 65));
    expect(sketch.isInline()).toBe(false);
    expect(sketch.inlineBytes()).toHaveLength(0);
    expect(sketch.estimate()).toBe(65);
  });
});

it.each([1_000, 3_000, 10_000, 100_000, 1_000_000])(
  'the error is at most 2 percent at %i visitors',
  (visitors) => {
    const seeds = visitors === 1_000_000 ? [1, 2, 3] : [1, 2, 3, 4, 5, 6, 7, 8];
    let squares = 0;
    for (const seed of seeds) {
      const error = sketchRange(seed, 0, visitors).estimate() / visitors - 1;
      expect(Math.abs(error)).toBeLessThanOrEqual(0.02);
      squares += error * error;
    }
    // The theory says 0.59 %; twice that over all seeds would be a defect, not bad luck.
    expect(Math.sqrt(squares / seeds.length)).toBeLessThan(0.0118);
  },
);

describe('union', () => {
  /** Sizes in every form: inline, sparse, mixed, dense. */
  const size = fc.constantFrom(0, 1, 40, 64, 65, 500, 2_600, 2_900, 6_000);
  const part = fc
    .tuple(fc.integer({ min: 0, max: 3_000 }), size)
    .map(([from, length]) => sketchRange(5, from, from + length));
  const bounds = { numRuns: runs(20) };

  it('is what adding all visitors to one sketch gives, whichever way, down to the bytes', () => {
    const from = fc.integer({ min: 0, max: 3_000 });
    fc.assert(
      fc.property(from, size, from, size, (fromA, a, fromB, b) => {
        const [one, other] = [sketchRange(5, fromA, fromA + a), sketchRange(5, fromB, fromB + b)];
        const all = sketchRange(5, fromA, fromA + a);
        const hashes = visitorHashes(5);
        for (let index = fromB; index < fromB + b; index++) {
          hashes.make(index);
          all.add(hashes.hi, hashes.lo);
        }
        const unchanged = image(other);
        expect(image(unite(one, other))).toBe(image(all));
        expect(image(other)).toBe(unchanged);
        expect(image(unite(other, one))).toBe(image(all));
        const before = image(one);
        one.merge(one);
        expect(image(one)).toBe(before);
      }),
      bounds,
    );
  });

  it('merges stored pieces as it merges sketches', () => {
    fc.assert(
      fc.property(part, part, (a, b) => {
        const { inline, chunks } = store(b);
        const fromStore = load(store(a));
        // A store hands out bytes at any address.
        fromStore.mergeParts(inline, (index) => {
          const bytes = chunks.get(index);
          return bytes && Buffer.concat([Buffer.from('abc'), bytes]).subarray(3);
        });
        expect(image(fromStore)).toBe(image(unite(a, b)));
      }),
      bounds,
    );
  });

  it('of registers is a union of levels, for every pair', () => {
    const levels = (byte: number): number[] =>
      byte === 0
        ? []
        : [0, 1, 2].filter((d) => d === 0 || (byte >>> (2 - d)) & 1).map((d) => (byte >>> 2) - d);
    for (let pair = 0; pair < 65_536; pair++) {
      const [a, b] = [pair >>> 8, pair & 0xff];
      if (!isRegister(a) || !isRegister(b)) {
        expect(union[pair]).toBe(0xff);
        continue;
      }
      const all = new Set([...levels(a), ...levels(b)]);
      const highest = Math.max(0, ...all);
      const kept = [...all].filter((level) => level > highest - 3);
      const found = new Set(levels(union[pair]!));
      if (found.size !== kept.length || !kept.every((level) => found.has(level))) {
        expect.fail(`union of ${a} and ${b} is ${union[pair]}`);
      }
    }
  });

  it('of whole chunks is that of each register, also where one hides the other', () => {
    const bytes = Array.from({ length: 256 }, (_, byte) => byte).filter(isRegister);
    const pairs = bytes.flatMap((own) => bytes.map((other) => [own, other] as const));
    for (let from = 0; from < pairs.length; from += chunkRegisters) {
      const [own, other] = [new Registers(), new Registers()];
      const wanted = new Registers();
      for (const [at, [a, b]] of pairs.slice(from, from + chunkRegisters).entries()) {
        own.bytes[1 + at] = a;
        other.bytes[1 + at] = b;
        wanted.bytes[1 + at] = union[(a << 8) | b]!;
      }
      const isChanged = !Buffer.from(own.bytes).equals(wanted.bytes);
      expect(own.unite(other.words)).toBe(isChanged);
      expect(Buffer.from(own.bytes).equals(wanted.bytes)).toBe(true);
    }
  });
});

describe('stored pieces', () => {
  it.each([0, 1, 64, 65, 900, 2_800, 9_000])('come back the same: %i visitors', (visitors) => {
    const sketch = sketchRange(8, 0, visitors);
    const parts = store(sketch);
    expect(image(load(parts))).toBe(image(sketch));
    expect(load(parts).estimate()).toBe(sketch.estimate());
    expect(load(parts).dirtyChunks()).toEqual([]);
    expect(parts.inline.length).toBeLessThanOrEqual(384);
    for (const chunk of parts.chunks.values()) expect(chunk.length).toBeLessThanOrEqual(1_025);
  });

  it('are dirty only where they changed: a new visitor writes one chunk', () => {
    const parts = store(sketchRange(8, 0, 9_000));
    const sketch = load(parts);
    const hashes = visitorHashes(8);
    let index = 9_000;
    do hashes.make(index++);
    while (!sketch.add(hashes.hi, hashes.lo));
    expect(sketch.dirtyChunks()).toEqual([hashes.hi >>> 28]);
    sketch.clean();
    expect(sketch.add(hashes.hi, hashes.lo)).toBe(false);
    expect(sketch.dirtyChunks()).toEqual([]);
  });
});

describe('corrupt bytes', () => {
  const sparse = store(sketchRange(12, 0, 900)).chunks.get(3)!;
  const dense = store(sketchRange(12, 0, 9_000)).chunks.get(3)!;
  const change = (bytes: Uint8Array, at: number, value: number): Uint8Array => {
    const copy = bytes.slice();
    copy[at] = value;
    return copy;
  };
  const cases: readonly (readonly [what: string, chunk: Uint8Array])[] = [
    ['an empty chunk', new Uint8Array(0)],
    ['a form of its own', change(sparse, 0, 3)],
    ['a sparse chunk without entries', sparse.subarray(0, 1)],
    ['a cut entry', sparse.subarray(0, sparse.length - 1)],
    [
      'too many entries',
      Buffer.concat([sparse, ...Array.from({ length: 171 }, () => sparse.subarray(1, 7))]),
    ],
    ['a repeated entry', Buffer.concat([sparse.subarray(0, 7), sparse.subarray(1, 7)])],
    [
      'unsorted entries',
      Buffer.concat([sparse.subarray(0, 1), sparse.subarray(7, 13), sparse.subarray(1, 7)]),
    ],
    ["another chunk's entry", change(sparse, 1, 0xf0)],
    ['a short dense chunk', dense.subarray(0, 1_024)],
    ['a long dense chunk', Buffer.concat([dense, dense.subarray(1, 2)])],
    ['a register above level 33', change(dense, 77, 34 << 2)],
    ['a register below level 1', change(dense, 77, 1)],
    ['a register that saw level 0', change(dense, 77, (2 << 2) | 1)],
  ];

  it.each(cases)('are refused: %s', (what, chunk) => {
    const source = (index: number): Uint8Array | undefined => (index === 3 ? chunk : undefined);
    expect(() => Sketch.fromParts(new Uint8Array(0), source)).toThrow(/^Cannot read sketch: /);
    const target = sketchRange(13, 0, 9_000);
    const merge = (): void => target.mergeParts(new Uint8Array(0), source);
    if (!what.startsWith('a register')) expect(merge).toThrow(/^Cannot read sketch: /);
    else {
      merge();
      target.merge(sketchRange(14, 0, 9_000));
      expect(() => target.estimate()).toThrow(/^Cannot estimate visitors: /);
    }
  });

  it('of an inline list are refused', () => {
    const { inline } = store(sketchRange(12, 0, 64));
    const broken = [
      inline.subarray(0, 5),
      Buffer.concat([inline, inline.subarray(0, 6)]),
      Buffer.concat([inline.subarray(6, 12), inline.subarray(0, 6)]),
    ];
    for (const bytes of broken) {
      expect(() => Sketch.fromParts(bytes, () => undefined)).toThrow(/^Cannot read sketch: /);
      expect(() => Sketch.empty().mergeParts(bytes, () => undefined)).toThrow(/^Cannot read/);
    }
  });

  it('of any kind never do harm beyond an error', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 1_100 }),
        fc.uint8Array({ maxLength: 400 }),
        (chunk, inline) => {
          for (const bytes of [inline, new Uint8Array(0)]) {
            try {
              expect(Sketch.fromParts(bytes, () => chunk).estimate()).toBeGreaterThan(0);
            } catch (error) {
              expect(String(error)).toContain('Cannot read sketch');
            }
          }
        },
      ),
    );
  });
});
