/**
 * What is made around one finished executable, in its folder:
 *
 *   quietzone.zst                   the executable, compressed
 *   quietzone_<version>_<arch>.deb  Debian package
 *   quietzone-<version>-oci.tar     container image
 *   quietzone.cdx.json              software bill of materials
 *   THIRD-PARTY.txt                 licences of what is inside
 */
import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { NativeFile } from '../../../src/shipped.ts';
import { zstd } from '../compress.ts';
import type { Entry } from '../archive.ts';
import { mirrorOf } from '../debian-package.ts';
import type { Glibc } from '../elf.ts';
import type { Target } from '../natives.ts';
import { debName, makeDeb } from './deb.ts';
import { imageName, makeImage, type RuntimeFile } from './image.ts';
import { librariesOf, readLibraries, type Architecture } from './libraries.ts';
import type { ThirdPartyPackage } from './licences.ts';
import { sbomText } from './sbom.ts';

export interface ArtifactInputs {
  /** Folder of the project. */
  readonly root: string;
  /** Holds the executable `quietzone`, and receives the artifacts. */
  readonly folder: string;
  readonly target: Target;
  readonly version: string;
  readonly commit: string;
  /** Of every file in every artifact; whole seconds. */
  readonly time: Date;
  /** Oldest glibc that every native file runs with. */
  readonly glibc: Glibc;
  readonly runtime: { readonly id: string; readonly files: readonly RuntimeFile[] };
  readonly natives: readonly NativeFile[];
  readonly packages: readonly ThirdPartyPackage[];
  /** The text of their licences. */
  readonly licences: string;
  /** Of the image's shared libraries. */
  readonly libraries: readonly Entry[];
  /** Of zstd. */
  readonly level: number;
}

const architectures: Readonly<Record<Target, Architecture>> = {
  'linux-x64': 'amd64',
  'linux-arm64': 'arm64',
};
const summary = 'self-hosted dynamic QR codes';
const maintainer = 'Quietzone contributors <quietzone@localhost.localdomain>';

/** @returns the names of the files written, the executable not among them */
export async function writeArtifacts(inputs: ArtifactInputs): Promise<string[]> {
  const { root, folder, target, version, commit, time, libraries, level } = inputs;
  const architecture = architectures[target];
  const executable = await readFile(join(folder, 'quietzone'));
  const common = {
    version,
    commit,
    time,
    summary,
    architecture,
    executable,
    licence: await readFile(join(root, 'LICENSE'), 'utf8'),
    thirdParty: inputs.licences,
  };
  const deb = {
    ...common,
    maintainer,
    level,
    glibc: inputs.glibc,
    runtimeId: inputs.runtime.id,
    unit: await readFile(join(root, 'config/quietzone.service'), 'utf8'),
  };
  const image = { ...common, runtime: inputs.runtime, libraries };
  const sbom = sbomText({ ...inputs, libraries: librariesOf(architecture) });
  const made = new Map<string, Promise<Buffer> | string>([
    ['quietzone.zst', zstd(executable, level)],
    [debName(version, architecture), makeDeb(deb)],
    [imageName(version), makeImage(image)],
    ['quietzone.cdx.json', sbom],
    ['THIRD-PARTY.txt', common.thirdParty],
  ]);
  const files = [...made].map(async ([name, content]) => {
    await writeFile(join(folder, name), await content);
    return name;
  });
  return await Promise.all(files);
}

/** SOURCE_DATE_EPOCH where it is set, else the time of the commit. */
export function buildTime(
  root: string,
  environment: Readonly<Record<string, string | undefined>>,
): Date {
  const { SOURCE_DATE_EPOCH: given = '' } = environment;
  const args = ['show', '-s', '--format=%ct', 'HEAD'];
  const seconds = Number(
    given === '' ? execFileSync('git', args, { cwd: root, encoding: 'utf8' }) : given,
  );
  if (!Number.isSafeInteger(seconds) || seconds < 0) {
    throw new Error(`Cannot use SOURCE_DATE_EPOCH ${given}: expected seconds since 1970`);
  }
  return new Date(seconds * 1000);
}

/**
 * The image's shared libraries. Their packages come from the folder that IMAGE_LIBRARIES names, or from a Debian mirror:
 * DEBIAN_MIRROR, or the public one, which drops a version when the next one comes.
 *
 * @throws Error for a package that is in neither
 */
export async function imageLibraries(
  root: string,
  target: Target,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Entry[]> {
  const { IMAGE_LIBRARIES: folder = '' } = environment;
  const source = {
    folder: folder === '' ? join(root, 'node_modules/.cache/quietzone-build/libraries') : folder,
    ...(folder === '' ? { mirror: mirrorOf(environment) } : {}),
  };
  return await readLibraries(architectures[target], source);
}
