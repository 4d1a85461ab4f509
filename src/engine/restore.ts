/**
 * `quietzone restore DIR`: turns a backup into a data folder. Every file is checked against its hash before
 * the first is copied; an existing file is never overwritten.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import {
  assertEmpty,
  type BackupSummary,
  copyFile,
  type CopiedFile,
  describe,
  type Manifest,
  manifestName,
  manifestVersion,
  type OnFile,
} from './backup-files.ts';
import { DataFolderError, type DataFolder } from './data-folder.ts';

/**
 * Puts a backup into an empty data folder.
 * @throws DataFolderError when the folder is not empty, or the backup is missing or damaged
 */
export async function restore(
  folder: DataFolder,
  source: string,
  onFile: OnFile,
): Promise<BackupSummary> {
  const from = resolve(source);
  const { files } = readManifest(from);
  assertEmpty(folder.path, 'restore into');
  for (const file of files) {
    const found = existsSync(join(from, file.name)) ? await describe(from, file.name) : undefined;
    if (found?.sha256 !== file.sha256) {
      throw new DataFolderError(
        `Cannot restore ${from}: ${file.name} is ${found === undefined ? 'missing' : 'damaged'}, expected it as backed up`,
      );
    }
  }
  for (const { name, bytes } of files) {
    await copyFile(join(from, name), join(folder.path, name));
    onFile(name, bytes);
  }
  return { files: files.length, bytes: files.reduce((sum, { bytes }) => sum + bytes, 0) };
}

function readManifest(from: string): Manifest {
  const refuse = (why: string): DataFolderError =>
    new DataFolderError(
      `Cannot restore ${from}: ${why}, expected a folder made by quietzone backup`,
    );
  let manifest: Partial<Manifest> | null;
  try {
    manifest = JSON.parse(readFileSync(join(from, manifestName), 'utf8'));
  } catch {
    throw refuse(`it has no readable ${manifestName}`);
  }
  if (manifest?.version !== manifestVersion) {
    throw refuse(`its version is ${String(manifest?.version)}, known is ${manifestVersion}`);
  }
  const files = Array.isArray(manifest.files) ? manifest.files : [];
  const isBelow = ({ name }: CopiedFile): boolean => !name.startsWith('/') && !name.includes('..');
  if (files.length === 0 || !files.every(isBelow)) throw refuse('its list of files is not valid');
  return { version: manifest.version, createdAt: String(manifest.createdAt), files };
}
