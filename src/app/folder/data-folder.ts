/**
 * The data folder. One service at a time locks it (folder-lock.ts). Commands (`keys`, …) ask that service
 * (app/commands/), or lock the folder if none runs.
 *
 *   management.mdb   workspaces, users, keys, codes, their outbox
 *   scans.mdb        blocks, rollups, watermarks
 *   delivery.mdb     pending deliveries, the retry wheel, dead letters
 *   delivery.results.0, .1   attempts answered and not yet committed
 *   journal/<n>/     scans answered and not yet counted, by redirect thread
 *   journal/installation.json   the journals' mark (folder-parts.ts)
 *   cache/           tables of fonts, safe to delete
 *   signing-keys.json, visitor.key   secrets (0600)
 *   first-start.json   sign-in and key of the first start, until they have been shown
 *   last-backup      rewritten by each backup of this folder
 *   service.pid      the process that owns it (pid-file.ts)
 *   service.sock     the lock; service.<random> is a new one before its rename
 *   .restoring/      an unfinished restore (backup/restore.ts)
 */
import { randomBytes } from 'node:crypto';
import { accessSync, chmodSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { systemErrorCode } from '../../model/failure.ts';
import { readIfThere, replaceFile } from '../../platform/small-files.ts';

export const lastBackupName = 'last-backup';
export const restoreDraftName = '.restoring';

export class DataFolderError extends Error {
  override readonly name: string = 'DataFolderError';
}

/** busy = a command, or a service that starts or stops; yielded = a service that redirects until its successor comes. */
export type FolderOwner = 'running' | 'busy' | 'yielded';

export class DataFolderLockedError extends DataFolderError {
  override readonly name = 'DataFolderLockedError';
  readonly owner: FolderOwner;

  constructor(message: string, owner: FolderOwner) {
    super(message);
    this.owner = owner;
  }
}

export interface DataFolder {
  readonly path: string;
  readonly managementFile: string;
  readonly scansFile: string;
  readonly deliveryFile: string;
  readonly journalRoot: string;
  readonly cacheRoot: string;
}

/**
 * Creates the folder and its missing parents. Node's `recursive` never returns below a folder that takes no folders (/proc).
 * @throws Error of the system
 */
export function makeFolder(path: string): void {
  if (!existsSync(dirname(path))) makeFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process may create it at the same time.
    if (systemErrorCode(error) !== 'EEXIST' || !statSync(path).isDirectory()) throw error;
  }
}

/**
 * Creates the folder if it is missing.
 * @throws DataFolderError also if a restore into it is unfinished
 */
export function openDataFolder(dataDir: string): DataFolder {
  const folder = openFolderToRestore(dataDir);
  if (!existsSync(join(folder.path, restoreDraftName))) return folder;
  throw new DataFolderError(
    `Cannot use data folder ${folder.path}: a restore did not finish, expected all of its files; ` +
      'run the same `quietzone restore` again',
  );
}

/** The same, but accepts an unfinished restore. */
export function openFolderToRestore(dataDir: string): DataFolder {
  const path = resolve(dataDir);
  try {
    makeFolder(path);
    accessSync(path, constants.W_OK | constants.R_OK | constants.X_OK);
  } catch (error) {
    const code = systemErrorCode(error);
    throw new DataFolderError(
      `Cannot use data folder ${path}: ${code}, expected a folder that this user can write`,
    );
  }
  return dataFolderAt(path);
}

/**
 * For commands that need existing data: at a wrong path they would otherwise report success about a new store.
 * @throws DataFolderError if the folder has no data
 */
export function openExistingDataFolder(dataDir: string): DataFolder {
  const path = resolve(dataDir);
  if (partNames.some((name) => existsSync(join(path, name)))) return openDataFolder(path);
  const state = existsSync(path) ? 'has no data' : 'does not exist';
  throw new DataFolderError(
    `Cannot open data folder ${path}: it ${state}, expected the one of your service; ` +
      'set dataDir (QZ_DATA_DIR), or make a new one with `quietzone serve`',
  );
}

const storeNames = ['management.mdb', 'scans.mdb', 'delivery.mdb'];
const partNames = [...storeNames, 'journal', 'signing-keys.json', 'visitor.key', restoreDraftName];

export const dataFolderAt = (path: string): DataFolder => ({
  path,
  managementFile: join(path, 'management.mdb'),
  scansFile: join(path, 'scans.mdb'),
  deliveryFile: join(path, 'delivery.mdb'),
  journalRoot: join(path, 'journal'),
  cacheRoot: join(path, 'cache'),
});

/** Permission bits of other users. */
const otherUsers = 0o077;

/** The folder's mode if other users may read, change or enter it, else 0. */
export function openMode(path: string): number {
  const mode = statSync(path).mode & 0o777;
  return (mode & otherUsers) === 0 ? 0 : mode;
}

/** Skips the folder of another user and a file system without modes: `doctor` reports them. */
export function closeToOthers(path: string): void {
  const { mode, uid } = statSync(path);
  if ((mode & otherUsers) === 0 || uid !== process.getuid?.()) return;
  try {
    chmodSync(path, mode & ~otherUsers);
  } catch {
    // The file system has no modes.
  }
}

export function readSecret(folder: DataFolder, name: string, bytes: number): Uint8Array {
  const file = join(folder.path, name);
  const secret = readIfThere(file);
  if (secret?.length !== bytes) {
    const found = secret === undefined ? 'is missing' : `has ${secret.length} bytes`;
    throw new DataFolderError(
      `Cannot read ${file}: it ${found}, expected ${bytes} bytes; restore it from a backup`,
    );
  }
  return Uint8Array.from(secret);
}

/** Makes a missing secret atomically. Only for the process that has locked the folder. */
export function makeSecret(folder: DataFolder, name: string, bytes: number): void {
  const file = join(folder.path, name);
  if (!existsSync(file)) replaceFile(file, randomBytes(bytes));
}
