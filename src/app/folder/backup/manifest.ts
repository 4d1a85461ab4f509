/**
 * `backup.json`, the list of a backup's files. It is written last: a folder without it is not a backup.
 *
 *   version        1
 *   createdAt      ISO 8601
 *   installation   id of the installation
 *   data           data file -> version of its data
 *   files          name, bytes and SHA-256 of every file
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deliveryVersion } from '../../../store/delivery/delivery.ts';
import { managementVersion } from '../../../store/management/management.ts';
import type { EnvironmentVersion } from '../../../store/open-environment.ts';
import { scansVersion } from '../../../store/scans/scans.ts';
import type { CopiedFile } from './copy-files.ts';
import { DataFolderError } from '../data-folder.ts';
import { parseJson } from '../../../platform/small-files.ts';

export const manifestName = 'backup.json';
export const manifestVersion = 1;

export const dataVersions: ReadonlyMap<string, EnvironmentVersion> = new Map([
  ['delivery.mdb', deliveryVersion],
  ['scans.mdb', scansVersion],
  ['management.mdb', managementVersion],
]);

/** Data file -> the version that this program writes. */
export const ownVersions = (): Record<string, number> =>
  Object.fromEntries([...dataVersions].map(([name, { version }]) => [name, version]));

const requiredFiles: readonly string[] = [
  ...dataVersions.keys(),
  'signing-keys.json',
  'visitor.key',
];

/** The fields that a restore reads. */
export interface Manifest {
  readonly data: Readonly<Record<string, number>>;
  readonly files: readonly CopiedFile[];
}

/** @returns the backup's files @throws DataFolderError naming all faults */
export function readManifest(from: string): readonly CopiedFile[] {
  const { data, files } = parse(from, textOf(from));
  const faults = [...missing(files), ...newer(data)];
  if (faults.length > 0) {
    throw new DataFolderError(`Cannot restore ${from}: ${faults.join('; ')}`);
  }
  return files;
}

function textOf(from: string): string {
  try {
    return readFileSync(join(from, manifestName), 'utf8');
  } catch {
    throw refusal(from, `it has no readable ${manifestName}`);
  }
}

const refusal = (from: string, why: string): DataFolderError =>
  new DataFolderError(
    `Cannot restore ${from}: ${why}, expected a folder made by \`quietzone backup\``,
  );

function parse(from: string, text: string): Manifest {
  const content = parseJson(text);
  if (content === undefined) throw refusal(from, `it has no readable ${manifestName}`);
  const field = (name: string): unknown => Reflect.get(Object(content), name);
  const version = field('version');
  if (version !== manifestVersion) {
    throw refusal(from, `its version is ${String(version)}, this program reads ${manifestVersion}`);
  }
  const files = filesOf(field('files'));
  if (files === undefined) throw refusal(from, 'its list of files is not valid');
  return { data: numbersOf(field('data')), files };
}

/** Undefined unless each is a file below the folder, listed once. */
export function filesOf(value: unknown): CopiedFile[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const files = value.map((entry: unknown): CopiedFile => {
    const field = (name: string): unknown => Reflect.get(Object(entry), name);
    return {
      name: String(field('name')),
      bytes: Number(field('bytes')),
      sha256: String(field('sha256')),
    };
  });
  const isSound = ({ name, bytes, sha256 }: CopiedFile): boolean =>
    isBelow(name) && Number.isSafeInteger(bytes) && bytes >= 0 && /^[0-9a-f]{64}$/.test(sha256);
  const isOnce = new Set(files.map(({ name }) => name)).size === files.length;
  return files.length > 0 && isOnce && files.every(isSound) ? files : undefined;
}

const isBelow = (name: string): boolean =>
  !name.includes('\0') && name.split('/').every((part) => !['', '.', '..'].includes(part));

export const numbersOf = (value: unknown): Record<string, number> =>
  Object.fromEntries(Object.entries(Object(value)).map(([name, number]) => [name, Number(number)]));

function missing(files: readonly CopiedFile[]): string[] {
  const names = new Set(files.map(({ name }) => name));
  const absent = requiredFiles.filter((name) => !names.has(name));
  return absent.length === 0 ? [] : [`it lacks ${absent.join(', ')}, expected a complete backup`];
}

/** Faults of data that only a newer program reads. @param found versions by data file */
export function newer(found: Readonly<Record<string, number>>): string[] {
  return Object.entries(found).flatMap(([name, version]) => {
    const known = dataVersions.get(name)?.version;
    if (known === undefined || version <= known) return [];
    return [
      `the data of ${name} has version ${version}, expected ${known} or older: use the Quietzone that wrote it, or a newer one`,
    ];
  });
}
