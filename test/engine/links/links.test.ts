/** Look-alikes, bounds, and reuse of memory in the link table. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FoldedKey } from '../../../src/engine/links/key.ts';
import { controlWord, keyBytesMax } from '../../../src/engine/links/layout.ts';
import { LinkReader } from '../../../src/engine/links/reader.ts';
import { LinkWriter } from '../../../src/engine/links/writer.ts';
import { systemClock } from '../../../src/platform/system-clock.ts';
import { linkOf, openTable, read, textOf } from './table.ts';

it.each([
  ['/A1B0C1D0', 7],
  ['/aIbOcLd0', 7],
  ['/ALB0CID0', 7],
  // The code as written comes before its look-alike.
  ['/hell0aaa', 1],
  ['/heil0aaa', 2],
  // Other lengths, and characters that are never generated, have no look-alikes.
  ['/PARKL', 0],
  ['/PARKL-23', 0],
  ['/PARKLU23', 0],
  [`/${'b'.repeat(64)}`, 6],
  [`/${'b'.repeat(65)}`, 0],
  ['', 0],
  ['/', 0],
  ['/A/B', 0],
  ['/A%41', 0],
  ['/\u0141BC', 0],
])('%s leads to code %i', (path, codeNo) => {
  const { writer, reader } = openTable();
  const keys = ['HELL0AAA', 'HE110AAA', 'PARK1', 'PARK1-23', 'PARK1U23', 'B'.repeat(64)];
  for (const [at, key] of [...keys, 'A1B0C1D0'].entries()) {
    writer.put(linkOf(key, { codeNo: at + 1 }));
  }
  const handle = reader.find(path, 1);
  expect(handle === 0 ? 0 : reader.codeNo(handle)).toBe(codeNo);
});

it('scans left are taken all at once, and what is below zero is told', () => {
  const { writer, reader } = openTable();
  writer.put(linkOf('LIMITED', { scansLeft: 5 }));
  writer.put(linkOf('FREE'));
  expect(reader.takeScan(reader.find('LIMITED', 0))).toBe(true);
  expect([writer.takeScansLeft('LIMITED'), writer.takeScansLeft('LIMITED')]).toEqual([4, 0]);
  expect(reader.takeScan(reader.find('LIMITED', 0))).toBe(false);
  writer.addScans('LIMITED', -3);
  expect([writer.takeScansLeft('LIMITED'), writer.scansLeft('LIMITED')]).toEqual([-3, 0]);
  writer.delete('LIMITED');
  const none = ['LIMITED', 'FREE', 'UNKNOWN'].map((key) => writer.takeScansLeft(key));
  expect(none).toEqual([undefined, undefined, undefined]);
});

it.each([2 ** 31 - 40, -40])('frees memory while the epoch wraps from %i', (epoch) => {
  const { memory, writer, reader } = openTable({ arenaBytesMax: 2 ** 20 });
  new Int32Array(memory.control)[controlWord.epoch] = epoch;
  const late = new LinkReader(memory, 1);
  writer.put(linkOf('WRAP'));
  late.enter();
  const held = late.target(late.find('WRAP', 0));
  for (let n = 0; n < 20_000; n += 1) {
    reader.enter();
    writer.put(linkOf('WRAP', { target: `https://wrap.co/${n % 1_000}` }));
    reader.leave();
    if (n === 8_000) {
      expect(textOf(held)).toBe('https://example.com/');
      late.leave();
    }
  }
  writer.free();
  expect(writer.bytesWaiting).toBe(0);
  // All but the one live entry and unit 0.
  expect(writer.bytesFree).toBeGreaterThan(2 ** 20 - 64);
});

describe('bounds', () => {
  it('refuses with storage_full when the last generation is full, and still changes and finds', () => {
    const { writer, reader } = openTable({ slotBytesMax: 8_192 * 3 });
    let stored = 0;
    const fill = (): void => {
      for (;;) {
        writer.put(linkOf(`F${stored}`, { codeNo: stored }));
        stored += 1;
      }
    };
    expect(fill).toThrow(expect.objectContaining({ code: 'storage_full' }));
    expect(stored).toBe(2_048 * 0.875);
    writer.put(linkOf('F0', { codeNo: 0, target: 'https://example.com/changed' }));
    expect(read(reader, 'F0')).toMatchObject({ target: 'https://example.com/changed' });
    for (let n = 0; n < stored; n += 1) expect(read(reader, `F${n}`)?.codeNo).toBe(n);
    expect(reader.find('ABSENT', 0)).toBe(0);
  });

  it.each([
    ['an empty key', linkOf('')],
    ['a key of 65 characters', linkOf('K'.repeat(65))],
    ['a key with a dot', linkOf('A.B')],
    ['an empty target', linkOf('A', { target: '' })],
    ['a target of 8193 bytes', linkOf('A', { target: 't'.repeat(8_193) })],
    ['a line break in the target', linkOf('A', { target: 'https://e.co/\r\nSet-Cookie:a=b' })],
    ['a target that is not ASCII', linkOf('A', { target: 'https://e.co/ä' })],
    ['a negative expiry', linkOf('A', { expiresAtMs: -1 })],
    ['scans left that are no number', linkOf('A', { scansLeft: Number.NaN })],
  ])('treats %s as a defect', (_, link) => {
    const { writer, reader } = openTable();
    expect(() => writer.put(link)).toThrow(/^Cannot /);
    expect(reader.find('A', 0)).toBe(0);
    expect(writer.count).toBe(0);
  });

  it('has one writer and as many readers as it was made for', () => {
    const { memory } = openTable();
    expect(() => new LinkWriter(memory, systemClock)).toThrow('has a writer');
    expect(() => new LinkReader(memory, 2)).toThrow('reader 2');
  });
});

/** The folded key: packing and its keyed hash. */

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_/';
const code = fc.string({
  unit: fc.constantFrom(...alphabet.split('')),
  minLength: 1,
  maxLength: keyBytesMax,
});

/** HalfSipHash-1-3 of the first characters under two halves of a seed, by the paper in `BigInt`: no shortcuts. */
const hashed = `${alphabet}THE-QUICK-BROWN-FOX-JUMPS`;
const vectors = [
  [1, 0x9a13a444],
  [2, 0x30c7f95b],
  [3, 0x31ebd5c6],
  [4, 0x7b7f4fda],
  [8, 0x7f096f84],
  [13, 0x3176d90b],
  [64, 0xa849f386],
  [5, 0xc47986cd, -1, -2],
  [7, 0x388adf85, -0x7fff_ffff, 0x1234_5678],
  [33, 0x5a1dc2f6, 0x7edc_ba98, -0x7654_3211],
] as const;

describe('FoldedKey', () => {
  it.each(vectors)('hashes as HalfSipHash-1-3 does: %i characters', (characters, tag, ...seed) => {
    const [low = 0x03020100, high = 0x07060504] = seed;
    const key = new FoldedKey(low, high);
    expect(key.fold(hashed.slice(0, characters), 0)).toBe(true);
    expect(key.tag >>> 0).toBe(tag);
  });

  it('hashes and packs alike, whatever the case and the place in the path', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer(), code, fc.string(), (low, high, text, before) => {
        const [key, plain] = [new FoldedKey(low, high), new FoldedKey(low, high)];
        const mixed = text.replace(/(.)(.?)/g, (_, a: string, b: string) => a.toLowerCase() + b);
        expect([key.fold(before + mixed, before.length), plain.fold(text, 0)]).toEqual([
          true,
          true,
        ]);
        expect([key.tag, key.length]).toEqual([plain.tag, text.length]);
        const packed = Buffer.from(key.words.buffer, 0, text.length).toString('latin1');
        expect(packed).toBe(text);
      }),
    );
  });

  it('accepts exactly letters, digits, -, _ and /', () => {
    const key = new FoldedKey(1, 2);
    const characters = Array.from({ length: 0x1_0000 }, (_, unit) => String.fromCharCode(unit));
    const accepted = characters.filter((character) => key.fold(`A${character}`, 0));
    expect(accepted.sort().join('')).toBe(
      '-/0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz',
    );
  });
});
