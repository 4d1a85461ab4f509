/** What a backup or a restore prints while it runs: a bar on a terminal, else a line for each data file and every two seconds. */
import { SingleBar } from 'cli-progress';
import { type CopyProgress, sizeText } from '../engine/backup/copy-files.ts';
import type { Clock } from '../model/clock.ts';
import type { Process } from './command.ts';

const lineMs = 2_000;

export class PrintedProgress implements CopyProgress {
  readonly #printer: Pick<Process, 'progress' | 'terminal'>;
  readonly #clock: Clock;
  readonly #bar: SingleBar | undefined;
  #total = 0;
  #done = 0;
  #nextMs: number;

  constructor(printer: Pick<Process, 'progress' | 'terminal'>, clock: Clock) {
    this.#printer = printer;
    this.#clock = clock;
    this.#nextMs = clock.monotonicMs() + lineMs;
    if (printer.terminal === undefined) return;
    this.#bar = new SingleBar({
      format: '{bar} {percentage} % | {done} of {size} | {eta_formatted} left',
      hideCursor: true,
      stream: printer.terminal,
    });
  }

  begin(bytes: number): void {
    this.#total = bytes;
    this.#done = 0;
    this.#bar?.start(Math.max(1, bytes), 0, { done: sizeText(0), size: sizeText(bytes) });
  }

  add(bytes: number): void {
    this.#done += bytes;
    // A live folder grows while it is copied.
    const done = Math.min(this.#done, this.#total);
    this.#bar?.update(done, { done: sizeText(done) });
    if (this.#bar !== undefined || this.#clock.monotonicMs() < this.#nextMs) return;
    this.#nextMs = this.#clock.monotonicMs() + lineMs;
    const share = Math.floor((done / Math.max(1, this.#total)) * 100);
    this.#printer.progress(`${share} %  ${sizeText(done)} of ${sizeText(this.#total)}`);
  }

  file(name: string, bytes: number): void {
    if (this.#bar === undefined && name.endsWith('.mdb')) {
      this.#printer.progress(`${name}  ${bytes} bytes`);
    }
  }

  check(): void {
    this.#bar?.update(this.#total);
    this.#bar?.stop();
    this.#printer.progress('reading the copy');
  }

  stop(): void {
    this.#bar?.stop();
  }
}
