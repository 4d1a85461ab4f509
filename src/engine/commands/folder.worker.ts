/** Thread entry: inspects, pins or verifies the data folder of the running service, and ends (folder-thread.ts). */
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../../model/failure.ts';
import { openThreadChannel } from '../../workers/supervised-thread.ts';
import { pinSnapshot, stateOf } from '../backup/folder-access.ts';
import { DataFolderError, dataFolderAt } from '../data-folder.ts';
import { verifyWhole } from '../verify/verify.ts';
import type { FolderMessage, FolderSetup, FolderTask, VerifyStep } from './folder-thread.ts';

const channel = openThreadChannel<FolderSetup, FolderMessage, never>();
const { path, task, stopped } = channel.setup;
const folder = dataFolderAt(path);

const send = (value: VerifyStep | 'pinned'): void => channel.send({ kind: 'progress', value });

async function run(asked: FolderTask): Promise<unknown> {
  if (asked.kind === 'inspect') return await stateOf(folder);
  if (asked.kind === 'snapshot') {
    const release = pinSnapshot(join(path, asked.name));
    send('pinned');
    Atomics.wait(stopped, 0, 0);
    return await release();
  }
  // On Linux a priority belongs to a thread.
  setPriority(constants.priority.PRIORITY_LOW);
  return await verifyWhole(folder, {
    begin: (bytes) => send({ kind: 'begin', bytes }),
    add: (bytes) => {
      // A thread that is terminated would keep its snapshots, and the data files would grow.
      if (Atomics.load(stopped, 0) === 1) throw new Error('stopped');
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
