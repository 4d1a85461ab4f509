/**
 * What was freed goes back to the system, for the threads' share of the memory is mostly what they once needed:
 *
 *   V8      the space of young objects, up to 32 MB in each thread, does not double while the service starts: 20 MB less
 *           when ready. Over millions of scans it does: threads that redirect or count have a bound
 *           (supervised-thread.ts). Old objects take less code and feedback where memory is scarce, another 16 MB.
 *   malloc  blocks from 128 KB on are the system's again when they are freed, not only the first of them: 20 MB less when
 *           ready. Where memory is scarce all threads share two arenas: after pictures of 4,096 pixels 133 instead of 323 MB.
 *
 * The C library reads its settings before the first line of a program runs: where `npm start` or the operator has not
 * set them, the service replaces itself, once, before it opens anything.
 */
import { isSea } from 'node:sea';
import { setFlagsFromString } from 'node:v8';
import type { Environment } from '../../environment.ts';
import { isMemoryScarce, measureResources, type Resources } from './machine-plan.ts';

/** Of glibc; others ignore it. In bytes, the first value of a bound that grows unless it is set. */
const settings = { MALLOC_MMAP_THRESHOLD_: '131072' };
const scarceSettings = { ...settings, MALLOC_ARENA_MAX: '2' };

/** Of V8, in every thread: the space of young objects grows less readily, and shrinks to what it holds. */
const smallNursery = '--semi-space-growth-factor=1';
/** Of V8, in every thread. */
const smallCode = '--optimize-for-size';

/** The environment with the settings; undefined where they are there. An operator's own stay. */
export function leanEnvironment(
  environment: Environment,
  resources: Resources,
): Environment | undefined {
  const wanted = isMemoryScarce(resources) ? scarceSettings : settings;
  const isSet = Object.keys(wanted).every((name) => environment[name] !== undefined);
  return isSet ? undefined : { ...wanted, ...environment };
}

/** What `process.execPath` is started with to run `quietzone <words>` once more. */
export function programArguments(words: readonly string[]): string[] {
  // In the one file the program has no path, and Node's options stand in the file.
  return isSea() ? [...words] : [...process.execArgv, process.argv[1] ?? '', ...words];
}

/**
 * Does not return where this process becomes one with the settings: same id, arguments and streams. To be called before
 * the program is loaded.
 */
export function restartLean(environment: Environment): void {
  const resources = measureResources();
  setFlagsFromString(smallNursery);
  if (isMemoryScarce(resources)) setFlagsFromString(smallCode);
  // A parent's channel (`node --watch`) does not outlive this program.
  if (process.platform !== 'linux' || process.connected) return;
  const lean = leanEnvironment(environment, resources);
  if (lean === undefined) return;
  const { execPath, argv } = process;
  try {
    process.execve?.(execPath, [execPath, ...programArguments(argv.slice(2))], lean);
  } catch {
    // A sandbox may forbid it: it runs with more memory.
  }
}
