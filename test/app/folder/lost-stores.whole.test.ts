/** A data file that LMDB refuses to a whole process ends it, with one line, and has all that was committed. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished, vi } from 'vitest';
import { watchLostStores } from '../../../src/app/metrics/stored-data.ts';
import { Signal } from '../../../src/model/signal.ts';
import { StoreEnvironment } from '../../../src/store/environment.ts';
import { createLog } from '../../../src/platform/log.ts';
import { temporaryFolder } from '../../store/temporary-management.ts';

const worker = fileURLToPath(new URL('lost-store.worker.ts', import.meta.url));

it('a meta page that cannot be written ends the process in words, and loses nothing', async () => {
  const path = join(temporaryFolder(), 'texts.mdb');
  const { signal, stderr } = spawnSync(process.execPath, [worker, path], { encoding: 'utf8' });
  expect(signal, stderr).toBe('SIGKILL');
  expect(stderr.match(/"level":"fatal"/g), stderr).toHaveLength(1);
  expect(stderr).toContain('LMDB gave up the file');
  expect(stderr).toContain(path);
  const environment = new StoreEnvironment(path);
  const table = environment.table<number, string>('texts');
  expect([environment.isLost, table.get(1), table.get(2)]).toEqual([false, 'kept', 'committed']);
  await environment.close();
});

it('a commit that another thread was refused is looked at before that thread tries again', async () => {
  const environment = new StoreEnvironment(join(temporaryFolder(), 'texts.mdb'), 'create');
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
  const isLost = vi.spyOn(environment, 'isLost', 'get').mockReturnValue(false);
  const refused = new Signal();
  const log = createLog('silent', process.stderr);
  const end = watchLostStores([environment], log, refused);
  onTestFinished(async () => {
    end();
    vi.restoreAllMocks();
    await environment.close();
  });
  refused.fire();
  expect(kill).not.toHaveBeenCalled();
  isLost.mockReturnValue(true);
  refused.fire();
  expect(kill).toHaveBeenCalledWith(process.pid, 'SIGKILL');
});
