/** Thread entry: inspects, pins, copies or verifies the data folder of the running service, and ends (folder-thread.ts). */
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../../model/failure.ts';
import { openThreadChannel } from '../../platform/workers/supervised-thread.ts';
import { copyStores } from '../folder/backup/copy-data.ts';
import { pinSnapshot } from '../folder/backup/folder-access.ts';
import { DataFolderError, dataFolderAt } from '../folder/data-folder.ts';
import { inspectFolder } from '../folder/installation.ts';
import { verifyWhole } from '../folder/verify/verify.ts';
import type { FolderMessage, FolderSetup, FolderTask, VerifyStep } from './folder-thread.ts';

const channel = openThreadChannel<FolderSetup, FolderMessage, never>();
const { path, task, stopped } = channel.setup;
const folder = dataFolderAt(path);

// A terminated thread would keep its snapshots, and the data files would grow.
const assertRunning = (): void => {
  if (Atomics.load(stopped, 0) === 1) throw new Error('stopped');
};
const send = (value: VerifyStep | 'pinned'): void => channel.send({ kind: 'progress', value });

async function run(asked: FolderTask): Promise<unknown> {
  if (asked.kind === 'inspect') return await inspectFolder(folder);
  if (asked.kind === 'snapshot') {
    const release = pinSnapshot(join(path, asked.name));
    send('pinned');
    Atomics.wait(stopped, 0, 0);
    return await release();
  }
  if (asked.kind === 'copy') return await copyStores(folder, asked.draft, assertRunning);
  // On Linux a priority belongs to a thread.
  setPriority(constants.priority.PRIORITY_LOW);
  return await verifyWhole(folder, {
    begin: (bytes) => send({ kind: 'begin', bytes }),
    add: (bytes) => {
      assertRunning();
      send({ kind: 'add', bytes });
    },
  });
}

run(task)
  .then(
    (value) => channel.send({ kind: 'done', value }),
    (error: unknown) => {
      const isRefusal = error instanceof DataFolderError;
      channel.send({ kind: 'failed', detail: messageOf(error), isRefusal });
    },
  )
  .finally(() => process.exit(0));
