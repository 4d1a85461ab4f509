/** How far a copy is, in the log of a start. */
import { type CopyProgress, sizeText } from '../../engine/backup/copy-files.ts';
import type { Timers } from '../../model/clock.ts';
import type { Logger } from '../../telemetry/log.ts';

const lineMs = 5_000;

export class LoggedProgress implements CopyProgress {
  readonly #log: Logger;
  readonly #timers: Pick<Timers, 'monotonicMs'>;
  #nextMs = 0;
  #done = 0;
  #of = 0;

  constructor(log: Logger, timers: Pick<Timers, 'monotonicMs'>) {
    this.#log = log;
    this.#timers = timers;
  }

  begin(bytes: number): void {
    this.#done = 0;
    this.#of = bytes;
    this.#nextMs = this.#timers.monotonicMs() + lineMs;
  }

  add(bytes: number): void {
    this.#done += bytes;
    if (this.#timers.monotonicMs() < this.#nextMs) return;
    this.#nextMs = this.#timers.monotonicMs() + lineMs;
    const [done, of] = [sizeText(this.#done), sizeText(this.#of)];
    this.#log.info({ done, of }, 'copying the data of another core');
  }

  file(): void {
    // Its bytes were added.
  }

  check(): void {
    this.#log.info({ of: sizeText(this.#of) }, 'reading the copy');
  }
}
