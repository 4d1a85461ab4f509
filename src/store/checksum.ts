/**
 * The checksum of a stored value: a byte that changed on the disk is noticed when it is read, and so is a value
 * that stands under another key or in another table.
 *
 *   value with checksum   | 0xC1 | crc u32 LE | value |
 *   crc                   CRC-32 (zlib's) of the value, begun from the key's seed XOR the CRC-32 of the table's name
 *
 * The key's seed:
 *
 *   number                low 32 bits XOR (high 32 bits * 0x9e3779b1)
 *   text, bytes           CRC-32 of the UTF-8, of the bytes
 *   tuple                 from 0, part by part: (rotated left by 5 XOR the part's seed) * 0x9e3779b1
 *
 * Each step can be undone, so two numbers below 2^32, or two tuples that differ in one of them, never share a seed. No
 * MessagePack value, JSON line or UTF-8 text begins with 0xC1, and the binary records begin with a format, form or
 * slot number below it: a value of a release without checksums is told from one with by its first byte.
 */
import { crc32 } from 'node:zlib';
import { crc32OfView, shortBytesMax } from './short-crc32.ts';
import type { TableKey, ValueInPlace } from './table.ts';

export const checksumMark = 0xc1;
/** In front of a value: the mark and the CRC. */
export const checksumBytes = 5;

const factor = 0x9e3779b1;
const highFactor = 2 ** 32;

export function keySeed(key: TableKey): number {
  if (typeof key === 'number') return numberSeed(key);
  if (typeof key === 'string') return crc32(key);
  if (key instanceof Uint8Array) return crc32(key);
  if (!Array.isArray(key)) throw new Error(`Cannot make a checksum: key of type ${typeof key}`);
  let seed = 0;
  for (const part of key) {
    seed = Math.imul(((seed << 5) | (seed >>> 27)) ^ keySeed(part), factor);
  }
  return seed >>> 0;
}

const numberSeed = (number: number): number =>
  (number ^ Math.imul(Math.floor(number / highFactor), factor)) >>> 0;

/** Writes mark and CRC into the first `checksumBytes` of `bytes`; the value stands behind them. */
export function writeChecksum(bytes: Buffer, seed: number): void {
  bytes[0] = checksumMark;
  bytes.writeUInt32LE(crc32(bytes.subarray(checksumBytes), seed), 1);
}

/** @param end of the value, which may stand in a longer buffer; its mark is the first byte */
export function hasChecksum(bytes: Uint8Array, end: number, seed: number): boolean {
  if (end < checksumBytes || bytes[0] !== checksumMark) return false;
  const stored = (bytes[1]! | (bytes[2]! << 8) | (bytes[3]! << 16) | (bytes[4]! << 24)) >>> 0;
  return stored === crc32(bytes.subarray(checksumBytes, end), seed);
}

/** The same of a value that begins behind its checksum. */
export function hasChecksumInPlace(value: ValueInPlace, seed: number): boolean {
  const { view, start, end } = value;
  const stored = view.getUint32(start - checksumBytes + 1, true);
  // Of no bytes zlib's is 0, whatever it begins from.
  return end > start && end - start <= shortBytesMax
    ? stored === crc32OfView(view, start, end, seed)
    : stored === crc32(value.content, seed);
}
