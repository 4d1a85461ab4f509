import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { crc32OfView } from '../../src/store/checksum.ts';

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
