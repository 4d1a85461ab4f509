import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The longest begin first, so that at the end no worker waits long for another's last file. */
const longest = ['test/browser/', 'test/bench-smoke', 'test/flows/', 'test/webhooks/'];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification): number => {
      const rank = longest.findIndex((path) => moduleId.includes(path));
      return rank === -1 ? longest.length : rank;
    };
    return files.toSorted((a, b) => rankOf(a) - rankOf(b) || (a.moduleId < b.moduleId ? -1 : 1));
  }
}

/** One language, time zone and file mask, whatever the machine has: workers and their processes inherit them. */
Object.assign(process.env, { LC_ALL: 'C.UTF-8', TZ: 'UTC' });
process.umask(0o022);

/** Of the workers, and of the processes that tests start. */
const stripSources = new URL('../test/support/strip-sources.mjs', import.meta.url).href;

export default defineConfig({
  root: new URL('..', import.meta.url).pathname,
  test: {
    include: ['test/**/*.test.ts'],
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
    sequence: { sequencer: LongestFirst },
    // They end a hang, and cost nothing where nothing hangs: a busy machine may take ten times as long.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
    reporters: ['default'],
  },
});
