/** A data file that LMDB refuses to a whole process ends it, with one line, and has all that was committed. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { StoreEnvironment } from '../../src/store/environment.ts';

const worker = fileURLToPath(new URL('lost-store.worker.ts', import.meta.url));

it('a meta page that cannot be written ends the process in words, and loses nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quietzone-lost-'));
  try {
    const path = join(folder, 'texts.mdb');
    const { signal, stderr } = spawnSync(process.execPath, [worker, path], { encoding: 'utf8' });
    expect(signal, stderr).toBe('SIGKILL');
    expect(stderr.match(/"level":"fatal"/g), stderr).toHaveLength(1);
    expect(stderr).toContain('LMDB gave the file up');
    expect(stderr).toContain(path);
    const environment = new StoreEnvironment(path);
    const table = environment.table<number, string>('texts');
    expect([environment.isLost, table.get(1), table.get(2)]).toEqual([false, 'kept', 'committed']);
    await environment.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
