/**
 * The shared libraries that the image needs besides the executable: glibc, libstdc++ and libgcc of Debian 13, unpacked
 * from four of its packages. Each is pinned by version and SHA-256, so that an image for either architecture is the
 * same bytes wherever it is built.
 *
 * To move to new versions: `apt-cache show libc6 gcc-14-base libgcc-s1 libstdc++6` prints path and SHA-256.
 */
import type { Entry } from '../archive.ts';
import {
  type DebianPackage,
  type PackageSource,
  readPackage,
  unpackPackage,
} from '../debian-package.ts';

export type Architecture = 'amd64' | 'arm64';

export interface Library extends DebianPackage {
  readonly name: string;
  readonly version: string;
  readonly architecture: Architecture;
  /** SPDX expression. */
  readonly licence: string;
}

/** Debian 13. */
export const distribution = 'trixie';

interface Pinned {
  readonly name: string;
  readonly version: string;
  readonly pool: string;
  readonly licence: string;
  readonly sha256: Readonly<Record<Architecture, string>>;
}

const runtimeException = 'GPL-3.0-or-later WITH GCC-exception-3.1';
const gcc = { version: '14.2.0-19', pool: 'g/gcc-14', licence: runtimeException };

const pinned: readonly Pinned[] = [
  {
    name: 'libc6',
    version: '2.41-12+deb13u4',
    pool: 'g/glibc',
    licence: 'LGPL-2.1-or-later',
    sha256: {
      amd64: '967aa62605721081c3eb2a17650611a792aa802d76a6511d1840242623d204c9',
      arm64: '8784eda966b189c777a384dac5ce009e8fc9b52d006926c5a013e7fa8aa688cc',
    },
  },
  {
    ...gcc,
    name: 'gcc-14-base',
    sha256: {
      amd64: '5b6825de4263824b78c4c51f6476414f3b4e89c2ab63e81dc8b9b5501e867cf6',
      arm64: '34ee90679b018c0e64234747a4c4c0ae6b7f63541115037465a8627c2dfbc594',
    },
  },
  {
    ...gcc,
    name: 'libgcc-s1',
    sha256: {
      amd64: '3c71917b490d1a17aed43196a2787a256ecf060526cdb20216a74bedc061b150',
      arm64: '1108bc87879833d6d9a145f22a4a15cddb34e065b4b5f4b97bee586adbac2851',
    },
  },
  {
    ...gcc,
    name: 'libstdc++6',
    sha256: {
      amd64: 'ab1fa05837aa7a92aae748fd07a18a35f7d18bb4a71c4724fe2bbf0e32089de0',
      arm64: '6669b0c52a2e7c6af9adfdabce3ff6e286065cdfbc7b85280862b5f799daebee',
    },
  },
];

/** The loader, what the executable and its native files are linked to, and what resolves host names. */
const wanted =
  /^usr\/lib(64)?\/(.*\/)?(ld-linux-[\w-]+\.so\.\d|lib(c|m|dl|pthread|rt|resolv|gcc_s|stdc\+\+)\.so\.\d[\d.]*)$/;
/** Copyrights and licences stay with what they belong to. */
const documents = /^usr\/share\/doc\/[^/]+(\/copyright)?$/;

export function librariesOf(architecture: Architecture): Library[] {
  return pinned.map(({ name, version, pool, licence, sha256 }) => ({
    name,
    version,
    architecture,
    path: `pool/main/${pool}/${name}_${version}_${architecture}.deb`,
    sha256: sha256[architecture],
    licence,
  }));
}

/**
 * The files and links of the libraries, at the paths Debian has them.
 *
 * @throws Error for a package that is neither in the folder nor on the mirror, or is not the one pinned
 */
export async function readLibraries(
  architecture: Architecture,
  source: PackageSource,
): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (const library of librariesOf(architecture)) {
    entries.push(...(await unpack(await readPackage(library, source))));
  }
  return entries;
}

/** @returns the files wanted of one package */
export async function unpack(bytes: Buffer): Promise<Entry[]> {
  const entries = await unpackPackage(bytes);
  return entries.filter(
    ({ path, type }) => type !== 'folder' && (wanted.test(path) || documents.test(path)),
  );
}
