/**
 * Packages of Debian, pinned by SHA-256: the same bytes whatever mirror they come from. They are read from a folder;
 * what is missing there is fetched when a mirror is named (a snapshot archive has every version for good; the
 * distribution's own mirrors drop them when the next ones come).
 */
import { hash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import xz from 'xz-decompress';
import { readAr, readTar, type Entry } from './archive.ts';

export interface DebianPackage {
  /** Below the root of a Debian mirror. */
  readonly path: string;
  readonly sha256: string;
}

export interface PackageSource {
  /** Holds the packages, under the names they have on a mirror, and receives what is fetched. */
  readonly folder: string;
  /** Root of a Debian mirror, without a slash at its end. */
  readonly mirror?: string;
}

const fetchMsMax = 120_000;

/** DEBIAN_MIRROR, or the public mirror. */
export function mirrorOf(environment: Readonly<Record<string, string | undefined>>): string {
  const { DEBIAN_MIRROR: given = '' } = environment;
  return given === '' ? 'http://deb.debian.org/debian' : given.replace(/\/+$/, '');
}

/** @throws Error for a package that is neither in the folder nor on the mirror, or is not the one pinned */
export async function readPackage(
  wanted: DebianPackage,
  { folder, mirror }: PackageSource,
): Promise<Buffer> {
  const file = join(folder, basename(wanted.path));
  if (existsSync(file)) return checked(wanted, readFileSync(file), file);
  if (mirror === undefined) {
    throw new Error(
      `Cannot find ${basename(wanted.path)}: it is not in ${folder}, ` +
        'expected it there, or the address of a Debian mirror to fetch it from',
    );
  }
  const address = `${mirror}/${wanted.path}`;
  const response = await fetch(address, { signal: AbortSignal.timeout(fetchMsMax) });
  if (!response.ok) throw new Error(`Cannot fetch ${address}: it answers ${response.status}`);
  const bytes = checked(wanted, Buffer.from(await response.arrayBuffer()), address);
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, bytes);
  return bytes;
}

/** @returns what one package installs, of those whose data is compressed with xz */
export async function unpackPackage(bytes: Buffer): Promise<Entry[]> {
  const data = readAr(bytes).find(({ name }) => name === 'data.tar.xz');
  if (data === undefined) throw new Error('Cannot read a Debian package: it has no data.tar.xz');
  return await readTar(await unxz(data.content));
}

async function unxz(bytes: Uint8Array): Promise<Buffer> {
  const plain = new xz.XzReadableStream(new Blob([Buffer.from(bytes)]).stream());
  return Buffer.from(await new Response(plain).arrayBuffer());
}

function checked(wanted: DebianPackage, bytes: Buffer, from: string): Buffer {
  const sha256 = hash('sha256', bytes, 'hex');
  if (sha256 !== wanted.sha256) {
    throw new Error(`Cannot use ${from}: its SHA-256 is ${sha256}, expected ${wanted.sha256}`);
  }
  return bytes;
}
