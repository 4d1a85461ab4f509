import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { kindOf, kindsOf } from '../test/seconds/kinds.ts';
import { SecondsReporter } from '../test/seconds/reporter.ts';

/** One language, time zone and file mask, whatever the machine has: workers and their processes inherit them. */
Object.assign(process.env, { LC_ALL: 'C.UTF-8', TZ: 'UTC' });
process.umask(0o022);

const root = new URL('..', import.meta.url).pathname;
/** Of the workers, and of the processes that tests start. */
const stripSources = new URL('../test/support/strip-sources.mjs', import.meta.url).href;
/** Counts from here on: the start of a worker is not part of its first file. */
const meter = 'test/seconds/meter.ts';

/** Those of the kinds that `--mode` names; see test/seconds/kinds.ts. */
function testFiles(mode: string): string[] {
  const kinds = kindsOf(mode);
  return readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .map((name) => `test/${name}`)
    .filter((path) => path.endsWith('.test.ts') && kinds.includes(kindOf(path)));
}

/**
 * Browser files run in separate workers. Those of one worker share a service in its process, and a file that fakes
 * timers in the same process would stop that service.
 */
function projectsOf(mode: string): TestProjectInlineConfiguration[] {
  const files = testFiles(mode);
  const isOfBrowser = (path: string): boolean => path.startsWith('test/browser/');
  return [
    {
      name: 'browser',
      include: files.filter(isOfBrowser),
      globalSetup: ['test/browser/start/chromium.ts'],
      setupFiles: ['test/browser/start/worker.ts', meter],
    },
    {
      name: 'others',
      include: files.filter((path) => !isOfBrowser(path)),
      setupFiles: [meter],
    },
  ]
    .filter(({ include }) => include.length > 0)
    .map((test) => ({ extends: true, test }));
}

export default defineConfig(({ mode }) => ({
  root,
  test: {
    projects: projectsOf(mode),
    globalSetup: ['test/support/dashboard.ts'],
    env: { NODE_OPTIONS: `--import ${stripSources}` },
    // Modules are loaded by Node, as an operator's are: no other loader compiles them once more.
    experimental: { viteModuleRunner: false },
    execArgv: ['--import', stripSources],
    pool: 'forks',
    // Two more than cores: much of a test is waiting for a process, a socket or a page.
    maxWorkers: 4,
    // Files share the modules of their process: 0.3 s of imports less for each of 140.
    isolate: false,
    // Tests that wait for the network side by side.
    maxConcurrency: 16,
    // They end a hang, and cost nothing where nothing hangs: a busy machine may take ten times as long.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
    reporters: ['default', new SecondsReporter()],
  },
}));
