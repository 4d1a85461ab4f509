/** Threads run sources that were stripped of their types once: none loads the module that strips them. */
import { afterAll, describe, expect, it } from 'vitest';
import { createPool } from '../../src/workers/pool.ts';
import { threadArguments } from '../../src/workers/thread-sources.ts';
import type { Probe } from './probe.worker.ts';

const pool = createPool<Probe, string>({
  file: new URL('./probe.worker.ts', import.meta.url),
  threads: 1,
  queueMax: 1,
});
afterAll(() => pool.close());

describe('a thread', () => {
  it('does not load what strips types', async () => {
    const modules = await pool.run({ kind: 'modules' });
    expect(modules).toContain('NativeModule worker_threads');
    expect(modules).not.toContain('amaro');
  });

  it('names its own lines where it fails', async () => {
    const error = await pool.run({ kind: 'throw' }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ stack: expect.stringMatching(/probe\.worker\.ts:\d+:13/) });
  });

  it('is started as this one is where its sources cannot be read', () => {
    const missing = new URL('./missing.worker.ts', import.meta.url);
    expect(threadArguments(missing)).toBe(process.execArgv);
    expect(threadArguments(new URL('file:///bundle/main.js'))).toBe(process.execArgv);
  });
});
