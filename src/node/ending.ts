/** Why a node of a cluster cannot go on: the first reason is logged, and its process is stopped. */
import type { Logger } from '../telemetry/log.ts';

export class Ending {
  readonly #log: Logger;
  readonly #told = Promise.withResolvers<void>();
  #isTold = false;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Resolves when there is a reason. */
  get told(): Promise<void> {
    return this.#told.promise;
  }

  /** @param detail a sentence for the operator */
  tell(detail: string): void {
    if (this.#isTold) return;
    this.#isTold = true;
    this.#log.fatal({ detail }, 'this node of the cluster ends');
    this.#told.resolve();
  }
}
