/** What a long command prints while it runs: a bar on a terminal, else a line every two seconds. */
import { SingleBar } from 'cli-progress';
import { type CopyProgress, sizeText } from '../engine/backup/copy-files.ts';
import type { Clock } from '../model/clock.ts';
import type { Process } from './command.ts';

const lineMs = 2_000;

type Printer = Pick<Process, 'progress' | 'terminal'>;

export class ProgressBar {
  readonly #printer: Printer;
  readonly #clock: Clock;
  readonly #bar: SingleBar | undefined;
  #total = 1;
  #nextMs: number;

  /** @param format with the names of what is shown, in braces */
  constructor(printer: Printer, clock: Clock, format: string) {
    this.#printer = printer;
    this.#clock = clock;
    this.#nextMs = clock.monotonicMs() + lineMs;
    if (printer.terminal === undefined) return;
    const options = { hideCursor: true, stream: printer.terminal };
    this.#bar = new SingleBar({ ...options, format: `{bar} {percentage} % | ${format} left` });
  }

  get isBar(): boolean {
    return this.#bar !== undefined;
  }

  start(total: number, shown: object): void {
    this.#total = Math.max(1, total);
    this.#bar?.start(this.#total, 0, shown);
  }

  /** @param line what is shown, where there is no bar */
  update(done: number, shown: object, line: string): void {
    this.#bar?.update(done, shown);
    if (this.isBar || this.#clock.monotonicMs() < this.#nextMs) return;
    this.#nextMs = this.#clock.monotonicMs() + lineMs;
    this.#printer.progress(`${Math.floor((done / this.#total) * 100)} %  ${line}`);
  }

  stop(): void {
    this.#bar?.stop();
  }
}

/** Of a backup or a restore. */
export class PrintedProgress implements CopyProgress {
  readonly #say: Process['progress'];
  readonly #bar: ProgressBar;
  #size = '';
  #total = 0;
  #done = 0;

  constructor(printer: Printer, clock: Clock) {
    this.#say = printer.progress;
    this.#bar = new ProgressBar(printer, clock, '{done} of {size} | {eta_formatted}');
  }

  begin(bytes: number): void {
    this.#total = bytes;
    this.#done = 0;
    this.#size = sizeText(bytes);
    this.#bar.start(bytes, { done: sizeText(0), size: this.#size });
  }

  add(bytes: number): void {
    // A live folder grows while it is copied.
    this.#done = Math.min(this.#done + bytes, this.#total);
    const done = sizeText(this.#done);
    this.#bar.update(this.#done, { done }, `${done} of ${this.#size}`);
  }

  file(name: string, bytes: number): void {
    if (!this.#bar.isBar && name.endsWith('.mdb')) this.#say(`${name}  ${bytes} bytes`);
  }

  check(): void {
    this.#bar.stop();
    this.#say('reading the copy');
  }

  stop(): void {
    this.#bar.stop();
  }
}
