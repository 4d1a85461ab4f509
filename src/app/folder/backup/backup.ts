/**
 * `quietzone backup DIR`: copies all data but the caches. A service may run.
 *
 *   inspect every part -> copy to .DIR.<pid>.partial (copy-data.ts) -> verify the copy -> backup.json -> rename to DIR
 *
 * A file is copied before the files that it refers to: an event may be sent twice but is not lost, and every scanned
 * code exists. The journals have exactly the scans that the copied scans.mdb has not counted (held-journals.ts). A
 * fault ends the backup. A backup gets its name only when it is complete.
 */
import { existsSync, readdirSync, realpathSync, renameSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { systemErrorCode } from '../../../model/failure.ts';
import { bytesToCopy, copyData } from './copy-data.ts';
import {
  assertEmpty,
  assertSpace,
  type CopiedFile,
  type CopyProgress,
  foldersIn,
  isMountPoint,
  remove,
  removeLocks,
  sizeOf,
} from './copy-files.ts';
import { type FolderAccess, ownAccess } from './folder-access.ts';
import { manifestName, manifestVersion, ownVersions } from './manifest.ts';
import { inWords } from '../system-reason.ts';
import {
  DataFolderError,
  type DataFolder,
  dataFolderAt,
  lastBackupName,
  makeFolder,
} from '../data-folder.ts';
import { replaceFile, syncFolder } from '../../../platform/small-files.ts';
import { faultText } from '../folder-faults.ts';
import { assertFinished, backupMark } from '../installation.ts';
import { verifyFolder } from '../verify/verify.ts';

export interface BackupOptions {
  readonly createdAt: string;
  readonly progress: CopyProgress;
  /** Absent = this process owns the folder. */
  readonly access?: FolderAccess | undefined;
}

export interface BackupSummary {
  readonly path: string;
  readonly files: number;
  readonly bytes: number;
}

/**
 * @param target a missing or empty folder outside the data folder
 * @throws DataFolderError if the target is not empty or cannot be written, or the data has faults
 */
export async function backup(
  folder: DataFolder,
  target: string,
  options: BackupOptions,
): Promise<BackupSummary> {
  const path = resolve(target);
  const draft = join(dirname(path), draftName(path, process.pid));
  try {
    assertTarget(folder, path);
    for (const name of leftDrafts(path)) remove(join(dirname(path), name));
    makeFolder(draft);
  } catch (error) {
    throw refusal(path, error);
  }
  let written = draft;
  try {
    const files = await fill(folder, draft, options);
    renameSync(draft, path);
    written = path;
    syncFolder(dirname(path));
    noteBackup(folder, options.createdAt);
    return { path, files: files.length, bytes: sizeOf(files) };
  } catch (error) {
    clear(written);
    throw refusal(path, error);
  }
}

/** Notes the time for a metric. If the data folder is full, the backup still succeeds. */
function noteBackup({ path }: DataFolder, createdAt: string): void {
  try {
    replaceFile(join(path, lastBackupName), createdAt);
  } catch {
    // The metric shows an older backup.
  }
}

/** Two backups to one folder must not share a draft. */
const draftName = (path: string, pid: number): string => `.${basename(path)}.${pid}.partial`;

/** Drafts of killed backups to this folder. */
function leftDrafts(path: string): string[] {
  if (!existsSync(dirname(path))) return [];
  return readdirSync(dirname(path)).filter((name) => {
    const pid = Number(/\.(\d+)\.partial$/.exec(name)?.[1]);
    return name === draftName(path, pid) && (pid === process.pid || !isRunning(pid));
  });
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return systemErrorCode(error) !== 'ESRCH';
  }
}

function assertTarget(folder: DataFolder, path: string): void {
  if (`${realPathOf(path)}${sep}`.startsWith(`${realpathSync(folder.path)}${sep}`)) {
    throw new DataFolderError(
      `Cannot back up to ${path}: it is in the data folder, expected one outside`,
    );
  }
  assertEmpty(path, 'back up to');
  if (isMountPoint(path)) {
    throw new DataFolderError(
      `Cannot back up to ${path}: a disk is mounted there, expected a folder on it, such as ${join(path, 'backup')}`,
    );
  }
}

function realPathOf(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  return dirname(path) === path ? path : join(realPathOf(dirname(path)), basename(path));
}

async function fill(
  folder: DataFolder,
  draft: string,
  options: BackupOptions,
): Promise<readonly CopiedFile[]> {
  const { progress, createdAt, access = ownAccess(folder) } = options;
  const state = await access.inspect();
  assertFinished('back up', folder, state);
  assertSound(folder, state.faults.map(faultText));
  const mark = backupMark(state);
  const bytes = bytesToCopy(folder);
  assertSpace(draft, bytes, `back up to ${dirname(draft)}`);
  progress.begin(bytes);
  const copied = await copyData({ folder, access, draft, progress, mark });
  progress.check();
  const { findings } = await verifyFolder(dataFolderAt(draft));
  const found = findings.map(({ file, text, remedy }) => `${file}: ${text}; ${remedy}`);
  assertSound(folder, found);
  removeLocks(draft);
  const files = await copied.hashed();
  const manifest = {
    version: manifestVersion,
    createdAt,
    installation: mark.id,
    data: ownVersions(),
    files,
  };
  replaceFile(join(draft, manifestName), `${JSON.stringify(manifest, undefined, 2)}\n`);
  for (const path of foldersIn(draft)) syncFolder(path);
  return files;
}

/** @throws DataFolderError */
function assertSound(folder: DataFolder, faults: readonly string[]): void {
  if (faults.length === 0) return;
  throw new DataFolderError(
    `Cannot back up ${folder.path}: its data has faults:\n${faults.map((text) => `  ${text}`).join('\n')}\n` +
      'Keep the earlier backups. `quietzone verify` shows details, `quietzone restore` restores a backup; ' +
      'to keep the current data, stop the service and copy the folder',
  );
}

function clear(draft: string): void {
  try {
    remove(draft);
  } catch {
    // The draft is hidden and has no manifest. The next backup to this folder removes it.
  }
}

const refusal = (path: string, error: unknown): unknown =>
  inWords(
    error,
    (reason) =>
      `Cannot back up to ${path}: ${reason}, expected a writable folder; no backup was made`,
  );
