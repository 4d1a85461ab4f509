/**
 * The Debian package: an ar archive of `debian-binary`, control.tar.zst and data.tar.zst. Every supported Debian and
 * Ubuntu reads zstd (dpkg 1.21.18, or Ubuntu's since 18.04). Each is one frame: dpkg stops reading after the first.
 *
 *   /usr/bin/quietzone                          the executable
 *   /usr/lib/systemd/system/quietzone.service   neither enabled nor started by the package
 *   /usr/lib/sysctl.d/50-quietzone.conf         what a takeover needs of the kernel
 *   /etc/quietzone/environment                  its settings, kept as the administrator leaves them
 *   /usr/share/doc/quietzone/                   copyright, licences of what is inside
 *   /usr/lib/quietzone/runtime/<id>/            laid out by postinst with `quietzone unpack`
 *
 * The service keeps its data in /var/lib/quietzone, which no script of the package touches.
 */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileEntry, writeAr, writeTar, type Entry, type FileEntry } from '../archive.ts';
import { zstd } from '../compress.ts';
import type { Glibc } from '../elf.ts';
import type { Architecture } from './libraries.ts';

export interface DebInputs {
  /** As in package.json. */
  readonly version: string;
  readonly architecture: Architecture;
  /** One line, without a full stop. */
  readonly summary: string;
  /** `Name <address>`. */
  readonly maintainer: string;
  /** Oldest one that every native file runs with. */
  readonly glibc: Glibc;
  /** Name of the folder that this build's `unpack` makes: 16 hex digits. */
  readonly runtimeId: string;
  readonly executable: Uint8Array;
  readonly unit: string;
  /** LICENSE of the project, and the licences of what is inside the executable. */
  readonly licence: string;
  readonly thirdParty: string;
  readonly time: Date;
  /** Of zstd. */
  readonly level: number;
}

/** The libstdc++ of the GCC that came with that glibc. */
const libstdcxxOf: Readonly<Record<Glibc, string>> = { '2.28': '8', '2.34': '11' };
const scriptNames = ['postinst', 'prerm', 'postrm'];

/** `quietzone_0.1.0_amd64.deb` */
export function debName(version: string, architecture: Architecture): string {
  return `quietzone_${debianVersion(version)}_${architecture}.deb`;
}

/** `1.0.0-rc.1` comes before `1.0.0`: that is a tilde to dpkg. */
function debianVersion(version: string): string {
  return version.replace('-', '~');
}

/** @throws Error when a script of the package has a placeholder that is not known here */
export async function makeDeb(inputs: DebInputs): Promise<Buffer> {
  const { time, level } = inputs;
  const data = dataEntries(inputs);
  const control = controlEntries(inputs, data);
  const pack = async (entries: readonly Entry[]): Promise<Buffer> =>
    await zstd(await writeTar(entries, { time, prefix: './' }), level);
  return writeAr(
    [
      { name: 'debian-binary', content: Buffer.from('2.0\n') },
      { name: 'control.tar.zst', content: await pack(control) },
      { name: 'data.tar.zst', content: await pack(data) },
    ],
    time,
  );
}

function dataEntries(inputs: DebInputs): FileEntry[] {
  const documents = 'usr/share/doc/quietzone';
  return [
    fileEntry('usr/bin/quietzone', 0o755, inputs.executable),
    fileEntry('usr/lib/systemd/system/quietzone.service', 0o644, inputs.unit),
    fileEntry('usr/lib/sysctl.d/50-quietzone.conf', 0o644, readPart('sysctl.conf')),
    // Passwords may go in here; systemd reads it as root.
    fileEntry('etc/quietzone/environment', 0o640, readPart('environment')),
    fileEntry(`${documents}/copyright`, 0o644, copyrightText(inputs.licence)),
    fileEntry(`${documents}/THIRD-PARTY.txt`, 0o644, inputs.thirdParty),
  ];
}

function controlEntries(inputs: DebInputs, data: readonly FileEntry[]): FileEntry[] {
  const sums = data
    .filter(({ path }) => !path.startsWith('etc/'))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
    .map(({ path, content }) => `${hash('md5', content, 'hex')}  ${path}\n`);
  return [
    fileEntry('control', 0o644, controlText(inputs, data)),
    fileEntry('conffiles', 0o644, '/etc/quietzone/environment\n'),
    fileEntry('md5sums', 0o644, sums.join('')),
    ...scriptNames.map((name) => fileEntry(name, 0o755, scriptText(name, inputs.runtimeId))),
  ];
}

function controlText(inputs: DebInputs, data: readonly FileEntry[]): string {
  const kibibytes = data.reduce((sum, { content }) => sum + Math.ceil(content.length / 1024), 0);
  return [
    'Package: quietzone',
    `Version: ${debianVersion(inputs.version)}`,
    `Architecture: ${inputs.architecture}`,
    `Maintainer: ${inputs.maintainer}`,
    `Installed-Size: ${kibibytes}`,
    `Depends: ${dependsText(inputs.glibc)}`,
    'Section: web',
    'Priority: optional',
    `Description: ${inputs.summary}`,
    ' Print a QR code once and change where it leads whenever you like. Every scan is',
    ' redirected and counted exactly once. One process and one data folder: no',
    ' database server, no queue.',
    ' .',
    ' Start it with: systemctl enable --now quietzone',
    '',
  ].join('\n');
}

function dependsText(glibc: Glibc): string {
  return `libc6 (>= ${glibc}), libgcc-s1, libstdc++6 (>= ${libstdcxxOf[glibc]})`;
}

function scriptText(name: string, runtimeId: string): string {
  const text = readPart(name).replaceAll('@RUNTIME_ID@', runtimeId);
  const unknown = /@[A-Z_]+@/.exec(text);
  if (unknown) throw new Error(`Cannot write ${name}: nothing is known for ${unknown[0]}`);
  return text;
}

/** In the machine-readable form (DEP 5). */
function copyrightText(licence: string): string {
  const holder = /^Copyright.*$/m.exec(licence)?.[0];
  if (holder === undefined) throw new Error('Cannot write copyright: LICENSE names no holder');
  const body = licence
    .slice(licence.indexOf(holder) + holder.length)
    .trim()
    .split('\n')
    .map((line) => (line.trim() === '' ? ' .' : ` ${line}`));
  return [
    'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/',
    'Upstream-Name: quietzone',
    'Comment: The executable holds parts of others, geo data among them. THIRD-PARTY.txt',
    ' beside this file lists them with their licences.',
    '',
    'Files: *',
    `Copyright: ${holder.replace(/^Copyright\s*(\(c\))?\s*/i, '')}`,
    'License: MIT',
    ...body,
    '',
  ].join('\n');
}

function readPart(name: string): string {
  return readFileSync(new URL(`debian/${name}`, import.meta.url), 'utf8');
}
