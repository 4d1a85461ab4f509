/** The process entry: runs the command that the arguments name. */
import { fstatSync, statSync } from 'node:fs';
import { devNull } from 'node:os';
import { processEnvironment } from './platform/config/environment.ts';
import { restartLean } from './app/machine/allocator.ts';
import { leastLimitsFault } from './app/machine/machine-limits.ts';

// Other users can read no file that any thread writes: stores, journals, keys, backups.
process.umask(0o077);
// A reader that goes away must not end the service.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
// Without a listener Node would open its inspector, to which every user of this machine may connect.
process.on('SIGUSR1', () => undefined);

/** Also true for a closed standard output, which Node replaces by the null device. */
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
// Imported late: it takes most of a start, and memory that the settings of `restartLean` save.
const { run } =
  command === 'health'
    ? await import('./operations/health.ts')
    : await import('./operations/run.ts');
const exitCode = await run(args, {
  result: (text) => console.log(text),
  show,
  progress: (text) => console.error(text),
  environment: processEnvironment,
});
process.exitCode = exitCode;
// Threads of a service that failed while opening would keep the process alive.
if (exitCode === 1) process.exit();
