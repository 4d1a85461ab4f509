/**
 * Compression: one thread each and fixed levels, so that the same input gives the same bytes on every
 * machine that builds with the locked Node (its zlib and zstd are inside it). Several run side by side.
 *
 * On an executable of 174 MB, zstd 12: 73 MB in 12 s; 19: 64 MB in 91 s; 19 with a window of 128 MiB: 64 MB in 169 s;
 * gzip 9: 81 MB in 13 s.
 */
import { promisify } from 'node:util';
import { constants, gzip as gzipOf, zstdCompress } from 'node:zlib';

/** The window of each level is what plain `zstd -d` and dpkg unpack: 8 MiB at most. */
export const zstdLevels = { full: 19, quick: 3 };
const gzipLevel = 6;

/** With length and checksum, so that a truncated download is refused. */
export async function zstd(bytes: Uint8Array, level: number): Promise<Buffer> {
  return await promisify(zstdCompress)(bytes, {
    pledgedSrcSize: bytes.length,
    params: {
      [constants.ZSTD_c_compressionLevel]: level,
      [constants.ZSTD_c_checksumFlag]: 1,
    },
  });
}

/** Without time and name in its header. */
export async function gzip(bytes: Uint8Array): Promise<Buffer> {
  return await promisify(gzipOf)(bytes, { level: gzipLevel });
}
