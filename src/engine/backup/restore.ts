/**
 * `quietzone restore DIR`: turns a backup into a data folder, completely or not at all.
 *
 *   lock, check the manifest and the space
 *     -> restore.json "copying" -> .restoring/ is filled, each file compared with its hash on the way
 *     -> .restoring/ is verified as `quietzone verify` does
 *     -> restore.json "moving" -> the entries of .restoring/ are moved up -> restore.json is deleted
 *
 * All of it happens inside the folder, which may be the root of a file system. While restore.json exists, every other command
 * refuses the folder (unfinished.ts). The same command starts over from "copying", and completes the move from "moving".
 */
import { existsSync, readdirSync, renameSync } from 'node:fs';
import { join, resolve, sep } from 'node:path';
import {
  assertEmpty,
  assertSpace,
  copyFile,
  type CopyProgress,
  foldersIn,
  remove,
  removeLocks,
  UnreadableError,
} from './copy-files.ts';
import { type FoundManifest, readManifest } from './manifest.ts';
import { inWords } from './system-reason.ts';
import { DataFolderError, type DataFolder, dataFolderAt, makeFolder } from '../data-folder.ts';
import { replaceFile, syncFolder } from '../small-files.ts';
import { isLockName, FolderLock } from '../takeover/folder-lock.ts';
import { pidFileName } from '../takeover/pid-file.ts';
import { findingText } from '../verify/findings.ts';
import { verifyFolder } from '../verify/verify.ts';
import {
  readRestoreMarker,
  restoreDraftName,
  type RestoreMarker,
  restoreMarkerName,
} from '../unfinished.ts';

export interface RestoreOptions {
  readonly progress: CopyProgress;
  readonly damaged?: 'keep' | undefined;
}

export interface RestoreSummary {
  readonly files: number;
  readonly bytes: number;
  readonly damage: readonly string[];
}

const ownNames = [
  restoreMarkerName,
  `${restoreMarkerName}.new`,
  restoreDraftName,
  // Left by a service that was killed.
  pidFileName,
  `${pidFileName}.new`,
];
const isOwn = (name: string): boolean => ownNames.includes(name) || isLockName(name);

/**
 * @param folder of `openFolderToRestore`: empty, or with an unfinished restore
 * @throws DataFolderError if the folder is in use or not empty, the backup is incomplete, or a write fails
 */
export async function restore(
  folder: DataFolder,
  source: string,
  options: RestoreOptions,
): Promise<RestoreSummary> {
  const from = resolve(source);
  if (`${folder.path}${sep}`.startsWith(`${from}${sep}`)) {
    throw new DataFolderError(
      `Cannot restore into ${folder.path}: it is in the backup, expected a folder outside`,
    );
  }
  const lock = await FolderLock.take(folder, `restore into ${folder.path}`);
  try {
    const manifest = readManifest(from);
    const task: Restoration = { folder: folder.path, from, manifest, ...options };
    assertAccepted(task);
    const marker = readRestoreMarker(folder.path);
    if (marker?.state === 'moving') assertSame(task, marker);
    else await fill(task);
    moveUp(task);
    syncEnd(task);
    const { files, damaged } = manifest;
    return { files: files.length, bytes: bytesOf(manifest), damage: damaged };
  } finally {
    await lock.unlock();
  }
}

interface Restoration extends RestoreOptions {
  readonly folder: string;
  readonly from: string;
  readonly manifest: FoundManifest;
}

const bytesOf = ({ files }: FoundManifest): number =>
  files.reduce((sum, { bytes }) => sum + bytes, 0);

function assertAccepted({ from, manifest, damaged }: Restoration): void {
  if (manifest.damaged.length === 0 || damaged === 'keep') return;
  throw new DataFolderError(
    `Cannot restore ${from}: it is a copy of damaged data:\n` +
      `${manifest.damaged.map((text) => `  ${text}`).join('\n')}\n` +
      'Restore an older backup, or this one with --keep-damaged',
  );
}

function assertSame({ folder, from, manifest }: Restoration, marker: RestoreMarker): void {
  if (marker.backup === manifest.sha256) return;
  throw new DataFolderError(
    `Cannot restore ${from} into ${folder}: the restore of ${marker.from} did not finish, expected that backup or an empty folder`,
  );
}

async function fill(task: Restoration): Promise<void> {
  const { folder, manifest } = task;
  assertEmpty(folder, 'restore into', isOwn);
  try {
    remove(join(folder, restoreDraftName));
    assertSpace(folder, bytesOf(manifest), `restore into ${folder}`);
    mark(task, 'copying');
    await copyAll(task);
    await check(task);
    for (const path of foldersIn(join(folder, restoreDraftName))) syncFolder(path);
    mark(task, 'moving');
  } catch (error) {
    clear(task);
    throw inWords(
      error,
      (reason) =>
        `Cannot restore into ${folder}: ${reason}; no file was left there, run the same command again`,
    );
  }
}

const damagedBackup = (from: string, faults: readonly string[]): DataFolderError =>
  new DataFolderError(
    `Cannot restore ${from}: ${faults.join('; ')}; expected the backup as it was made, restore another one`,
  );

function mark(task: Restoration, state: RestoreMarker['state']): void {
  const { folder, from, manifest } = task;
  const path = join(folder, restoreMarkerName);
  const marker: RestoreMarker = { state, from, backup: manifest.sha256 };
  replaceFile(path, `${JSON.stringify(marker)}\n`);
}

async function copyAll({ folder, from, manifest, progress }: Restoration): Promise<void> {
  const draft = join(folder, restoreDraftName);
  const faults: string[] = [];
  makeFolder(draft);
  progress.begin(bytesOf(manifest));
  for (const { name, bytes, sha256 } of manifest.files) {
    const onBytes = (copied: number): void => progress.add(copied);
    try {
      const copied = await copyFile(join(from, name), join(draft, name), onBytes);
      if (copied === undefined) faults.push(`${name} is missing`);
      else if (copied.sha256 !== sha256) {
        faults.push(`${name} is damaged: it is not what was backed up`);
      }
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error;
      faults.push(`${name} ${error.message}`);
    }
    progress.file(name, bytes);
  }
  if (faults.length > 0) throw damagedBackup(from, faults);
}

async function check({ folder, from, manifest, progress }: Restoration): Promise<void> {
  if (manifest.damaged.length > 0) return;
  const draft = join(folder, restoreDraftName);
  progress.check();
  const { findings } = await verifyFolder(dataFolderAt(draft));
  if (findings.length > 0) throw damagedBackup(from, findings.map(findingText));
  removeLocks(draft);
}

/** Empties the folder. The marker goes last, so that other commands refuse the rest if a deletion fails. */
function clear({ folder }: Restoration): void {
  try {
    remove(join(folder, restoreDraftName));
    remove(join(folder, `${restoreMarkerName}.new`));
    remove(join(folder, restoreMarkerName));
  } catch {
    // The marker stays.
  }
}

/** Moves management.mdb last: a start refuses a folder without it. */
function moveUp({ folder }: Restoration): void {
  const draft = join(folder, restoreDraftName);
  try {
    for (const name of namesToMove(draft)) {
      const to = join(folder, name);
      if (existsSync(to)) {
        throw new DataFolderError(
          `Cannot restore into ${folder}: it has ${name}, expected nothing`,
        );
      }
      renameSync(join(draft, name), to);
    }
    syncFolder(folder);
    remove(draft);
    remove(join(folder, restoreMarkerName));
  } catch (error) {
    throw inWords(
      error,
      (reason) =>
        `Cannot finish the restore into ${folder}: ${reason}; nothing is lost, run the same command again`,
    );
  }
}

function syncEnd({ folder }: Restoration): void {
  try {
    syncFolder(folder);
  } catch {
    // The restore is complete. After a power loss the marker may be back: the same command removes it.
  }
}

const lastMoved = 'management.mdb';

function namesToMove(draft: string): string[] {
  if (!existsSync(draft)) return [];
  const isLast = (name: string): number => Number(name === lastMoved);
  return readdirSync(draft).toSorted((one, other) => isLast(one) - isLast(other));
}
