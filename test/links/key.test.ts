/** The folded key: packing and its keyed hash. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FoldedKey } from '../../src/links/key.ts';
import { keyBytesMax } from '../../src/links/layout.ts';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_/';
const code = fc.string({
  unit: fc.constantFrom(...alphabet.split('')),
  minLength: 1,
  maxLength: keyBytesMax,
});

/** HalfSipHash-1-3 straight from the paper: bytes in, 32-bit arithmetic by `BigInt`, no shortcuts. */
function referenceHash(seedLow: number, seedHigh: number, bytes: Uint8Array): number {
  const mask = 0xffff_ffffn;
  const rotate = (x: bigint, by: bigint): bigint => ((x << by) | (x >> (32n - by))) & mask;
  const low = BigInt(seedLow >>> 0);
  const high = BigInt(seedHigh >>> 0);
  const v: [bigint, bigint, bigint, bigint] = [low, high, 0x6c796765n ^ low, 0x74656462n ^ high];
  const round = (): void => {
    v[0] = (v[0] + v[1]) & mask;
    v[1] = rotate(v[1], 5n) ^ v[0];
    v[0] = rotate(v[0], 16n);
    v[2] = (v[2] + v[3]) & mask;
    v[3] = rotate(v[3], 8n) ^ v[2];
    v[0] = (v[0] + v[3]) & mask;
    v[3] = rotate(v[3], 7n) ^ v[0];
    v[2] = (v[2] + v[1]) & mask;
    v[1] = rotate(v[1], 13n) ^ v[2];
    v[2] = rotate(v[2], 16n);
  };
  const padded = Buffer.alloc((Math.floor(bytes.length / 4) + 1) * 4);
  padded.set(bytes);
  padded[padded.length - 1] = bytes.length;
  for (let at = 0; at < padded.length; at += 4) {
    const message = BigInt(padded.readUInt32LE(at));
    v[3] ^= message;
    round();
    v[0] ^= message;
  }
  v[2] ^= 0xffn;
  for (let i = 0; i < 3; i += 1) round();
  return Number(v[1] ^ v[3]) | 0;
}

describe('FoldedKey', () => {
  it('hashes as HalfSipHash-1-3 does, whatever the case and the place in the path', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer(), code, fc.string(), (low, high, text, before) => {
        const key = new FoldedKey(low, high);
        const mixed = text.replace(/(.)(.?)/g, (_, a: string, b: string) => a.toLowerCase() + b);
        expect(key.fold(before + mixed, before.length)).toBe(true);
        expect(key.tag).toBe(referenceHash(low, high, Buffer.from(text)));
        expect(key.length).toBe(text.length);
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
