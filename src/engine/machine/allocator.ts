/**
 * The C library's allocator keeps what was freed, an arena for each thread: after a picture of 4,096 pixels 64 MB, and twice
 * as much after a few. Where memory is scarce it gets two arenas, and blocks from 128 KB on go back to the system: 80
 * instead of 114 MB when ready, 133 instead of 323 after the same pictures, for some page faults more. It reads
 * its settings before the first line of a program runs: the service replaces itself, once, before it opens anything.
 */
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

/** Does not return where this process becomes one with the settings: same id, arguments and streams. */
export function restartLean(environment: Environment): void {
  // A parent's channel (`node --watch`) does not outlive this program.
  if (process.platform !== 'linux' || process.connected) return;
  const lean = leanEnvironment(environment, measureResources());
  if (lean === undefined) return;
  const args = [process.execPath, ...process.execArgv, smallCode, ...process.argv.slice(1)];
  try {
    process.execve?.(process.execPath, args, lean);
  } catch {
    // A sandbox may forbid it: it runs with more memory.
  }
}
