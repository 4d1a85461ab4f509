/**
 * What tests start as `quietzone`: the sources by the locked Node, or the one file that QUIETZONE_COMMAND names, as
 * `npm run check:binary` does.
 *
 * The file takes no options of Node before its arguments, so these go by NODE_OPTIONS in both cases. Code that a test
 * puts into the program is given by `preload`: unlike `--import`, the file runs it before its own, in every thread.
 */
import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const named = process.env['QUIETZONE_COMMAND'];

const sources = [join(root, 'node_modules/.bin/node'), join(root, 'config/start.mjs')] as const;

/** The executable, and what comes before `quietzone`'s own arguments. */
export const program: readonly [executable: string, ...args: string[]] =
  named === undefined ? sources : [named];

/** True for the sources, whose commands can run in a thread of this process too. */
export const isFromSources = named === undefined;

/** Compiled sources, kept from one start to the next. */
const compiled = join(root, 'node_modules/.cache/quietzone-tests/compiled');
/** With the setting of `npm start`: without it Node starts a second time (app/machine/allocator.ts). */
const ownEnvironment: Readonly<Record<string, string>> = isFromSources
  ? { NODE_OPTIONS: '', NODE_COMPILE_CACHE: compiled, MALLOC_MMAP_THRESHOLD_: '131072' }
  : { NODE_OPTIONS: '', NODE_COMPILE_CACHE: '' };

export interface ProgramStart {
  /** `QZ_…` variables, and any others. */
  readonly environment: Readonly<Record<string, string>>;
  readonly stdio: StdioOptions;
  /** It may have so many descriptors. */
  readonly openFiles?: number | undefined;
  /** Another one, such as an earlier release: its executable and first arguments. */
  readonly program?: readonly [executable: string, ...args: string[]] | undefined;
}

/** Starts `quietzone <args>`. */
export function startProgram(args: readonly string[], start: ProgramStart): ChildProcess {
  const { environment, stdio, openFiles, program: started = program } = start;
  const limited: typeof program =
    openFiles === undefined
      ? started
      : ['prlimit', `--nofile=${openFiles}:${openFiles}`, ...started];
  const [executable, ...first] = limited;
  const env = environmentWith(environment);
  return spawn(executable, [...first, ...args], { cwd: root, env, stdio });
}

/** The environment of this process without its own Quietzone settings. */
export function environmentWith(own: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('QZ_') && !name.startsWith('VITEST'),
  );
  return { ...Object.fromEntries(inherited), ...ownEnvironment, ...own };
}

type Preloaded = 'clock-by-file' | 'end-threads' | 'kill-at';

/** The option that makes the program run a module of `preloaded/` first. */
export function preload(name: Preloaded): string {
  return `--require="${fileURLToPath(new URL(`./preloaded/${name}.ts`, import.meta.url))}"`;
}
