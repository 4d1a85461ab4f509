/**
 * Values to bytes and back. Bytes that are made stand in a buffer that the next `encode` of this thread overwrites:
 * a put copies them. The first `checksumBytes` of them are for the checksum.
 *
 *   msgpack   as lmdb-js writes it, by the same package with the same options
 *   binary    as it is
 *   string    UTF-8
 */
import { Packr, RESERVE_START_SPACE } from 'msgpackr';
import { checksumBytes } from './checksum.ts';
import type { ValueEncoding } from './table.ts';

export interface Codec<V> {
  encode(value: V): Buffer;
  /** The value in `bytes` from `start` to `end`; it keeps nothing of `bytes`. */
  decode(bytes: Uint8Array, start: number, end: number): V;
}

/** msgpackr's mode to use the same buffer again for the next value; not among its exports. */
const resetBuffer = 1_024;
const scratchBytes = 16_384;

let scratch = Buffer.allocUnsafeSlow(scratchBytes);

export function createCodec<V>(encoding: ValueEncoding): Codec<V> {
  // Which of the three a table has is said where it is opened, beside its type.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return (encoding === 'msgpack' ? msgpack() : { binary, string }[encoding]) as Codec<V>;
}

function msgpack(): Codec<unknown> {
  const packr = new Packr({ copyBuffers: true });
  const mode = RESERVE_START_SPACE + resetBuffer + checksumBytes;
  // One object for all reads: 30 ns of each.
  const part = { start: 0, end: 0 };
  return {
    encode: (value) => packr.pack(value, mode),
    decode: (bytes, start, end) => {
      part.start = start;
      part.end = end;
      return packr.unpack(bytes, part);
    },
  };
}

const binary: Codec<Uint8Array> = {
  encode(value) {
    const end = checksumBytes + value.length;
    fit(end);
    scratch.set(value, checksumBytes);
    return scratch.subarray(0, end);
  },
  decode: (bytes, start, end) => Uint8Array.prototype.slice.call(bytes, start, end),
};

const string: Codec<string> = {
  encode(value) {
    const end = checksumBytes + Buffer.byteLength(value);
    fit(end);
    scratch.write(value, checksumBytes);
    return scratch.subarray(0, end);
  },
  decode: (bytes, start, end) =>
    Buffer.from(bytes.buffer, bytes.byteOffset, end).toString('utf8', start),
};

function fit(bytes: number): void {
  if (scratch.length < bytes) scratch = Buffer.allocUnsafeSlow(bytes * 2);
}

/** For bytes that other programs read: no state between two values, arrays and maps as they are. */
const plain = new Packr({ useRecords: false, copyBuffers: true });

/** @returns bytes of their own */
export const packPlain = (value: unknown): Uint8Array => plain.pack(value);
/** @throws Error for bytes that are no msgpack */
export const unpackPlain = (bytes: Uint8Array): unknown => plain.unpack(bytes);
