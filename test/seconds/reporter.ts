/**
 * The law of seconds: prints the CPU seconds of a run and its slowest ten files, and fails a run that uses too many.
 * The limits hold on the reference machine (two shared cores, Debian 12, Node 22). Before and after the tests the reporter
 * times a fixed piece of work: where it takes longer, the limits grow by the same factor. On a shared machine the two differ
 * by up to a fifth; the slower one counts.
 */
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { Reporter, TestModule } from 'vitest/node';
import { kindOf } from './kinds.ts';

/** Of one file that is fast or whole. */
const fileSecondsMax = 8;
/** Of all of them. */
const sumSecondsMax = 440;
/** Of the fixed work, on each core of the reference machine at once. */
const referenceSeconds = 0.32;
const shownFiles = 10;

/** Work without meaning. Threads get its source as text, so it uses nothing from outside. */
function fixedWork(): void {
  const rows = Array.from({ length: 40_000 }, (_, row) => ({
    row,
    key: `row ${(row * 7919) % 40_009}`,
  }));
  for (let round = 0; round < 8; round += 1) {
    const copy: typeof rows = JSON.parse(JSON.stringify(rows));
    copy.sort((a, b) => a.key.localeCompare(b.key) || a.row - b.row);
  }
}

/** CPU seconds of the fixed work on every core at once, as tests run, on average. */
async function secondsOfFixedWork(): Promise<number> {
  const threads = availableParallelism();
  const before = process.cpuUsage();
  const started = Array.from(
    { length: threads },
    () => new Worker(`(${fixedWork.toString()})()`, { eval: true }),
  );
  await Promise.all(started.map((thread) => once(thread, 'exit')));
  return process.cpuUsage(before).user / 1e6 / threads;
}

export class SecondsReporter implements Reporter {
  /** Of this machine; 1 where it is not slower than the reference machine. */
  #slowness = 1;

  async onTestRunStart(): Promise<void> {
    await this.#time();
  }

  async #time(): Promise<void> {
    this.#slowness = Math.max(this.#slowness, (await secondsOfFixedWork()) / referenceSeconds);
  }

  async onTestRunEnd(modules: readonly TestModule[]): Promise<void> {
    await this.#time();
    const files = modules
      .map((module) => ({ path: module.relativeModuleId, seconds: module.meta().cpuSeconds ?? 0 }))
      .toSorted((a, b) => b.seconds - a.seconds);
    const limited = files.filter(({ path }) => ['fast', 'whole'].includes(kindOf(path)));
    const limitedSum = sumOf(limited);
    const fileMax = fileSecondsMax * this.#slowness;
    const sumMax = sumSecondsMax * this.#slowness;
    const limits = `limits × ${this.#slowness.toFixed(2)}`;
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
