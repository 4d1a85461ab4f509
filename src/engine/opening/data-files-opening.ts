/**
 * Opens the data files while a service may write to them.
 *
 * LMDB reads the newest commit as it opens a file, and then publishes it to all processes (mdb_env_open2 of lmdb 3.5:
 * `mti_txnid`). A confirmed commit between the two would be overwritten. So no process commits while another one opens:
 *
 *   a service runs    open {pid} ->  <- held: it holds the writer's lock of every file   (host-openings.ts)
 *                     opens, ends the connection -> it releases the locks
 *   none runs         locks the data folder; a command that changes something keeps the lock until it ends
 *
 * Whatever this process opens later shares these files (store/hold-open.ts). Not covered: a service that was killed starts
 * again, and a command commits in the microseconds of that opening.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { readMeta } from '../../store/data-file/format.ts';
import { holdOpen } from '../../store/hold-open.ts';
import { assertStoreSpace, storesOf } from '../data-files.ts';
import { type DataFolder, DataFolderError, DataFolderLockedError } from '../data-folder.ts';
import { answerMsMax, askOwner } from '../takeover/channel.ts';
import { connectToOwner, lockDataFolder } from '../takeover/folder-lock.ts';
import { pidNamespace } from '../takeover/kill-other.ts';

/** If no service runs, a process that changes the files keeps others from opening them. */
export type OpeningPurpose = 'read' | 'change';

export interface OpenDataFiles {
  readonly isServiceRunning: boolean;
  close(): Promise<void>;
}

/** While a service starts or stops, or a command changes something, no other process may open the files. */
const triesMax = 600;
const retryMs = 50;
/** @throws DataFolderError if the folder stays in use */
export async function openDataFiles(
  folder: DataFolder,
  purpose: OpeningPurpose,
): Promise<OpenDataFiles> {
  for (let tries = 1; ; tries++) {
    const opened = await openBeside(folder);
    if (typeof opened === 'object') return opened;
    const alone = opened === 'none' ? await openAlone(folder, purpose) : undefined;
    if (alone !== undefined) return alone;
    if (tries === triesMax) {
      throw new DataFolderError(
        `Cannot open data folder ${folder.path}: it is in use by a command, or by a service that is starting or stopping; try again`,
      );
    }
    await pause(retryMs);
  }
}

/** @throws DataFolderError if the service hangs */
async function openBeside(folder: DataFolder): Promise<OpenDataFiles | 'none' | 'refused'> {
  const socket = await connectToOwner(folder, 'open');
  if (socket === undefined) return 'none';
  try {
    const answer = await askOwner(socket, {
      type: 'open',
      pid: process.pid,
      pidNamespace: pidNamespace(),
    });
    if (answer === 'late') {
      const seconds = answerMsMax / 1_000;
      throw new DataFolderError(
        `Cannot open data folder ${folder.path}: its service did not answer within ${seconds} s, it hangs; ` +
          'end its process (its number is in service.pid), then try again',
      );
    }
    if (answer?.type !== 'held') return 'refused';
    const close = open(folder);
    return { isServiceRunning: true, close: async () => close() };
  } finally {
    socket.destroy();
  }
}

/** @returns undefined if another process has locked the folder */
async function openAlone(
  folder: DataFolder,
  purpose: OpeningPurpose,
): Promise<OpenDataFiles | undefined> {
  const lock = await lockDataFolder(folder, 'open').catch((error: unknown) => {
    if (error instanceof DataFolderLockedError) return undefined;
    throw error;
  });
  if (lock === undefined) return undefined;
  try {
    const closeFiles = open(folder);
    if (purpose === 'read') await lock.unlock();
    const close = async (): Promise<void> => {
      closeFiles();
      await lock.unlock();
    };
    return { isServiceRunning: false, close };
  } catch (error) {
    await lock.unlock();
    throw error;
  }
}

/** @returns closes them */
function open(folder: DataFolder): () => void {
  assertStoreSpace(folder);
  const closers: Array<() => void> = [];
  for (const path of storesOf(folder)) {
    try {
      if (readMeta(path) !== undefined) closers.push(holdOpen(path));
    } catch {
      // Whatever opens the file next reports what is wrong with it.
    }
  }
  return () => {
    for (const close of closers) close();
  };
}
