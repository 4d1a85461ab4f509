/** Thread entry: copies the data of this core for another one, and ends. */
import { messageOf } from '../../model/failure.ts';
import { openThreadChannel } from '../../workers/supervised-thread.ts';
import { makeDraft } from './copy-draft.ts';
import type { CoreCopyCommand, CoreCopyMessage, CoreCopySetup } from './core-copy-thread.ts';

/** Between two messages about how far it is. */
const reportedBytes = 16 * 1_048_576;

const channel = openThreadChannel<CoreCopySetup, CoreCopyMessage, CoreCopyCommand>();
const { setup, send } = channel;
const state = { isStopped: false, bytes: 0, reported: 0, of: 0 };
channel.onCommand(() => {
  state.isStopped = true;
});

function add(bytes: number): void {
  if (state.isStopped) throw new Error('the copy was stopped');
  state.bytes += bytes;
  if (state.bytes - state.reported < reportedBytes) return;
  state.reported = state.bytes;
  send({ kind: 'copying', bytes: state.bytes, of: state.of });
}

const progress = {
  begin: (bytes: number): void => {
    state.of = bytes;
  },
  add,
  file: () => undefined,
  check: () => undefined,
};

makeDraft({ ...setup, progress })
  .then(
    (made) => send({ kind: 'made', ...made }),
    (error: unknown) => send({ kind: 'failed', detail: messageOf(error) }),
  )
  .finally(() => process.exit(0));
