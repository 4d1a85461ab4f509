/**
 * The data folder: created, checked for writing, and locked by one service at a time (takeover/folder-lock.ts).
 * Commands (`keys`, …) open the stores with the service's leave, or lock the folder where none runs (opening/).
 *
 *   management.mdb   workspaces, users, keys, codes, their outbox
 *   scans.mdb        blocks, rollups, watermarks
 *   delivery.mdb     pending deliveries, the retry wheel, dead letters
 *   delivery.results.0, .1   attempts answered and not yet committed
 *   journal/<n>/     scans answered and not yet counted, by redirect thread
 *   journal/installation.json   the journals' mark (engine/installation/)
 *   logos/           pictures in the middle of codes
 *   cache/           drawn images, the dashboard's files, tables of fonts and places, safe to delete
 *   signing-keys.json, visitor.key   secrets, readable by the owner alone
 *   first-start.json   sign-in and key of the first start, until they were shown
 *   last-backup      made anew by each backup of this folder
 *   service.pid      the process that owns it (takeover/pid-file.ts)
 *   service.sock     the lock; service.<pid> is one that is being made
 *   adopt.json       the folder is being moved into a cluster (installation/adoption-marker.ts)
 *   restore.json, .restoring/   a restore that is not finished (backup/restore-marker.ts)
 */
import { randomBytes } from 'node:crypto';
import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { systemErrorCode } from '../model/failure.ts';
import { readRestoreMarker } from './backup/restore-marker.ts';
import { readAdoption } from './installation/adoption-marker.ts';
import { readIfThere, replaceFile } from './small-files.ts';

export const lastBackupName = 'last-backup';

/** The data folder cannot be used: the message is for the operator. */
export class DataFolderError extends Error {
  override readonly name: string = 'DataFolderError';
}

/** A service that runs; busy = a command, or a service that is starting or stopping. */
export type FolderOwner = 'running' | 'busy';

/** Another process has locked it. */
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
  /** What is here may be deleted at any time. */
  readonly cacheRoot: string;
}

/**
 * Creates the folder and its missing parents. Node's own `recursive` never returns below a folder in which
 * no folder can be created (/proc): there the parent exists, and creating the folder fails with ENOENT.
 * @throws Error of the system
 */
export function makeFolder(path: string): void {
  try {
    makeLast(path);
  } catch (error) {
    if (systemErrorCode(error) !== 'ENOENT' || dirname(path) === path) throw error;
    makeFolder(dirname(path));
    makeLast(path);
  }
}

/** Another process may create it at the same time. */
function makeLast(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (systemErrorCode(error) !== 'EEXIST' || !statSync(path).isDirectory()) throw error;
  }
}

/**
 * Creates the folder when it is absent.
 * @throws DataFolderError also when a restore into it, or its move into a cluster, is not finished
 */
export function openDataFolder(dataDir: string): DataFolder {
  const folder = openFolderToAdopt(dataDir);
  if (readAdoption(folder.path) === undefined) return folder;
  throw new DataFolderError(
    `Cannot use data folder ${folder.path}: its move into a cluster did not finish; ` +
      'run `quietzone cluster adopt` again, or take it back with `quietzone cluster adopt --undo`',
  );
}

/** The same, also where its move into a cluster is not finished. */
export function openFolderToAdopt(dataDir: string): DataFolder {
  const folder = openFolderToRestore(dataDir);
  const unfinished = readRestoreMarker(folder.path);
  if (unfinished === undefined) return folder;
  throw new DataFolderError(
    `Cannot use data folder ${folder.path}: a restore did not finish, expected all of its files; ` +
      `run \`quietzone restore ${unfinished.from}\` again`,
  );
}

/** The same, also where a restore is not finished. */
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
 * Creates nothing: for commands that work on data that a service has made. A wrong path would otherwise get
 * a store of its own, and the command would report success about that.
 * @throws DataFolderError when no service has made a store there
 */
export function openExistingDataFolder(dataDir: string): DataFolder {
  const path = resolve(dataDir);
  const isUsed = partNames.some((name) => existsSync(join(path, name)));
  if (isUsed || readRestoreMarker(path) !== undefined) return openDataFolder(path);
  const state = existsSync(path) ? 'has no data' : 'does not exist';
  throw new DataFolderError(
    `Cannot open data folder ${path}: it ${state}, expected the one of your service; ` +
      'set dataDir (QZ_DATA_DIR), or make a new one with `quietzone serve`',
  );
}

/** Any of these is data, also where others are missing. */
const partNames = [
  'management.mdb',
  'scans.mdb',
  'delivery.mdb',
  'journal',
  'signing-keys.json',
  'visitor.key',
] as const;

export const dataFolderAt = (path: string): DataFolder => ({
  path,
  managementFile: join(path, 'management.mdb'),
  scansFile: join(path, 'scans.mdb'),
  deliveryFile: join(path, 'delivery.mdb'),
  journalRoot: join(path, 'journal'),
  cacheRoot: join(path, 'cache'),
});

/** A secret of this installation: made with the folder, and the same ever after. */
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

/** Makes a secret where it is missing, whole: half a one would make every later start fail. Only for the process that has locked the folder. */
export function makeSecret(folder: DataFolder, name: string, bytes: number): void {
  const file = join(folder.path, name);
  if (!existsSync(file)) replaceFile(file, randomBytes(bytes));
}
