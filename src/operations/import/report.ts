/**
 * Prints the result of an import: the rows that failed or lost data, and the sums.
 *
 * The errors file is CSV: row, line, slug, target, code, message. It belongs to one import. A resumed run first removes the lines
 * of the rows that it reports again.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { csvLine } from '../../model/csv.ts';
import { Failure } from '../../model/failure.ts';
import type { Process } from '../command.ts';

/** Failures shown on the screen; the file has all of them. */
const shownMax = 20;
const header = 'row,line,slug,target,code,message';

export interface FailedRow {
  /** From 1. */
  readonly row: number;
  readonly line: number;
  readonly slug: string | undefined;
  readonly target: string | undefined;
  readonly code: string;
  readonly message: string;
}

/** Where an import prints. */
export type ImportPrinter = Pick<Process, 'result' | 'progress'>;

export class FailureReport {
  readonly #file: string | undefined;
  readonly #shown: string[] = [];
  readonly #notes: string[] = [];
  readonly #counts = new Map<string, number>();

  /** @param rows of earlier runs, whose lines stay @throws Failure for a file of another kind */
  constructor(file: string | undefined, rows: number) {
    this.#file = file;
    if (file === undefined) return;
    const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
    if (before !== '' && !before.startsWith(header)) {
      throw new Failure(
        'conflict',
        `Cannot write ${file}: it exists and is not an errors file of an import`,
      );
    }
    const kept = before.split('\r\n').filter((line) => Number.parseInt(line, 10) <= rows);
    writeFileSync(file, [header, ...kept, ''].join('\r\n'));
  }

  /** Writes the line at once. */
  add({ row, line, slug, target, code, message }: FailedRow): void {
    this.#counts.set(code, (this.#counts.get(code) ?? 0) + 1);
    if (this.#shown.length < shownMax) this.#shown.push(`line ${line}: ${code}: ${message}`);
    if (this.#file === undefined) return;
    const cells = [row, line, slug ?? null, target ?? null, code, message];
    appendFileSync(this.#file, csvLine(cells.map(onOneLine)));
  }

  /** A row that became several codes. */
  addNote(text: string): void {
    const { length } = this.#notes;
    if (length < shownMax) this.#notes.push(text);
    else if (length === shownMax) this.#notes.push('… and more rows of several codes');
  }

  /** The failed rows of this run, and the rows that became several codes, as text. */
  get text(): string {
    const all = [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
    const sums = [...this.#counts].map(([code, count]) => `  ${count} × ${code}`);
    const more = all - this.#shown.length;
    const where = this.#file === undefined ? '--errors FILE writes them all' : `see ${this.#file}`;
    const lines = [
      ...this.#notes,
      ...this.#shown,
      ...(more > 0 ? [`… and ${more} more: ${where}`] : []),
      ...(all > 0 ? ['Failed and incomplete rows by reason:', ...sums] : []),
    ];
    return lines.join('\n');
  }
}

/** Keeps one row on each line of the file. */
function onOneLine(cell: string | number | null): string | number | null {
  return typeof cell === 'string' ? cell.replace(/[\r\n]+/g, ' ') : cell;
}
