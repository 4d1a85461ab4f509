/**
 * The CRC-32 of few bytes. That of zlib checks 5 GB a second, and takes 0.2 µs before it begins: a call into native
 * code. Of 130 bytes this one takes 0.1 µs, eight bytes a step by tables (Kounavis and Berry, 2005: "slicing by 8").
 */

/** From here on zlib's is faster. */
export const shortBytesMax = 256;

const polynomial = 0xedb88320;
const step = 8;

/** At `256 * n + byte`: what a byte is after n more bytes of zero. */
const table = makeTable();

function makeTable(): Int32Array {
  const made = new Int32Array(256 * step);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? polynomial : 0);
    made[byte] = crc;
  }
  for (let at = 256; at < made.length; at++) {
    const before = made[at - 256]!;
    made[at] = (before >>> 8) ^ made[before & 0xff]!;
  }
  return made;
}

/** zlib's `crc32` of the bytes from `start` to `end`, of which there are some, begun from `seed`. */
export function crc32OfView(view: DataView, start: number, end: number, seed: number): number {
  let crc = ~seed;
  let at = start;
  for (; at + step <= end; at += step) {
    const low = view.getInt32(at, true) ^ crc;
    const high = view.getInt32(at + 4, true);
    crc =
      table[1_792 + (low & 0xff)]! ^
      table[1_536 + ((low >>> 8) & 0xff)]! ^
      table[1_280 + ((low >>> 16) & 0xff)]! ^
      table[1_024 + (low >>> 24)]! ^
      table[768 + (high & 0xff)]! ^
      table[512 + ((high >>> 8) & 0xff)]! ^
      table[256 + ((high >>> 16) & 0xff)]! ^
      table[high >>> 24]!;
  }
  for (; at < end; at++) crc = (crc >>> 8) ^ table[(crc ^ view.getUint8(at)) & 0xff]!;
  return ~crc >>> 0;
}
