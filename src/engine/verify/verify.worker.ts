/** Thread entry: verifies the data folder of the running service, at low priority, and ends (verify-thread.ts). */
import { constants, setPriority } from 'node:os';
import { messageOf } from '../../model/failure.ts';
import { openThreadChannel } from '../../workers/supervised-thread.ts';
import { dataFolderAt } from '../data-folder.ts';
import { verifyWhole } from './verify.ts';
import type { VerifyMessage, VerifySetup } from './verify-thread.ts';

const channel = openThreadChannel<VerifySetup, VerifyMessage, never>();
const { path, stopped } = channel.setup;

// On Linux a priority belongs to a thread.
setPriority(constants.priority.PRIORITY_LOW);
verifyWhole(dataFolderAt(path), {
  begin: (bytes) => channel.send({ kind: 'begin', bytes }),
  add: (bytes) => {
    // A thread that is terminated would keep its snapshots, and the data files would grow.
    if (Atomics.load(stopped, 0) === 1) throw new Error('stopped');
    channel.send({ kind: 'add', bytes });
  },
})
  .then(
    (verification) => channel.send({ kind: 'done', verification }),
    (error: unknown) => channel.send({ kind: 'failed', detail: messageOf(error) }),
  )
  .finally(() => process.exit(0));
