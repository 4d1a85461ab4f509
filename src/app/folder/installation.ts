/**
 * The identity of a data folder. Every part has a mark of the installation and of its last start. A start compares all marks
 * before it changes anything (folder-parts.ts reads, folder-faults.ts compares).
 *
 *   first start   management.mdb {new} -> keys, their fingerprints -> scans.mdb, delivery.mdb, journal -> {opened}
 *   start         management.mdb {opening} -> marks, fingerprints -> {opened}
 *
 * Each arrow is a flush: a start that dies leaves a state from which the next one continues.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { RandomBytes } from '../../model/ids.ts';
import { keepNewest } from '../../store/copied-file.ts';
import { type OpenMode, type StoreEnvironment, withEnvironment } from '../../store/environment.ts';
import {
  type ManagementMark,
  openInstallationTable,
  putKeyPrint,
  readKeyPrints,
  readManagementMark,
  writeMark,
} from '../../store/installation.ts';
import { openScanStore } from '../../store/scans/scans.ts';
import { makeSigningKeys } from '../../product/workspaces/signing-keys.ts';
import { type DataFolder, DataFolderError, makeFolder, makeSecret } from './data-folder.ts';
import { syncFolder } from '../../platform/small-files.ts';
import { assertStoreSpace, type StartScope } from './data-files.ts';
import { compareParts, type Fault, faultText, remedyFor } from './folder-faults.ts';
import { type PeerName, peerNames, readParts, writeJournalMark } from './folder-parts.ts';
import {
  type KeyFileName,
  keyFileNames,
  readKeyFile,
  visitorKeyBytes,
  visitorKeyFile,
} from './key-files.ts';

const idBytes = 16;

/** As JSON, too: a service answers commands with it. */
export interface Inspection {
  readonly faults: readonly Fault[];
  readonly mark?: ManagementMark | undefined;
  /** True before a first start has ended. */
  readonly isUnfinished: boolean;
}

/** @throws DataFolderError if the disk is too full to open the stores */
export async function inspectFolder(
  folder: DataFolder,
  scope: StartScope = 'quick',
): Promise<Inspection> {
  assertStoreSpace(folder);
  const parts = await readParts(folder, scope);
  const faults = compareParts(parts);
  const { mark } = parts;
  const isUnfinished = mark === undefined ? faults.length === 0 : mark.state === 'new';
  return { faults, mark, isUnfinished };
}

/** @throws DataFolderError that lists all faults */
export function assertSound(
  action: string,
  folder: DataFolder,
  { faults }: Pick<Inspection, 'faults'>,
): void {
  if (faults.length === 0) return;
  const lines = faults.map((fault) => `  ${faultText(fault)}`);
  throw new DataFolderError(
    `Cannot ${action}: data folder ${folder.path} has faults\n${lines.join('\n')}\n` +
      `Nothing was changed. Put back the right files, or ${remedyFor(faults)}`,
  );
}

/** @throws DataFolderError if the first start is not finished */
export function assertFinished(
  action: string,
  folder: DataFolder,
  { isUnfinished }: Pick<Inspection, 'isUnfinished'>,
): void {
  if (!isUnfinished) return;
  throw new DataFolderError(
    `Cannot ${action}: the first start in data folder ${folder.path} is not finished, ` +
      'expected a service that has started',
  );
}

/** Makes the missing parts of a first start. Only for the process that has locked the folder, after `assertSound`. */
export async function makeInstallation(
  folder: DataFolder,
  inspection: Inspection,
  random: RandomBytes,
): Promise<void> {
  if (!inspection.isUnfinished) return;
  const mark = inspection.mark ?? (await beginInstallation(folder));
  await withEnvironment(folder.managementFile, 'existing', async (management) => {
    for (const name of keyFileNames) makeKeyFile(folder, name, random);
    await writePrints(management, folder);
    for (const name of peerNames) await makePeer(folder, name, mark);
    syncFolder(folder.path);
    await writeMark(management, { ...mark, state: 'opened' });
    await management.flush();
  });
}

/** The first step of `makeInstallation`. A cluster node takes it before it waits for its keys. */
export async function beginInstallation(folder: DataFolder): Promise<ManagementMark> {
  const mark = { id: newToken(), run: 1, token: newToken(), previous: '', state: 'new' } as const;
  await withEnvironment(folder.managementFile, 'create', async (management) => {
    await writeMark(management, mark);
    await management.flush();
  });
  syncFolder(folder.path);
  return mark;
}

/**
 * Marks this start on all parts. Call it before another handle of this process writes to the same environments: a handle
 * that waits for the writer's lock in this thread blocks another handle's transaction.
 */
export async function markStart(folder: DataFolder, management: StoreEnvironment): Promise<void> {
  const known = readManagementMark(management);
  if (known === undefined) throw unmarked();
  const mark = nextMark(known);
  await writeMark(management, mark);
  await management.flush();
  const marking = peerNames.map((name) => writePeerMark(folder, name, mark, 'existing'));
  for (const done of await Promise.allSettled(marking)) {
    if (done.status === 'rejected') throw done.reason;
  }
  await writePrints(management, folder);
  await writeMark(management, { ...mark, state: 'opened' });
}

function nextMark(mark: ManagementMark): ManagementMark {
  if (mark.state !== 'opened') return mark;
  const { id, run, token } = mark;
  return { id, run: run + 1, token: newToken(), previous: token, state: 'opening' };
}

/** One new mark for all copies of a backup: a start between two copies leaves no trace, and two backups do not mix. */
export function backupMark({ mark }: Inspection): ManagementMark {
  if (mark === undefined) throw unmarked();
  return { ...mark, token: newToken(), previous: '', state: 'opened' };
}

const unmarked = (): Error => new Error('management.mdb has no mark, expected one');

export async function markCopy(path: string, mark: ManagementMark): Promise<void> {
  await withEnvironment(path, 'existing', async (environment) => {
    await writeMark(environment, mark);
    await environment.flush();
  });
  await keepNewest(path);
}

const newToken = (): string => randomBytes(idBytes).toString('base64url');

export function makeKeyFile(folder: DataFolder, name: KeyFileName, random: RandomBytes): void {
  if (name === visitorKeyFile) makeSecret(folder, name, visitorKeyBytes);
  else makeSigningKeys(folder.path, random);
}

async function makePeer(folder: DataFolder, name: PeerName, mark: ManagementMark): Promise<void> {
  if (name === 'journal') makeFolder(folder.journalRoot);
  await writePeerMark(folder, name, mark, 'create');
}

/**
 * `--begin-anew scans`: a start without statistics, for a lost scans.mdb without a backup. Renames the file, never
 * deletes it. Only for the process that has locked the folder.
 * @returns the new path of the old file; undefined = no old file
 */
export async function beginScansAnew(
  folder: DataFolder,
  { mark }: Inspection,
): Promise<string | undefined> {
  if (mark === undefined) throw unmarked();
  const { scansFile } = folder;
  let aside: string | undefined;
  if (existsSync(scansFile)) {
    let n = 1;
    while (existsSync(`${scansFile}.set-aside-${n}`)) n++;
    aside = `${scansFile}.set-aside-${n}`;
    renameSync(scansFile, aside);
  }
  rmSync(`${scansFile}-lock`, { force: true });
  await openScanStore(scansFile, 'create').environment.close();
  await makePeer(folder, 'scans.mdb', mark);
  return aside;
}

async function writePeerMark(
  folder: DataFolder,
  name: PeerName,
  mark: ManagementMark,
  mode: OpenMode,
): Promise<void> {
  if (name === 'journal') return writeJournalMark(folder.journalRoot, mark);
  await withEnvironment(peerFile(folder, name), mode, async (environment) => {
    await writeMark(environment, mark);
    await environment.flush();
  });
}

const peerFile = (folder: DataFolder, name: Exclude<PeerName, 'journal'>): string =>
  name === 'scans.mdb' ? folder.scansFile : folder.deliveryFile;

/** Stores changed fingerprints of the key files. */
async function writePrints(management: StoreEnvironment, folder: DataFolder): Promise<void> {
  const known = readKeyPrints(management);
  const files = keyFileNames.map((name) => readKeyFile(folder.path, name));
  const prints = new Map(
    files.flatMap((file) => (file.kind === 'present' ? [...file.prints] : [])),
  );
  if (isDeepStrictEqual(prints, known)) return;
  const table = openInstallationTable(management);
  await management.transaction(() => {
    for (const key of known.keys()) if (!prints.has(key)) table.remove(key);
    for (const [key, print] of prints) putKeyPrint(table, key, print);
  });
  await management.flush();
}
