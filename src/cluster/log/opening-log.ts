/** A log that may not be reached yet: it refuses what it is asked, as one does whose brokers are away. */
import type { LogBounds, LogReader, OrderedLog, Reading } from './ordered-log.ts';

export class OpeningLog implements OrderedLog {
  #log: OrderedLog | undefined;
  /** Why it cannot be used now. */
  fault: string | undefined = 'not reached yet';

  open(log: OrderedLog): void {
    this.#log = log;
    this.fault = undefined;
  }

  append(body: Uint8Array): Promise<number> {
    return this.#opened(async (log) => await log.append(body));
  }

  bounds(): Promise<LogBounds> {
    return this.#opened(async (log) => await log.bounds());
  }

  prune(below: number): Promise<void> {
    return this.#opened(async (log) => await log.prune(below));
  }

  follow(from: number, reader: LogReader): Reading {
    if (this.#log !== undefined) return this.#log.follow(from, reader);
    let isStopped = false;
    queueMicrotask(() => {
      if (!isStopped) reader.ended(this.#refusal());
    });
    return {
      stop: () => {
        isStopped = true;
      },
    };
  }

  async close(): Promise<void> {
    await this.#log?.close();
  }

  #opened<T>(ask: (log: OrderedLog) => Promise<T>): Promise<T> {
    return this.#log === undefined ? Promise.reject(this.#refusal()) : ask(this.#log);
  }

  #refusal(): Error {
    return new Error(this.fault);
  }
}
