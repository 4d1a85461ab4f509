/** Threads run sources that were stripped of their types once: none loads the module that strips them. */
import { spawnSync } from 'node:child_process';
import { afterAll, describe, expect, it } from 'vitest';
import { createPool } from '../../src/workers/pool.ts';
import { threadStart } from '../../src/workers/thread-sources.ts';
import { environmentWith } from '../support/program.ts';
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

  it('starts under options of V8, which no thread accepts as its own', () => {
    const at = (path: string): string => new URL(path, import.meta.url).href;
    const script = `
      import { createPool } from '${at('../../src/workers/pool.ts')}';
      const file = new URL('${at('./probe.worker.ts')}');
      const pool = createPool({ file, threads: 1, queueMax: 1 });
      console.log(await pool.run({ kind: 'echo', text: 'hello' }));
      await pool.close();`;
    const options = ['--max-old-space-size=512', '--input-type=module', '--eval', script];
    const { stdout, stderr } = spawnSync(process.execPath, options, {
      env: environmentWith({}),
      encoding: 'utf8',
    });
    expect([stdout, stderr]).toEqual(['hello\n', '']);
  });

  it('is started as it is where its sources cannot be read', () => {
    const missing = new URL('./missing.worker.ts', import.meta.url);
    const bundled = new URL('file:///bundle/main.js');
    for (const file of [missing, bundled])
      expect(threadStart(file)).toMatchObject({ file, argv: [] });
  });
});
