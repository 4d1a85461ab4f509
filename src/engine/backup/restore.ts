/**
 * `quietzone restore DIR`: turns a backup into a data folder, whole or not at all.
 *
 *   lock, look at the manifest and the space
 *     -> restore.json "copying" -> .restoring/ is filled, each file compared with its hash on the way
 *     -> .restoring/ is read as `quietzone verify` reads data
 *     -> restore.json "moving" -> the entries of .restoring/ are moved up -> restore.json is deleted
 *
 * Everything happens inside the folder, which may be the root of a file system and cannot be replaced then. While
 * there is a restore.json every other command refuses the folder (restore-marker.ts). The same command again
 * begins anew while it says "copying", and moves what is left once it says "moving". A restore that fails before
 * that leaves the folder as empty as it was.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve, sep } from 'node:path';
import { keepNewest } from '../../store/copied-file.ts';
import {
  assertEmpty,
  assertSpace,
  copyFile,
  type CopyProgress,
  foldersIn,
  UnreadableError,
  writeWhole,
} from './copy-files.ts';
import { type FoundManifest, newer, readManifest, sizeFaults } from './manifest.ts';
import { type CopyDisk, systemCopyDisk, systemReason } from './copy-disk.ts';
import { DataFolderError, type DataFolder, dataFolderAt } from '../data-folder.ts';
import { quickDamage, removeLocks, versionsIn, wholeDamage } from './folder-damage.ts';
import { faultText } from '../installation/folder-faults.ts';
import { inspectFolder } from '../installation/installation.ts';
import { isLockName, lockDataFolder } from '../takeover/folder-lock.ts';
import { pidFileName } from '../takeover/pid-file.ts';
import {
  readRestoreMarker,
  restoreDraftName,
  type RestoreMarker,
  restoreMarkerName,
  restoreMarkerText,
} from './restore-marker.ts';

export interface RestoreOptions {
  readonly progress: CopyProgress;
  /** Also a backup of damaged data, as it is. */
  readonly damaged?: 'keep' | undefined;
  readonly disk?: CopyDisk;
}

export interface RestoreSummary {
  readonly files: number;
  readonly bytes: number;
  /** What was wrong with the data when it was backed up. */
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
 * @param folder as `openFolderToRestore` gives it: empty, or with an unfinished restore
 * @throws DataFolderError when the folder is in use or not empty, the backup is not whole, or the disk refuses
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
  const lock = await lockDataFolder(folder, `restore into ${folder.path}`);
  try {
    const manifest = readManifest(from);
    const task: Restoration = {
      folder: folder.path,
      from,
      manifest,
      ...options,
      disk: options.disk ?? systemCopyDisk,
    };
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
  readonly disk: CopyDisk;
}

const bytesOf = ({ files }: FoundManifest): number =>
  files.reduce((sum, { bytes }) => sum + bytes, 0);

function assertAccepted({ from, manifest, damaged }: Restoration): void {
  if (manifest.damaged.length === 0 || damaged === 'keep') return;
  throw new DataFolderError(
    `Cannot restore ${from}: it was made of damaged data, and lacks or repeats the damage:\n` +
      `${manifest.damaged.map((text) => `  ${text}`).join('\n')}\n` +
      'Restore an older backup; or this one as it is, with --keep-damaged',
  );
}

function assertSame({ folder, from, manifest }: Restoration, marker: RestoreMarker): void {
  if (marker.backup === manifest.sha256) return;
  throw new DataFolderError(
    `Cannot restore ${from} into ${folder}: the restore of ${marker.from} is half done, expected that one again, or an empty folder`,
  );
}

/** Makes the draft, and marks it as complete. */
async function fill(task: Restoration): Promise<void> {
  const { folder, from, manifest, disk } = task;
  assertEmpty(folder, 'restore into', isOwn);
  const faults = sizeFaults(from, manifest.files);
  if (faults.length > 0) throw damagedBackup(from, faults);
  try {
    disk.remove(join(folder, restoreDraftName));
    assertSpace(disk, folder, bytesOf(manifest), `restore into ${folder}`);
    await mark(task, 'copying');
    await copyAll(task);
    await check(task);
    for (const path of foldersIn(join(folder, restoreDraftName))) disk.syncFolder(path);
    await mark(task, 'moving');
  } catch (error) {
    clear(task);
    throw refusal(folder, error);
  }
}

const damagedBackup = (from: string, faults: readonly string[]): DataFolderError =>
  new DataFolderError(
    `Cannot restore ${from}: ${faults.join('; ')}; expected the backup as it was made, restore another one`,
  );

async function mark(task: Restoration, state: RestoreMarker['state']): Promise<void> {
  const { folder, from, manifest, disk } = task;
  const path = join(folder, restoreMarkerName);
  const text = restoreMarkerText({ state, from, backup: manifest.sha256 });
  await writeWhole(disk, `${path}.new`, text);
  disk.rename(`${path}.new`, path);
  disk.syncFolder(folder);
}

async function copyAll({ folder, from, manifest, disk, progress }: Restoration): Promise<void> {
  const draft = join(folder, restoreDraftName);
  const faults: string[] = [];
  disk.makeFolder(draft);
  // A backup of the release before has none where all scans were counted; a start asks for it.
  disk.makeFolder(join(draft, 'journal'));
  progress.begin(bytesOf(manifest));
  for (const { name, bytes, sha256 } of manifest.files) {
    const onBytes = (copied: number): void => progress.add(copied);
    try {
      const copied = await copyFile(disk, join(from, name), join(draft, name), onBytes);
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

/** Reads the draft as it would be read when it is in use. */
async function check({ folder, from, manifest, progress }: Restoration): Promise<void> {
  if (manifest.damaged.length > 0) return;
  const draft = join(folder, restoreDraftName);
  progress.check();
  // A release before may not have looked at them when it made the backup.
  const quick = quickDamage(draft);
  if (quick.faults.length > 0) throw damagedBackup(from, quick.faults);
  for (const { name } of manifest.files.filter(({ name }) => name.endsWith('.mdb'))) {
    await keepNewest(join(draft, name));
  }
  const { faults } = await wholeDamage(draft);
  if (faults.length > 0) throw damagedBackup(from, faults);
  const inspection = await inspectFolder(dataFolderAt(draft));
  const misfits = [
    ...newer(await versionsIn(draft, new Set())),
    ...inspection.faults.map(faultText),
  ];
  if (misfits.length > 0) throw damagedBackup(from, misfits);
  removeLocks(draft);
}

/** Leaves the folder as it was. What cannot be removed is refused by the marker, which goes last. */
function clear({ folder, disk }: Restoration): void {
  try {
    disk.remove(join(folder, restoreDraftName));
    disk.remove(join(folder, `${restoreMarkerName}.new`));
    disk.remove(join(folder, restoreMarkerName));
  } catch {
    // The disk refuses this, too: the marker stays.
  }
}

/** management.mdb goes last: without it no older release takes the folder for its own. */
function moveUp({ folder, disk }: Restoration): void {
  const draft = join(folder, restoreDraftName);
  try {
    for (const name of namesToMove(draft)) {
      const to = join(folder, name);
      if (existsSync(to)) {
        throw new DataFolderError(
          `Cannot restore into ${folder}: it has ${name}, expected nothing`,
        );
      }
      disk.rename(join(draft, name), to);
    }
    disk.syncFolder(folder);
    disk.remove(draft);
    disk.remove(join(folder, restoreMarkerName));
  } catch (error) {
    const reason = systemReason(error);
    if (reason === undefined) throw error;
    throw new DataFolderError(
      `Cannot finish the restore into ${folder}: ${reason}; nothing is lost, run the same command again`,
    );
  }
}

/** All is in its place: this is no longer the restore's failure. */
function syncEnd({ folder, disk }: Restoration): void {
  try {
    disk.syncFolder(folder);
  } catch {
    // After a loss of power the marker may be there again: the same command removes it.
  }
}

const lastMoved = 'management.mdb';

function namesToMove(draft: string): string[] {
  if (!existsSync(draft)) return [];
  const names = readdirSync(draft);
  return [
    ...names.filter((name) => name !== lastMoved),
    ...names.filter((name) => name === lastMoved),
  ];
}

/** An error of the system in words; other errors as they are. */
function refusal(path: string, error: unknown): unknown {
  const reason = systemReason(error);
  if (error instanceof DataFolderError || reason === undefined) return error;
  return new DataFolderError(
    `Cannot restore into ${path}: ${reason}; nothing of the backup was kept there, run the same command again`,
  );
}
