/** The thread that copies this core's data into a draft (core-copy.worker.ts), and what the control thread and it send each other. */
import { Worker } from 'node:worker_threads';
import { shipped } from '../../shipped.ts';
import type { MadeCopy } from './copy-manifest.ts';

export interface CoreCopySetup {
  /** The data folder, and where its copy is made. */
  readonly path: string;
  readonly draft: string;
}

/** Ends it: what it has copied is of no use. */
export type CoreCopyCommand = 'stop';

export type CoreCopyMessage =
  | { readonly kind: 'copying'; readonly bytes: number; readonly of: number }
  | ({ readonly kind: 'made' } & MadeCopy)
  | { readonly kind: 'failed'; readonly detail: string };

/** Copies once, and ends. */
export class CopyThread {
  readonly #worker: Worker;
  readonly #exited: Promise<unknown>;
  /** Rejects where the copy cannot be made. */
  readonly made: Promise<MadeCopy>;
  /** Bytes copied so far, of how many. */
  progress = { bytes: 0, of: 0 };

  constructor(setup: CoreCopySetup) {
    const worker = new Worker(shipped.workerFile('core-copy'), { workerData: setup });
    this.#worker = worker;
    this.#exited = new Promise((resolve) => worker.once('exit', resolve));
    this.made = new Promise((resolve, reject) => {
      worker.on('message', (message: CoreCopyMessage) => {
        if (message.kind === 'made') resolve({ data: message.data, files: message.files });
        else if (message.kind === 'failed') reject(new Error(message.detail));
        else this.progress = { bytes: message.bytes, of: message.of };
      });
      worker.once('error', reject);
      worker.once('exit', () => reject(new Error('the thread that copies has ended')));
    });
    this.made.catch(() => undefined);
  }

  /** Resolves when the thread writes no more. */
  async stop(): Promise<void> {
    this.#worker.postMessage('stop');
    await this.#exited;
  }
}
