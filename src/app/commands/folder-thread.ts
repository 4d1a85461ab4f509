/**
 * Reads the data folder of the running service in a thread (folder.worker.ts). LMDB waits for the writer's lock when it opens
 * a file: in the control thread, which commits, it could wait for itself.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { shipped } from '../../platform/shipped.ts';
import { type DataFolder, DataFolderError } from '../folder/data-folder.ts';
import type { CopiedFile } from '../folder/backup/copy-files.ts';
import type { Inspection } from '../folder/installation.ts';
import type { Verification, VerifyProgress } from '../folder/verify/verify.ts';
import type { CommandControl } from './command-table.ts';

/** `snapshot` keeps the pages of the named data file until it is stopped; `copy` is for another core of the cluster. */
export type FolderTask =
  | { readonly kind: 'inspect' | 'verify' }
  | { readonly kind: 'snapshot'; readonly name: string }
  | { readonly kind: 'copy'; readonly draft: string };

export interface FolderTaskResults {
  readonly inspect: Inspection;
  readonly verify: Verification;
  readonly snapshot: undefined;
  readonly copy: readonly CopiedFile[];
}

export interface FolderSetup {
  readonly path: string;
  readonly task: FolderTask;
  /** 1 = end. Not a message: it would wait until the thread has read a whole file. */
  readonly stopped: Int32Array;
}

export interface VerifyStep {
  readonly kind: keyof VerifyProgress;
  readonly bytes: number;
}

export type FolderMessage =
  | { readonly kind: 'progress'; readonly value: VerifyStep | 'pinned' }
  | { readonly kind: 'done'; readonly value: unknown }
  /** `isRefusal`: the detail is for the operator. */
  | { readonly kind: 'failed'; readonly detail: string; readonly isRefusal: boolean };

/** Ends early when the signal aborts. @throws DataFolderError, Error of the task */
export async function runInThread<Task extends FolderTask>(
  { path }: DataFolder,
  task: Task,
  { progress, signal }: CommandControl,
): Promise<FolderTaskResults[Task['kind']]> {
  const stopped = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const workerData: FolderSetup = { path, task, stopped };
  const worker = new Worker(shipped.workerFile('folder'), { workerData });
  const stop = (): void => {
    Atomics.store(stopped, 0, 1);
    Atomics.notify(stopped, 0);
  };
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop);
  let outcome: FolderMessage | undefined;
  worker.on('message', (message: FolderMessage) => {
    if (message.kind === 'progress') progress(message.value);
    else outcome = message;
  });
  try {
    await once(worker, 'exit');
  } finally {
    signal.removeEventListener('abort', stop);
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- folder.worker.ts has made it
  if (outcome?.kind === 'done') return outcome.value as FolderTaskResults[Task['kind']];
  if (outcome?.kind !== 'failed')
    throw new Error('the thread that reads the data folder has ended');
  throw outcome.isRefusal ? new DataFolderError(outcome.detail) : new Error(outcome.detail);
}
