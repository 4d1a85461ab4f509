/**
 * A new core takes the data of another one:
 *
 *   .copying/ ──▶ files come into .copying/data, with sizes and hashes ──▶ what names the other core is taken out, marks
 *   are those of this folder, key files come from the rows ──▶ all move up, management.mdb last ──▶ the core joins
 *   ──▶ .copying/ is removed
 *
 * While there is a `.copying` the folder has no data: whatever else is in it, the next start takes a copy from the
 * beginning. Every state in between is a folder whose first start is not finished (app/folder/installation.ts), so that a start
 * may look at it.
 *
 * A standby is asked first, the leader last: making a copy keeps a core's disk busy.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import {
  type CopyProgress,
  moveUp,
  remove,
  removeLocks,
} from '../../app/folder/backup/copy-files.ts';
import { quickFaults } from '../../app/folder/data-files.ts';
import {
  type DataFolder,
  DataFolderError,
  dataFolderAt,
  makeFolder,
} from '../../app/folder/data-folder.ts';
import { syncFolder } from '../../platform/small-files.ts';
import { writeJournalMark } from '../../app/folder/folder-parts.ts';
import { markCopy } from '../../app/folder/installation.ts';
import type { Timers } from '../../model/clock.ts';
import { messageOf } from '../../model/failure.ts';
import { withEnvironment } from '../../store/environment.ts';
import {
  type ManagementMark,
  readManagementMark,
  removeKeyPrints,
} from '../../store/installation.ts';
import { openManagement } from '../../store/management/management.ts';
import type { Logger } from '../../platform/log.ts';
import { sparseWarning } from '../../platform/sparse-warning.ts';
import type { MachineProof } from '../machine-proof.ts';
import type { ClusterKeys } from '../nodes/cluster-keys.ts';
import { NodeError } from '../nodes/node-error.ts';
import { writeSecrets } from '../nodes/secrets.ts';
import { takeAsWhole } from '../scans/received-positions.ts';
import { fetchCopy, onDisk } from './copy-download.ts';

const markerName = '.copying';
const againMs = 2_000;

export interface CopyingOptions {
  /** Its management.mdb has a mark. */
  readonly folder: DataFolder;
  /** Addresses of cores, asked for before each round; the leader first. */
  readonly cores: () => Promise<readonly string[]>;
  readonly proof: Pick<MachineProof, 'headersOf'>;
  /** Id of the cluster. */
  readonly cluster: string;
  readonly keys: Pick<ClusterKeys, 'secrets'>;
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
 * @throws DataFolderError where this disk refuses; NodeError where `cluster.secret` is another one; the signal's reason
 */
export async function copyCore(options: CopyingOptions): Promise<void> {
  const { folder, timers, log, signal, cores } = options;
  const warn = sparseWarning(log, timers, 'copying a core failed, asking the next');
  for (;;) {
    for (const core of (await cores()).toReversed()) {
      signal.throwIfAborted();
      try {
        await copyFrom(core, options);
        log.info({ core }, 'this core has the data of another one');
        return;
      } catch (error) {
        signal.throwIfAborted();
        await onDisk(() => remove(draftOf(folder)));
        if (error instanceof DataFolderError || error instanceof NodeError) throw error;
        warn({ core, reason: messageOf(error) });
      }
    }
    await pause(againMs, undefined, { signal }).catch(() => undefined);
    signal.throwIfAborted();
  }
}

const draftOf = ({ path }: DataFolder): string => join(path, markerName, 'data');

async function copyFrom(core: string, options: CopyingOptions): Promise<void> {
  const { folder, log, progress, signal, cluster, proof, keys } = options;
  const draft = draftOf(folder);
  await onDisk(() => {
    remove(draft);
    makeFolder(draft);
    makeFolder(join(draft, 'journal'));
  });
  log.info({ core }, 'the data of another core is coming');
  await fetchCopy({ core, proof, cluster, draft, progress, signal });
  progress.check();
  await makeOwn(folder, draft, keys);
  await onDisk(() => putInPlace(folder, draft));
}

/** The draft fits this folder, and names no other core. */
async function makeOwn(
  folder: DataFolder,
  path: string,
  keys: CopyingOptions['keys'],
): Promise<void> {
  const draft = dataFolderAt(path);
  const faults = quickFaults(draft);
  if (faults.length > 0) throw new Error(`its data is damaged: ${faults.join('; ')}`);
  const mark = await markOf(folder);
  await takeAsWhole(draft);
  await withEnvironment(draft.managementFile, 'existing', removeKeyPrints);
  await writeKeys(draft, keys);
  await markCopy(draft.scansFile, mark);
  await markCopy(draft.deliveryFile, mark);
  await markCopy(draft.managementFile, mark);
  writeJournalMark(draft.journalRoot, mark);
  removeLocks(path);
}

async function writeKeys(
  { path, managementFile }: DataFolder,
  keys: CopyingOptions['keys'],
): Promise<void> {
  const store = openManagement(managementFile);
  try {
    const missing = writeSecrets({ store, folder: path, keys });
    if (missing.length > 0) throw new Error(`its data has no ${missing.join(', ')}`);
  } finally {
    await store.close();
  }
}

async function markOf({ path, managementFile }: DataFolder): Promise<ManagementMark> {
  const mark = await withEnvironment(managementFile, 'existing', readManagementMark);
  if (mark?.state === 'new') return mark;
  throw new DataFolderError(
    `Cannot copy the data of another core into ${path}: it has data, expected a folder whose first start is not finished`,
  );
}

function putInPlace({ path }: DataFolder, draft: string): void {
  for (const name of ['delivery.mdb', 'scans.mdb', 'journal']) remove(join(path, name));
  removeLocks(path);
  moveUp(draft, path);
}
