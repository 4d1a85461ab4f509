/**
 * `quietzone restore DIR`: turns a backup into a data folder, completely or not at all.
 *
 *   lock, check the manifest and the space
 *     -> .restoring/ is filled, each file compared with its hash on the way, and verified as `quietzone verify` does
 *     -> its entries are moved up -> .restoring/ is deleted
 *
 * All steps happen inside the folder, which may be the root of a file system. While .restoring/ exists, every other
 * command refuses the folder (data-folder.ts), and the same command starts over.
 */
import { existsSync } from 'node:fs';
import { join, resolve, sep } from 'node:path';
import {
  assertEmpty,
  assertSpace,
  type CopiedFile,
  copyFile,
  type CopyProgress,
  moveUp,
  remove,
  removeLocks,
  sizeOf,
} from './copy-files.ts';
import { readManifest } from './manifest.ts';
import { inWords } from '../system-reason.ts';
import {
  DataFolderError,
  type DataFolder,
  dataFolderAt,
  makeFolder,
  restoreDraftName,
} from '../data-folder.ts';
import { syncFolder } from '../../../platform/small-files.ts';
import { isLockName, FolderLock } from '../folder-lock.ts';
import { pidFileName } from '../pid-file.ts';
import { findingText } from '../verify/findings.ts';
import { verifyFolder } from '../verify/verify.ts';

export interface RestoreSummary {
  readonly files: number;
  readonly bytes: number;
}

/** Names that a restore ignores. A killed service leaves its process id. */
const isOwn = (name: string): boolean =>
  [restoreDraftName, pidFileName, `${pidFileName}.new`].includes(name) || isLockName(name);

/**
 * @param folder of `openFolderToRestore`: empty, or with an unfinished restore
 * @throws DataFolderError if the folder is in use or not empty, the backup is incomplete, or a write fails
 */
export async function restore(
  folder: DataFolder,
  source: string,
  progress: CopyProgress,
): Promise<RestoreSummary> {
  const from = resolve(source);
  if (`${folder.path}${sep}`.startsWith(`${from}${sep}`)) {
    throw new DataFolderError(
      `Cannot restore into ${folder.path}: it is in the backup, expected a folder outside`,
    );
  }
  const lock = await FolderLock.take(folder, `restore into ${folder.path}`);
  try {
    const files = readManifest(from);
    const task = { folder: folder.path, draft: join(folder.path, restoreDraftName), from, files };
    await fill(task, progress);
    return { files: files.length, bytes: sizeOf(files) };
  } finally {
    await lock.unlock();
  }
}

interface Restoration {
  readonly folder: string;
  readonly draft: string;
  readonly from: string;
  readonly files: readonly CopiedFile[];
}

async function fill(task: Restoration, progress: CopyProgress): Promise<void> {
  const { folder, draft, files } = task;
  const parts = new Set(files.map(({ name }) => name.replace(/\/.*/s, '')));
  /** Entries of this restore, or of an unfinished one. */
  let moved = existsSync(draft) ? parts : new Set<string>();
  // The draft of another backup stays; without it, a service would start on the leftovers of that restore.
  assertEmpty(folder, 'restore into', (name) => isOwn(name) || moved.has(name));
  try {
    clear(task, moved);
    moved = new Set();
    assertSpace(folder, sizeOf(files), `restore into ${folder}`);
    makeFolder(draft);
    syncFolder(folder);
    await copyAll(task, progress);
    await check(task, progress);
    assertEmpty(folder, 'restore into', isOwn);
    moved = parts;
    moveUp(draft, folder);
    remove(draft);
    // Otherwise a power loss could bring the draft back, and the next restore would delete a service's data.
    syncFolder(folder);
  } catch (error) {
    let left = 'no file was left there';
    try {
      clear(task, moved);
    } catch {
      left = 'the copied files could not be removed';
    }
    throw inWords(
      error,
      (reason) => `Cannot restore into ${folder}: ${reason}; ${left}, run the same command again`,
    );
  }
}

const damagedBackup = (from: string, faults: readonly string[]): DataFolderError =>
  new DataFolderError(
    `Cannot restore ${from}: ${faults.join('; ')}; expected an unchanged backup; restore another one`,
  );

async function copyAll({ draft, from, files }: Restoration, progress: CopyProgress): Promise<void> {
  const faults: string[] = [];
  progress.begin(sizeOf(files));
  for (const { name, bytes, sha256 } of files) {
    const onBytes = (copied: number): void => progress.add(copied);
    const copied = await copyFile(join(from, name), join(draft, name), onBytes);
    if (copied === undefined) faults.push(`${name} is missing`);
    else if (copied.sha256 !== sha256) {
      faults.push(`${name} is damaged: it differs from its hash`);
    }
    progress.file(name, bytes);
  }
  if (faults.length > 0) throw damagedBackup(from, faults);
}

async function check({ draft, from }: Restoration, progress: CopyProgress): Promise<void> {
  progress.check();
  const { findings } = await verifyFolder(dataFolderAt(draft));
  if (findings.length > 0) throw damagedBackup(from, findings.map(findingText));
  removeLocks(draft);
}

/** Removes the leftovers of a restore, the draft last: if a deletion fails, other commands refuse the rest. */
function clear({ folder, draft }: Restoration, moved: ReadonlySet<string>): void {
  if (moved.size > 0) makeFolder(draft);
  for (const name of moved) remove(join(folder, name));
  remove(draft);
}
