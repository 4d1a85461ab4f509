/** Why a node of a cluster must stop: the first reason is logged, and the process ends. */
import type { Logger } from '../telemetry/log.ts';

export class FatalStop {
  readonly #log: Logger;
  readonly #reported = Promise.withResolvers<void>();
  #isReported = false;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Resolves when there is a reason. */
  get reported(): Promise<void> {
    return this.#reported.promise;
  }

  /** @param detail a sentence for the operator */
  report(detail: string): void {
    if (this.#isReported) return;
    this.#isReported = true;
    this.#log.fatal({ detail }, 'this node of the cluster stops');
    this.#reported.resolve();
  }
}
