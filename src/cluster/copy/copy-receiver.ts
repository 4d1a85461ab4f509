/**
 * A new core takes the data of another one:
 *
 *   .copying/ ──▶ files come into .copying/data, with sizes and hashes ──▶ what names the other core is taken out, marks
 *   are those of this folder ──▶ delivery.mdb, scans.mdb, journal move up, management.mdb last ──▶ the core joins
 *   ──▶ .copying/ is removed
 *
 * While there is a `.copying` the folder has no data: whatever else is in it, the next start takes a copy from the
 * beginning. Every state in between is a folder whose first start is not finished (engine/installation), so that a start
 * may look at it.
 *
 * A copy whose position is not in the cluster's log is not put in place: the core that gave it has diverged.
 *
 * A standby is asked first, the leader last: making a copy keeps a core's disk busy.
 */
import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import {
  type CopyProgress,
  foldersIn,
  remove,
  removeLocks,
} from '../../engine/backup/copy-files.ts';
import { quickFaults } from '../../engine/data-files.ts';
import {
  type DataFolder,
  DataFolderError,
  dataFolderAt,
  makeFolder,
} from '../../engine/data-folder.ts';
import { syncFolder } from '../../engine/small-files.ts';
import { writeJournalMark } from '../../engine/installation/folder-parts.ts';
import { markCopy } from '../../engine/installation/installation.ts';
import type { Timers } from '../../model/clock.ts';
import { messageOf } from '../../model/failure.ts';
import { withEnvironment } from '../../store/environment.ts';
import {
  type ManagementMark,
  readManagementMark,
  removeKeyPrints,
} from '../../store/installation.ts';
import type { Logger } from '../../telemetry/log.ts';
import { sparseWarning } from '../../telemetry/sparse-warning.ts';
import type { LogPosition } from '../log/applier.ts';
import { readPosition } from '../log/environment-store.ts';
import type { MachineProof } from '../machine-proof.ts';
import type { LogName } from '../nats/log-streams.ts';
import { takeAsWhole } from '../scans/received-positions.ts';
import { fetchCopy, NewerCopyError, onDisk } from './copy-download.ts';

const markerName = '.copying';
/** In the order in which they move. */
const movedFirst = ['delivery.mdb', 'scans.mdb', 'journal'] as const;
const movedLast = 'management.mdb';
const againMs = 2_000;

export interface CopyingOptions {
  /** Its management.mdb has a mark. */
  readonly folder: DataFolder;
  /** Addresses of cores, asked for before each round; the leader first. */
  readonly cores: () => Promise<readonly string[]>;
  readonly proof: Pick<MachineProof, 'headersOf'>;
  /** Id of the cluster. */
  readonly cluster: string;
  /** Whether a folder with this position can follow the cluster's log from there. */
  readonly isFollowed: (name: LogName, position: LogPosition) => Promise<boolean>;
  readonly progress: CopyProgress;
  readonly timers: Pick<Timers, 'monotonicMs'>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** A copy into this folder is not finished. */
export const isCopying = ({ path }: DataFolder): boolean => existsSync(join(path, markerName));

/** From here on the folder has no data until `endCopying` has resolved. */
export async function beginCopying({ path }: DataFolder): Promise<void> {
  await onDisk(() => {
    makeFolder(join(path, markerName));
    syncFolder(path);
  });
}

/** The core has joined with its copy. */
export async function endCopying({ path }: DataFolder): Promise<void> {
  await onDisk(() => {
    remove(join(path, markerName));
    syncFolder(path);
  });
}

/**
 * Asks one core after the other until one has given its data. No file of the folder may be open.
 * @throws DataFolderError where this disk refuses, or all data is newer than this program; the signal's reason
 */
export async function copyCore(options: CopyingOptions): Promise<void> {
  const { folder, timers, log, signal, cores } = options;
  const warn = sparseWarning(log, timers, 'copying a core failed, asking the next');
  for (;;) {
    const asked = (await cores()).toReversed();
    const newer: string[] = [];
    for (const core of asked) {
      signal.throwIfAborted();
      try {
        await copyFrom(core, options);
        log.info({ core }, 'this core has the data of another one');
        return;
      } catch (error) {
        signal.throwIfAborted();
        await onDisk(() => remove(draftOf(folder)));
        if (error instanceof DataFolderError) throw error;
        if (error instanceof NewerCopyError) newer.push(error.message);
        warn({ core, reason: messageOf(error) });
      }
    }
    if (asked.length > 0 && newer.length === asked.length) {
      throw new DataFolderError(`Cannot copy the data of another core: ${newer.join('; ')}`);
    }
    await pause(againMs, undefined, { signal }).catch(() => undefined);
    signal.throwIfAborted();
  }
}

const draftOf = ({ path }: DataFolder): string => join(path, markerName, 'data');

async function copyFrom(core: string, options: CopyingOptions): Promise<void> {
  const { folder, log, progress, signal, cluster, proof } = options;
  const draft = draftOf(folder);
  await onDisk(() => {
    remove(draft);
    makeFolder(draft);
    makeFolder(join(draft, 'journal'));
  });
  log.info({ core }, 'the data of another core is coming');
  await fetchCopy({ core, proof, cluster, draft, progress, signal });
  progress.check();
  await assertFollowed(core, dataFolderAt(draft), options);
  await makeOwn(folder, draft);
  await onDisk(() => putInPlace(folder, draft));
}

/** @throws Error when the draft belongs to a log that the brokers have lost */
async function assertFollowed(
  core: string,
  { managementFile, deliveryFile }: DataFolder,
  { isFollowed }: CopyingOptions,
): Promise<void> {
  for (const [name, file] of [
    ['core', managementFile],
    ['delivery', deliveryFile],
  ] as const) {
    const position = await readPosition(file);
    // A core may have applied no delivery yet.
    if (name === 'delivery' && position.seq === 0) continue;
    if (await isFollowed(name, position)) continue;
    throw new Error(
      `the copy from ${core} is of an old log (epoch ${position.epoch}, position ${position.seq}): stop that core, and join it after this one`,
    );
  }
}

/** The draft fits this folder, and names no other core. */
async function makeOwn(folder: DataFolder, path: string): Promise<void> {
  const draft = dataFolderAt(path);
  const faults = quickFaults(draft);
  if (faults.length > 0) throw new Error(`its data is damaged: ${faults.join('; ')}`);
  const mark = await markOf(folder);
  await takeAsWhole(draft);
  await withEnvironment(draft.managementFile, 'existing', removeKeyPrints);
  await markCopy(draft.scansFile, mark);
  await markCopy(draft.deliveryFile, mark);
  await markCopy(draft.managementFile, mark);
  writeJournalMark(draft.journalRoot, mark);
  removeLocks(path);
}

async function markOf({ path, managementFile }: DataFolder): Promise<ManagementMark> {
  const mark = await withEnvironment(managementFile, 'existing', readManagementMark);
  if (mark?.state === 'new') return mark;
  throw new DataFolderError(
    `Cannot copy the data of another core into ${path}: it has data, expected a folder whose first start is not finished`,
  );
}

function putInPlace({ path }: DataFolder, draft: string): void {
  for (const folder of foldersIn(draft)) syncFolder(folder);
  for (const name of movedFirst) {
    remove(join(path, name));
    renameSync(join(draft, name), join(path, name));
  }
  syncFolder(path);
  removeLocks(path);
  renameSync(join(draft, movedLast), join(path, movedLast));
  syncFolder(path);
}
