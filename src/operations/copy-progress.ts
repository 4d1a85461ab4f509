/** Prints the progress of a long command, a line every two seconds. */
import { type CopyProgress, sizeText } from '../app/folder/backup/copy-files.ts';
import type { Clock } from '../model/clock.ts';
import type { Process } from './command.ts';

const lineMs = 2_000;

export class ProgressLines {
  readonly #print: Process['progress'];
  readonly #clock: Clock;
  readonly #total: number;
  #nextMs: number;

  constructor(print: Process['progress'], clock: Clock, total: number) {
    this.#print = print;
    this.#clock = clock;
    this.#total = Math.max(1, total);
    this.#nextMs = clock.monotonicMs() + lineMs;
  }

  update(done: number, line: string): void {
    if (this.#clock.monotonicMs() < this.#nextMs) return;
    this.#nextMs = this.#clock.monotonicMs() + lineMs;
    this.#print(`${Math.floor((done / this.#total) * 100)} %  ${line}`);
  }
}

/** Progress of a backup or a restore. */
export class PrintedProgress implements CopyProgress {
  readonly #print: Process['progress'];
  readonly #clock: Clock;
  #lines: ProgressLines | undefined;
  #total = 0;
  #done = 0;

  constructor(print: Process['progress'], clock: Clock) {
    this.#print = print;
    this.#clock = clock;
  }

  begin(bytes: number): void {
    this.#total = bytes;
    this.#done = 0;
    this.#lines = new ProgressLines(this.#print, this.#clock, bytes);
  }

  add(bytes: number): void {
    // A live folder grows while it is copied.
    this.#done = Math.min(this.#done + bytes, this.#total);
    this.#lines?.update(this.#done, `${sizeText(this.#done)} of ${sizeText(this.#total)}`);
  }

  file(name: string, bytes: number): void {
    if (name.endsWith('.mdb')) this.#print(`${name}  ${bytes} bytes`);
  }

  check(): void {
    this.#print('reading the copy');
  }
}
