/**
 * The C library's allocator keeps what was freed, an arena for each thread: after a picture of 4,096 pixels 64 MB, and twice
 * as much after a few. Where memory is scarce it gets two arenas, and blocks from 128 KB on go back to the system: 80
 * instead of 114 MB when ready, 133 instead of 323 after the same pictures, for some page faults more. It reads
 * its settings before the first line of a program runs: the service replaces itself, once, before it opens anything.
 */
import { isSea } from 'node:sea';
import { setFlagsFromString } from 'node:v8';
import type { Environment } from '../../config.ts';
import { isMemoryScarce, measureResources, type Resources } from './machine-plan.ts';

/** Of glibc; others ignore them. The second, in bytes, is the first value of a bound that grows unless it is set. */
const settings = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '131072',
};

/** Of V8, in every thread: less compiled code and feedback, 16 MB less in use. */
const smallCode = '--optimize-for-size';

/** The environment with the settings; undefined where they are there, or not needed. */
export function leanEnvironment(
  environment: Environment,
  resources: Resources,
): Environment | undefined {
  if (!isMemoryScarce(resources)) return undefined;
  const isSet = Object.keys(settings).some((name) => environment[name] !== undefined);
  return isSet ? undefined : { ...environment, ...settings };
}

/**
 * Where memory is scarce. Does not return where this process becomes one with the settings: same id, arguments and
 * streams. To be called before the program is loaded.
 */
export function restartLean(environment: Environment): void {
  const resources = measureResources();
  if (!isMemoryScarce(resources)) return;
  setFlagsFromString(smallCode);
  // A parent's channel (`node --watch`) does not outlive this program.
  if (process.platform !== 'linux' || process.connected) return;
  const lean = leanEnvironment(environment, resources);
  if (lean === undefined) return;
  const { execPath, execArgv, argv } = process;
  // In the one file the program has no path, and Node's options stand in the file.
  const args = isSea() ? argv.slice(2) : [...execArgv, ...argv.slice(1)];
  try {
    process.execve?.(execPath, [execPath, ...args], lean);
  } catch {
    // A sandbox may forbid it: it runs with more memory.
  }
}
