import { defineConfig } from 'vitest/config';

export default defineConfig({
  root: new URL('..', import.meta.url).pathname,
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    // Files share the modules of their process: 0.3 s of imports less for each of 140. What a test changes, it puts back.
    isolate: false,
    // They end a hang, and cost nothing where nothing hangs: a busy machine may take ten times as long.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
    reporters: ['default'],
  },
});
