/** All files of the runtime folder in a row, compressed, with an index by which they are checked. */
import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, zstdCompress } from 'node:zlib';
import type { NativeFile, Pack, PackFile, PackPart } from '../../src/platform/shipped.ts';
import { nativeNames, type NativeSource, type Target } from './natives.ts';

export interface PackOptions {
  readonly version: string;
  readonly commit: string;
  readonly target: Target;
  /** By name in the runtime folder. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  readonly natives: readonly NativeSource[];
  /** The table of places. */
  readonly places: Uint8Array;
  /** Of zstd, 1 to 22. */
  readonly level: number;
}

const idDigits = 16;
/** Checked at each start: a file that was cut off ends otherwise. */
const endBytes = 65_536;
const nativeMode = 0o500;
const dataMode = 0o400;

/**
 * With length and checksum, so that a truncated download is refused. In one thread: the same bytes on every machine that
 * builds with the locked Node. At 19 the window is what plain `zstd -d` and dpkg unpack, 8 MiB.
 *
 * On an executable of 174 MB, level 12: 73 MB in 12 s; 19: 64 MB in 91 s.
 */
export async function zstd(bytes: Uint8Array, level: number): Promise<Buffer> {
  return await promisify(zstdCompress)(bytes, {
    pledgedSrcSize: bytes.length,
    params: {
      [constants.ZSTD_c_compressionLevel]: level,
      [constants.ZSTD_c_checksumFlag]: 1,
    },
  });
}

export const sha256 = (bytes: Uint8Array): string => hash('sha256', bytes, 'hex');

/** In the runtime folder, for its owner alone: native files are run, all others are read. */
const modeOf = (name: string): number => (/\.(node|so[.\d]*)$/.test(name) ? nativeMode : dataMode);

/** The index, and what follows the program in the one file. */
export async function makePack(options: PackOptions): Promise<{ pack: Pack; appended: Buffer }> {
  const { version, commit, target, places, level } = options;
  const entries = [...options.files].sort(([a], [b]) => (a < b ? -1 : 1));
  const files: PackFile[] = entries.map(([name, bytes]) => ({
    name,
    size: bytes.length,
    mode: modeOf(name),
    sha256: sha256(bytes),
  }));
  const whole = Buffer.concat(entries.map(([, bytes]) => bytes));
  const packed = await zstd(whole, level);
  const appended = Buffer.concat([packed, places]);
  const end = appended.subarray(-endBytes);
  let fromEnd = appended.length;
  const part = (bytes: Uint8Array): PackPart => {
    const found = { fromEnd, size: bytes.length, sha256: sha256(bytes) };
    fromEnd -= bytes.length;
    return found;
  };
  const pack: Pack = {
    id: sha256(Buffer.from(JSON.stringify(files))).slice(0, idDigits),
    version,
    commit,
    target,
    size: whole.length,
    probe: nativeNames.lmdb,
    files,
    parts: {
      pack: part(packed),
      places: part(places),
      end: { fromEnd: end.length, size: end.length, sha256: sha256(end) },
    },
    natives: options.natives.map((native) => nativeFile(native, files)),
  };
  return { pack, appended };
}

function nativeFile(
  { name, package: from, version }: NativeSource,
  files: readonly PackFile[],
): NativeFile {
  const found = files.find((file) => file.name === name);
  if (found === undefined) throw new Error(`Cannot find ${name} in the pack`);
  return { name, package: from, version, sha256: found.sha256 };
}
