/**
 * The law of seconds: prints the CPU seconds of a run and its slowest ten files, and fails a run that uses too many.
 * The limits hold on the reference machine (two cores, Debian 12, Node 22). While the tests run, a process starts every
 * five seconds and does a fixed piece of work: where it takes longer than there, the limits grow by the same factor.
 * The time before a run says too little: on a shared machine the same tests take up to twice the CPU seconds.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Reporter, TestModule } from 'vitest/node';
import { kindOf } from './kinds.ts';

/** Of one file that is fast or whole. */
const fileSecondsMax = 8;
/** Of all of them. */
const sumSecondsMax = 440;
/** CPU milliseconds of the fixed work, beside the tests on the reference machine. */
const referenceMs = 85;
const everyMs = 5000;
const shownFiles = 10;

/** Work without meaning; prints the CPU milliseconds of its process. A process gets its source as text. */
function fixedWork(): void {
  const rows = Array.from({ length: 40_000 }, (_, row) => ({
    row,
    key: `row ${(row * 7919) % 40_009}`,
  }));
  const copy: typeof rows = JSON.parse(JSON.stringify(rows));
  copy.sort((a, b) => a.key.localeCompare(b.key) || a.row - b.row);
  const { user, system } = process.cpuUsage();
  process.stdout.write(String((user + system) / 1000));
}

async function msOfFixedWork(): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '-e',
    `(${fixedWork.toString()})()`,
  ]);
  return Number(stdout);
}

export class SecondsReporter implements Reporter {
  readonly #times: Promise<number>[] = [];
  #timer: NodeJS.Timeout | undefined;

  onTestRunStart(): void {
    const time = (): void => void this.#times.push(msOfFixedWork());
    time();
    this.#timer = setInterval(time, everyMs);
  }

  /** Of this machine during the run; 1 where it is not slower than the reference machine. */
  async #slowness(): Promise<number> {
    clearInterval(this.#timer);
    const times = await Promise.all(this.#times);
    const mean = times.reduce((sum, ms) => sum + ms, 0) / times.length;
    return Math.max(1, mean / referenceMs);
  }

  async onTestRunEnd(modules: readonly TestModule[]): Promise<void> {
    const slowness = await this.#slowness();
    const files = modules
      .map((module) => ({ path: module.relativeModuleId, seconds: module.meta().cpuSeconds ?? 0 }))
      .toSorted((a, b) => b.seconds - a.seconds);
    const limited = files.filter(({ path }) => ['fast', 'whole'].includes(kindOf(path)));
    const limitedSum = sumOf(limited);
    const fileMax = fileSecondsMax * slowness;
    const sumMax = sumSecondsMax * slowness;
    const limits = `limits × ${slowness.toFixed(2)}`;
    print(
      `CPU seconds: ${sumOf(files).toFixed(0)} in ${files.length} files, ${limits}. The slowest:`,
    );
    for (const { path, seconds } of files.slice(0, shownFiles)) print(lineOf(path, seconds));
    const slow = limited.filter(({ seconds }) => seconds > fileMax);
    if (slow.length === 0 && limitedSum <= sumMax) return;
    process.exitCode = 1;
    for (const { path, seconds } of slow) {
      print(
        `${lineOf(path, seconds)}: at most ${fileMax.toFixed(1)}; make it cheaper or divide it`,
      );
    }
    if (limitedSum > sumMax) print(`Together: at most ${sumMax.toFixed(0)} CPU seconds`);
  }
}

const sumOf = (files: readonly { seconds: number }[]): number =>
  files.reduce((sum, { seconds }) => sum + seconds, 0);
const lineOf = (path: string, seconds: number): string =>
  `${seconds.toFixed(1).padStart(6)}  ${path}`;
const print = (line: string): void => void process.stdout.write(`${line}\n`);
