/** The process entry: hands the process to the command that its arguments name. */
import { fstatSync, statSync } from 'node:fs';
import { devNull } from 'node:os';
import { processEnvironment } from './environment.ts';
import { restartLean } from './engine/machine/allocator.ts';
import { leastLimitsFault } from './engine/machine/machine-limits.ts';

// All that is written from here on, by every thread, is for its owner alone: stores, journals, keys, backups.
process.umask(0o077);
// A reader that goes away must not end the service: what it would have read is lost.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
// Without a listener Node opens its inspector, to which every user of this machine may connect.
process.on('SIGUSR1', () => undefined);

/** True also for a closed standard output: Node opens the null device in its place. */
function isDiscarded(descriptor: number): boolean {
  return fstatSync(descriptor).rdev === statSync(devNull).rdev;
}

function show(text: string): Promise<void> {
  const { stdout } = process;
  return new Promise((resolve, reject) => {
    stdout.write(`${text}\n`, (error) => {
      if (error instanceof Error) reject(error);
      else if (isDiscarded(stdout.fd)) reject(new Error('standard output is discarded'));
      else resolve();
    });
  });
}

const args = process.argv.slice(2);
const [command = 'serve'] = args;
if (command === 'serve' || command.startsWith('-')) {
  const fault = leastLimitsFault();
  if (fault !== undefined) {
    console.error(fault);
    process.exit(1);
  }
  restartLean(processEnvironment);
}
// Not above: what it imports takes most of a start, and memory that the settings save.
const { run } =
  command === 'health' ? await import('./cli/health.ts') : await import('./cli/run.ts');
const exitCode = await run(args, {
  result: (text) => console.log(text),
  show,
  progress: (text) => console.error(text),
  terminal: process.stderr.isTTY ? process.stderr : undefined,
  environment: processEnvironment,
});
process.exitCode = exitCode;
// A service that failed half-opened may hold threads: the reason is printed, nothing is left to wait for.
if (exitCode === 1) process.exit();
