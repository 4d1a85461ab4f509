/** The load from the side of the main thread, which starts and ends the service's processes (load.worker.ts runs it). */
import { Worker } from 'node:worker_threads';
import type { Comparison, Days } from '../crash/comparison.ts';
import type { Ports } from '../support/process.ts';
import type { ApiWriteSums } from './api-writes.ts';
import type { LimitedSums } from './limited-codes.ts';
import type { Phase, ScanSums } from './scan-generator.ts';
import type { SeededSums } from './seeded-codes.ts';

export interface LoadOptions {
  readonly dataDir: string;
  readonly ports: Ports;
  readonly apiKey: string;
  readonly seed: number;
  /** Scans, on new and on keep-alive connections together. */
  readonly perSecond: number;
  /** Codes that were stored before. */
  readonly codes: number;
  /** Keep-alive connections have a tenth of the scans; a predecessor waits up to ten seconds for idle ones. */
  readonly keepAlive: 'mostly idle' | 'busy';
}

export interface LoadSums {
  /** Scans on new connections. */
  readonly scans: ScanSums;
  /** Requests on keep-alive connections without a response. */
  readonly keepAliveBroken: number;
  readonly apiWrites: ApiWriteSums;
}

export interface LoadComparison {
  /** Codes that the load created, gave other targets and deleted. */
  readonly changed: Comparison;
  readonly seeded: SeededSums;
  readonly limited: LimitedSums;
}

export type LoadCommand = { readonly no: number } & (
  | { readonly kind: 'phase'; readonly phase: Phase }
  | { readonly kind: 'count' | 'finish' | 'check links' }
  | { readonly kind: 'compare'; readonly days: Days }
);

export interface LoadCounts {
  /** Scans of changed codes: the next one has this number. */
  readonly scans: number;
  readonly writesAcknowledged: number;
}

/** The result of a command; each kind of command that has one has a field of its own. */
export interface LoadResult {
  readonly counts?: LoadCounts;
  readonly sums?: LoadSums;
  readonly comparison?: LoadComparison;
}

export interface LoadReply extends LoadResult {
  readonly no: number;
  readonly error?: string;
}

export class LoadThread {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, PromiseWithResolvers<LoadResult>>();
  #commands = 0;

  constructor(options: LoadOptions) {
    this.#worker = new Worker(new URL('./load.worker.ts', import.meta.url), {
      workerData: options,
    });
    this.#worker.on('message', ({ no, error, ...result }: LoadReply) => {
      const waiting = this.#waiting.get(no);
      this.#waiting.delete(no);
      if (error === undefined) waiting?.resolve(result);
      else waiting?.reject(new Error(`The load failed: ${error}`));
    });
    this.#worker.on('error', (error) => {
      for (const { reject } of this.#waiting.values()) reject(error);
    });
  }

  /** Scans that start or end from now on count to this phase. */
  set phase(phase: Phase) {
    this.#worker.postMessage({ no: this.#commands++, kind: 'phase', phase } satisfies LoadCommand);
  }

  async count(): Promise<LoadCounts> {
    const { counts } = await this.#run({ no: this.#commands++, kind: 'count' });
    return counts ?? missing();
  }

  /** Ends scans and writes; resolves once each has its outcome. */
  async finish(): Promise<LoadSums> {
    const { sums } = await this.#run({ no: this.#commands++, kind: 'finish' });
    return sums ?? missing();
  }

  /** Compares the target of every changed code with its last acknowledged write. */
  async checkLinks(): Promise<void> {
    await this.#run({ no: this.#commands++, kind: 'check links' });
  }

  /** Compares the ledgers with the stores of the service, which has ended. */
  async compare(days: Days): Promise<LoadComparison> {
    const { comparison } = await this.#run({ no: this.#commands++, kind: 'compare', days });
    return comparison ?? missing();
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #run(command: LoadCommand): Promise<LoadResult> {
    const waiting = Promise.withResolvers<LoadResult>();
    this.#waiting.set(command.no, waiting);
    this.#worker.postMessage(command);
    return waiting.promise;
  }
}

function missing(): never {
  throw new Error('The load replied without the result of the command');
}
