/** The process entry: hands the process to the command that its arguments name. */
import { run } from './cli/run.ts';
import { processEnvironment } from './config.ts';

// All that is written from here on, by every thread, is for its owner alone: stores, journals, keys, backups.
process.umask(0o077);
const exitCode = await run(process.argv.slice(2), {
  result: (text) => console.log(text),
  progress: (text) => console.error(text),
  terminal: process.stderr.isTTY ? process.stderr : undefined,
  environment: processEnvironment,
});
process.exitCode = exitCode;
// A service that failed half-opened may hold threads: the reason is printed, nothing is left to wait for.
if (exitCode === 1) process.exit();
