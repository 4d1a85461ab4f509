/** The load's thread, seen from the thread that starts and ends services. */
import { Worker } from 'node:worker_threads';
import type { Comparison, Days } from '../crash/comparison.ts';
import type { Ports } from '../support/process.ts';
import type { FieldSums } from './field.ts';
import type { LimitedSums } from './limited.ts';
import type { Phase, PhoneSums } from './phones.ts';
import type { WritingSums } from './writing.ts';

export interface LoadSetting {
  readonly dataDir: string;
  readonly ports: Ports;
  readonly apiKey: string;
  readonly seed: number;
  /** Scans, on new and on kept connections together. */
  readonly perSecond: number;
  /** That were seeded. */
  readonly codes: number;
  /** Connections that are kept, with a tenth of the scans: a predecessor waits for those that are idle. */
  readonly kept: 'mostly idle' | 'busy';
}

export interface LoadSums {
  readonly phones: PhoneSums;
  /** Requests on kept connections without an answer. */
  readonly keptBroken: number;
  readonly writing: WritingSums;
}

export interface LoadComparison {
  /** Codes that were created, led elsewhere and deleted meanwhile. */
  readonly changed: Comparison;
  readonly field: FieldSums;
  readonly limited: LimitedSums;
}

export type LoadOrder = { readonly no: number } & (
  | { readonly kind: 'phase'; readonly phase: Phase }
  | { readonly kind: 'count' | 'finish' | 'ask' }
  | { readonly kind: 'compare'; readonly days: Days }
);

export interface LoadCounts {
  /** The number of the next scan of a changed code. */
  readonly scans: number;
  readonly writesAcknowledged: number;
}

/** What an order has brought; each kind of order has a field of its own. */
export interface LoadResult {
  readonly counts?: LoadCounts;
  readonly sums?: LoadSums;
  readonly comparison?: LoadComparison;
}

export interface LoadReply {
  readonly no: number;
  readonly result: LoadResult;
  readonly error?: string;
}

export class LoadThread {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, PromiseWithResolvers<LoadResult>>();
  #orders = 0;

  constructor(setting: LoadSetting) {
    this.#worker = new Worker(new URL('./load.worker.ts', import.meta.url), {
      workerData: setting,
    });
    this.#worker.on('message', ({ no, result, error }: LoadReply) => {
      const waiting = this.#waiting.get(no);
      this.#waiting.delete(no);
      if (error === undefined) waiting?.resolve(result);
      else waiting?.reject(new Error(`The load failed: ${error}`));
    });
    this.#worker.on('error', (error) => {
      for (const { reject } of this.#waiting.values()) reject(error);
    });
  }

  /** What scans that begin now, or are under way, are timed as. */
  set phase(phase: Phase) {
    this.#worker.postMessage({ no: this.#orders++, kind: 'phase', phase } satisfies LoadOrder);
  }

  async count(): Promise<LoadCounts> {
    const { counts } = await this.#order({ no: this.#orders++, kind: 'count' });
    return counts ?? unanswered();
  }

  /** Scans and writes no more, and settles what is open. */
  async finish(): Promise<LoadSums> {
    const { sums } = await this.#order({ no: this.#orders++, kind: 'finish' });
    return sums ?? unanswered();
  }

  async ask(): Promise<void> {
    await this.#order({ no: this.#orders++, kind: 'ask' });
  }

  /** After the service has ended. */
  async compare(days: Days): Promise<LoadComparison> {
    const { comparison } = await this.#order({ no: this.#orders++, kind: 'compare', days });
    return comparison ?? unanswered();
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #order(order: LoadOrder): Promise<LoadResult> {
    const waiting = Promise.withResolvers<LoadResult>();
    this.#waiting.set(order.no, waiting);
    this.#worker.postMessage(order);
    return waiting.promise;
  }
}

function unanswered(): never {
  throw new Error('The load gave another answer than it was asked for');
}
