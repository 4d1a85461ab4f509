/**
 * Returns freed memory to the system, because threads otherwise keep most of it:
 *
 *   V8      the space of young objects does not double during a start: 20 MB less when ready. Threads that redirect or count
 *           have a bound (supervised-thread.ts). If memory is scarce, code takes 16 MB less.
 *   malloc  freed blocks from 128 KB on return to the system: 20 MB less when ready. If memory is scarce, all threads share
 *           two arenas: 133 instead of 323 MB after pictures of 4,096 pixels.
 *
 * The C library reads its settings before a program runs: if they are not set, the service replaces its process once.
 */
import { isSea } from 'node:sea';
import { setFlagsFromString } from 'node:v8';
import type { Environment } from '../../platform/config/environment.ts';
import { isMemoryScarce, measureResources, type Resources } from './machine-plan.ts';

/** For glibc, in bytes; other libraries ignore it. Unset, the bound starts here and grows. */
const settings = { MALLOC_MMAP_THRESHOLD_: '131072' };
const scarceSettings = { ...settings, MALLOC_ARENA_MAX: '2' };

const smallNursery = '--semi-space-growth-factor=1';
const smallCode = '--optimize-for-size';

/** The environment with the settings; undefined if they are set. An operator's settings stay. */
export function leanEnvironment(
  environment: Environment,
  resources: Resources,
): Environment | undefined {
  const wanted = isMemoryScarce(resources) ? scarceSettings : settings;
  const isSet = Object.keys(wanted).every((name) => environment[name] !== undefined);
  return isSet ? undefined : { ...wanted, ...environment };
}

/** Arguments for `process.execPath` that run `quietzone <words>`. */
export function programArguments(words: readonly string[]): string[] {
  // The single executable has no program path, and contains Node's options.
  return isSea() ? [...words] : [...process.execArgv, process.argv[1] ?? '', ...words];
}

/** Replaces this process by one with the settings: same id, arguments and streams. Call it before the program loads. */
export function restartLean(environment: Environment): void {
  const resources = measureResources();
  setFlagsFromString(smallNursery);
  if (isMemoryScarce(resources)) setFlagsFromString(smallCode);
  // A parent's channel (`node --watch`) does not survive the replacement.
  if (process.platform !== 'linux' || process.connected) return;
  const lean = leanEnvironment(environment, resources);
  if (lean === undefined) return;
  const { execPath, argv } = process;
  try {
    process.execve?.(execPath, [execPath, ...programArguments(argv.slice(2))], lean);
  } catch {
    // A sandbox may forbid it; the service then uses more memory.
  }
}
