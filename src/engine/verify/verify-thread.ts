/** Verifies the data folder of the running service in a thread (verify.worker.ts). */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { shipped } from '../../shipped.ts';
import type { CommandControl } from '../commands/command-table.ts';
import type { DataFolder } from '../data-folder.ts';
import type { Verification, VerifyProgress } from './verify.ts';

export interface VerifySetup {
  readonly path: string;
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
  const workerData: VerifySetup = { path };
  const worker = new Worker(shipped.workerFile('verify'), { workerData });
  const stop = (): void => worker.postMessage('stop');
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
