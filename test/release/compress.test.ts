import { randomBytes } from 'node:crypto';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { gzip, zstd, zstdLevels } from '../../config/release/compress.ts';

const bytes = Buffer.concat([randomBytes(200_000), Buffer.alloc(200_000)]);
/** Magic number of a frame; then a byte of flags: two bits for the length, one for a checksum. */
const flagsAt = 4;

it('zstd gives the same bytes again, which come back; a damaged file is refused', async () => {
  const { full } = zstdLevels;
  const packed = await zstd(bytes, full);
  expect(packed.equals(await zstd(bytes, full))).toBe(true);
  expect(zstdDecompressSync(packed).equals(bytes)).toBe(true);
  expect((packed[flagsAt] ?? 0) & 0b1100_0100).toBe(0b1000_0100);
  const damaged = Buffer.from(packed);
  damaged[100_000] = (damaged[100_000] ?? 0) ^ 1;
  expect(() => zstdDecompressSync(damaged)).toThrow(/checksum/i);
});

it('gzip gives the same bytes again, without a time', async () => {
  const packed = await gzip(bytes);
  expect(packed.equals(await gzip(bytes))).toBe(true);
  expect(gunzipSync(packed).equals(bytes)).toBe(true);
  expect(packed.readUInt32LE(4)).toBe(0);
});
