import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { crc32OfView } from '../../src/store/checksum.ts';

test('crc32OfView is the crc32 of zlib, of any part of a buffer and from any seed', () => {
  const seed = fc.integer({ min: 0, max: 2 ** 32 - 1 });
  const part = fc.uint8Array({ minLength: 1, maxLength: 300 }).chain((bytes) => {
    const start = fc.nat({ max: bytes.length - 1 });
    return fc.tuple(fc.constant(bytes), start, fc.integer({ min: 1, max: bytes.length }));
  });
  fc.assert(
    fc.property(part, seed, ([bytes, start, length], from) => {
      const end = Math.min(start + length, bytes.length);
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      expect(crc32OfView(view, start, end, from)).toBe(crc32(bytes.subarray(start, end), from));
    }),
  );
});
