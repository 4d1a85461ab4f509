/**
 * Encodes values to bytes and back. `encode` returns a buffer that the next `encode` of this thread overwrites; a put
 * copies it. Its first `checksumBytes` are reserved for the checksum.
 *
 *   msgpack   by msgpackr
 *   binary    as it is
 *   string    UTF-8
 *   present   one byte, for the keys of a set
 */
import { Packr, RESERVE_START_SPACE } from 'msgpackr';
import { checksumBytes } from './checksum.ts';
import type { ValueEncoding } from './table.ts';

export interface Codec<V> {
  encode(value: V): Buffer;
  /** The value in `bytes` from `start` to `end`; the result does not refer to `bytes`. */
  decode(bytes: Uint8Array, start: number, end: number): V;
}

/** msgpackr's mode that reuses the buffer for the next value; not exported by the library. */
const resetBuffer = 1_024;
const scratchBytes = 16_384;

let scratch = Buffer.allocUnsafeSlow(scratchBytes);

export function createCodec<V>(encoding: ValueEncoding): Codec<V> {
  // Each table declares its encoding next to its type.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return (encoding === 'msgpack' ? msgpack() : { binary, string, present }[encoding]) as Codec<V>;
}

function msgpack(): Codec<unknown> {
  const packr = new Packr({ copyBuffers: true });
  const mode = RESERVE_START_SPACE + resetBuffer + checksumBytes;
  // One object for all reads saves 30 ns each.
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

const presence = Buffer.alloc(checksumBytes + 1, 1);
const present: Codec<1> = { encode: () => presence, decode: () => 1 };

function fit(bytes: number): void {
  if (scratch.length < bytes) scratch = Buffer.allocUnsafeSlow(bytes * 2);
}

/** For bytes that other programs read: no shared record definitions, plain arrays and maps. */
const plain = new Packr({ useRecords: false, copyBuffers: true });

/** @returns a new buffer */
export const packPlain = (value: unknown): Uint8Array => plain.pack(value);
/** @throws Error if the bytes are not msgpack */
export const unpackPlain = (bytes: Uint8Array): unknown => plain.unpack(bytes);
