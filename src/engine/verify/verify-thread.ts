/** Verifies the data folder of the running service in a thread (verify.worker.ts). */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { shipped } from '../../shipped.ts';
import type { CommandControl } from '../commands/command-table.ts';
import type { DataFolder } from '../data-folder.ts';
import type { Verification, VerifyProgress } from './verify.ts';

export interface VerifySetup {
  readonly path: string;
  /** 1 = end. A message would wait: the thread reads the pages of a whole file at once. */
  readonly stopped: Int32Array;
}

export interface VerifyStep {
  readonly kind: keyof VerifyProgress;
  readonly bytes: number;
}

export type VerifyMessage =
  | VerifyStep
  | { readonly kind: 'done'; readonly verification: Verification }
  | { readonly kind: 'failed'; readonly detail: string };

/** Ends early when the signal aborts. @throws Error of the verification */
export async function verifyInThread(
  { path }: DataFolder,
  { progress, signal }: CommandControl,
): Promise<Verification> {
  const stopped = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const workerData: VerifySetup = { path, stopped };
  const worker = new Worker(shipped.workerFile('verify'), { workerData });
  const stop = (): void => void Atomics.store(stopped, 0, 1);
  signal.addEventListener('abort', stop);
  let outcome: Verification | string = 'the thread that verifies has ended';
  worker.on('message', (message: VerifyMessage) => {
    if (message.kind === 'done') outcome = message.verification;
    else if (message.kind === 'failed') outcome = message.detail;
    else progress(message);
  });
  try {
    await once(worker, 'exit');
  } finally {
    signal.removeEventListener('abort', stop);
  }
  if (typeof outcome === 'string') throw new Error(outcome);
  return outcome;
}
