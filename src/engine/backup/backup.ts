/**
 * `quietzone backup DIR`: all data, copied beside a running service.
 *
 *   look at every part -> copy to .DIR.<pid>.partial (copy-data.ts) -> read the copy -> backup.json -> rename to DIR
 *
 * The order makes the copies consistent: a file is copied before the files that it refers to.
 * A delivery's cursor never runs ahead of its outbox (an event may be sent again, none is lost). The
 * journals have every scan that the copied scans.mdb has not counted, and no other (held-journals.ts).
 * Every scanned code exists.
 *
 * A data file is copied as a snapshot that LMDB holds beside its writers (copy-files.ts). The copy is read as
 * `quietzone verify` reads data. Damage ends the backup, which leaves the ones before as they are; it is kept only
 * when that is asked for, and then under the name DIR.damaged. The result has a manifest with the hash of every
 * file, and gets its name when it is complete: half a backup never looks like one. Caches are left out: they can
 * be made again.
 */
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { systemErrorCode } from '../../model/failure.ts';
import { bytesToCopy, copyData, hashedFiles } from './copy-data.ts';
import {
  assertEmpty,
  assertSpace,
  type CopiedFile,
  type CopyProgress,
  foldersIn,
  isMountPoint,
  writeWhole,
} from './copy-files.ts';
import { type Manifest, manifestName, manifestVersion, newer, requiredFiles } from './manifest.ts';
import { type CopyDisk, systemCopyDisk, systemReason } from './copy-disk.ts';
import { DataFolderError, type DataFolder, lastBackupName } from '../data-folder.ts';
import { replaceFile } from '../small-files.ts';
import { quickDamage, removeLocks, versionsIn, wholeDamage } from './folder-damage.ts';
import { faultText } from '../installation/folder-faults.ts';
import { assertFinished, backupMark, inspectFolder } from '../installation/installation.ts';

export interface BackupOptions {
  /** ISO 8601, for the manifest. */
  readonly createdAt: string;
  readonly progress: CopyProgress;
  /** Keeps the copy also when data is damaged. */
  readonly damaged?: 'keep' | undefined;
  readonly disk?: CopyDisk;
}

export interface BackupSummary {
  /** Where it is. */
  readonly path: string;
  readonly files: number;
  readonly bytes: number;
  /** In words, each with the file; none but with `damaged: 'keep'`. */
  readonly damage: readonly string[];
}

/**
 * @param target a folder that does not exist, or is empty; not in the data folder
 * @throws DataFolderError when the target is not empty or cannot be written, data is damaged or newer than this
 *   program, or a journal grows too fast
 */
export async function backup(
  folder: DataFolder,
  target: string,
  options: BackupOptions,
): Promise<BackupSummary> {
  const path = resolve(target);
  const disk = options.disk ?? systemCopyDisk;
  const draft = join(dirname(path), draftName(path, process.pid));
  try {
    assertTarget(folder, path, options);
    for (const name of leftDrafts(path)) disk.remove(join(dirname(path), name));
    disk.makeFolder(draft);
  } catch (error) {
    throw refusal(path, error);
  }
  let written = draft;
  try {
    const { files, damage } = await fill(folder, draft, { ...options, disk });
    const name = damage.length > 0 ? damagedName(path) : path;
    disk.rename(draft, name);
    written = name;
    disk.syncFolder(dirname(path));
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    if (damage.length === 0) noteBackup(folder, options.createdAt);
    return { path: name, files: files.length, bytes, damage };
  } catch (error) {
    clear(disk, written);
    throw refusal(path, error);
  }
}

/** For a metric: a data folder that is full does not spoil the backup. */
function noteBackup({ path }: DataFolder, createdAt: string): void {
  try {
    replaceFile(join(path, lastBackupName), createdAt);
  } catch {
    // The metric says older than it is.
  }
}

/** One for each process: two backups to the same folder must not share it. */
const draftName = (path: string, pid: number): string => `.${basename(path)}.${pid}.partial`;

/** Of backups to this folder that were killed. */
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

const damagedName = (path: string): string => `${path}.damaged`;

function assertTarget(folder: DataFolder, path: string, { damaged }: BackupOptions): void {
  if (`${realPathOf(path)}${sep}`.startsWith(`${realpathSync(folder.path)}${sep}`)) {
    throw new DataFolderError(
      `Cannot back up to ${path}: it is in the data folder, expected one outside`,
    );
  }
  assertEmpty(path, 'back up to');
  if (damaged === 'keep') assertEmpty(damagedName(path), 'back up to');
  if (isMountPoint(path)) {
    throw new DataFolderError(
      `Cannot back up to ${path}: a disk is mounted there, expected a folder on it, such as ${join(path, 'backup')}`,
    );
  }
}

/** Where a path leads that need not exist yet. */
function realPathOf(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  return dirname(path) === path ? path : join(realPathOf(dirname(path)), basename(path));
}

interface Filled {
  readonly files: readonly CopiedFile[];
  readonly damage: readonly string[];
}

/** Makes a whole backup of the draft. */
async function fill(
  folder: DataFolder,
  draft: string,
  options: BackupOptions & { readonly disk: CopyDisk },
): Promise<Filled> {
  const { disk, progress, createdAt } = options;
  const inspection = await inspectFolder(folder);
  assertFinished('back up', folder, inspection);
  const damage = inspection.faults.map(faultText);
  accept(folder, damage, options);
  const mark = damage.length === 0 ? backupMark(inspection) : undefined;
  const { unsound } = quickDamage(folder.path);
  refuse(folder, newer(await versionsIn(folder.path, unsound)));
  const content = 'folder';
  const bytes = bytesToCopy({ folder, content });
  assertSpace(disk, draft, bytes, `back up to ${dirname(draft)}`);
  progress.begin(bytes);
  const copied = await copyData({ folder, content, draft, disk, progress, unsound, mark });
  progress.check();
  const found = await wholeDamage(draft);
  damage.push(...copied.unreadable, ...found.faults);
  accept(folder, damage, options);
  const data = await versionsIn(draft, found.unsound);
  refuse(folder, newer(data));
  removeLocks(draft);
  const files = await hashedFiles(draft, copied);
  const manifest: Manifest = {
    version: manifestVersion,
    createdAt,
    installation: inspection.parts.mark?.id ?? '',
    data,
    required: requiredFiles,
    damaged: damage,
    files,
  };
  await writeWhole(disk, join(draft, manifestName), `${JSON.stringify(manifest, undefined, 2)}\n`);
  for (const path of foldersIn(draft)) disk.syncFolder(path);
  return { files, damage };
}

function refuse(folder: DataFolder, faults: readonly string[]): void {
  if (faults.length === 0) return;
  throw new DataFolderError(`Cannot back up ${folder.path}: ${faults.join('; ')}`);
}

/** @throws DataFolderError for damage, unless its copy is wanted */
function accept(folder: DataFolder, damage: readonly string[], { damaged }: BackupOptions): void {
  if (damage.length === 0 || damaged === 'keep') return;
  throw new DataFolderError(
    `Cannot back up ${folder.path}: its data is damaged:\n${damage.map((text) => `  ${text}`).join('\n')}\n` +
      'Keep the backups made before. `quietzone verify` says more, `quietzone restore` goes back to one of them; ' +
      '`quietzone backup --keep-damaged` copies the data as it is',
  );
}

/** The reason of the failure matters more than a draft that cannot be removed. */
function clear(disk: CopyDisk, draft: string): void {
  try {
    disk.remove(draft);
  } catch {
    // Hidden and without a manifest; the next backup of the name removes it.
  }
}

/** An error of the system as a message for the operator; other errors unchanged. */
function refusal(path: string, error: unknown): unknown {
  const reason = systemReason(error);
  if (error instanceof DataFolderError || reason === undefined) return error;
  return new DataFolderError(
    `Cannot back up to ${path}: ${reason}, expected a folder that can be made and written; nothing was kept there`,
  );
}
