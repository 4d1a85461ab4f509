/** The pool with real threads that refuse, throw, die and are cut off. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { Failure } from '../../../src/model/failure.ts';
import {
  createPool,
  type Pool,
  type PoolOptions,
  WorkerDied,
} from '../../../src/platform/workers/pool.ts';
import { soon } from '../../support/soon.ts';
import type { Probe } from './probe.worker.ts';

const file = new URL('./probe.worker.ts', import.meta.url);
const opened: Array<Pool<Probe, string>> = [];
const open = (options: Partial<PoolOptions> = {}): Pool<Probe, string> => {
  const pool = createPool<Probe, string>({ file, threads: 1, queueMax: 1, ...options });
  opened.push(pool);
  return pool;
};
const echo = (text: string): Probe => ({ kind: 'echo', text });

/** A task that waits until it is released. */
function createWait(): { readonly task: Probe; readonly release: () => void } {
  const gate = new Int32Array(new SharedArrayBuffer(4));
  return {
    task: { kind: 'wait', gate },
    release: () => {
      Atomics.store(gate, 0, 1);
      Atomics.notify(gate, 0);
    },
  };
}

afterEach(async () => {
  for (const pool of opened.splice(0)) await pool.close();
});

it('run returns the result, the Failure or the defect of the work', async () => {
  const pool = open();
  expect(await pool.run(echo('hello'))).toBe('hello');
  const refused = pool.run({ kind: 'refuse' });
  await expect(refused).rejects.toBeInstanceOf(Failure);
  await expect(refused).rejects.toMatchObject({
    code: 'not_found',
    message: 'nothing there',
    retryAfterSeconds: 7,
    faults: [{ path: 'id', code: 'unknown', message: 'unknown' }],
  });
  await expect(pool.run({ kind: 'throw' })).rejects.toThrow('a defect');
  expect(await pool.run(echo('still here'))).toBe('still here');
  expect(pool.stats().deaths).toBe(0);
});

it('a pool lowers the priority of its threads, where the system allows it', async () => {
  const [mine, lowest] = [getPriority(0), 19];
  const theirs = Number(await open().run({ kind: 'priority' }));
  expect(theirs).toBe(process.platform === 'linux' ? Math.min(lowest, Math.max(mine, 5)) : mine);
  expect(getPriority(0)).toBe(mine);
});

it('several tasks run on a thread side by side, and one more than fit waits or is refused', async () => {
  const pool = open({ tasksPerThread: 3 });
  const { task, release } = createWait();
  const waits = [1, 2].map(() => pool.run(task));
  expect(await pool.run(echo('beside them'))).toBe('beside them');
  const more = [3, 4].map(() => pool.run(task));
  expect(pool.stats()).toMatchObject({ running: 3, waiting: 1 });
  await expect(pool.run(echo('x'))).rejects.toMatchObject({
    code: 'overloaded',
    retryAfterSeconds: 1,
  });
  release();
  await Promise.all([...waits, ...more]);
  expect(pool.stats()).toMatchObject({ running: 0, waiting: 0 });
});

it('a thread that dies rejects its tasks with WorkerDied, is one death, and its successor runs those behind it', async () => {
  const pool = open({ tasksPerThread: 3, queueMax: 100 });
  for (const [before, kind] of (['exit', 'crash'] as const).entries()) {
    await pool.run(echo('started'));
    const { task } = createWait();
    const probes = [task, task, { kind } as const, ...Array.from({ length: 30 }, () => echo('x'))];
    const ends = await Promise.allSettled(probes.map((probe) => pool.run(probe)));
    const died = ends.filter((end) => end.status === 'rejected');
    expect(died.every(({ reason }) => reason instanceof WorkerDied)).toBe(true);
    expect(ends.slice(0, 3).map(({ status }) => status)).toEqual(died.map(() => 'rejected'));
    expect(pool.stats()).toMatchObject({ running: 0, waiting: 0, deaths: before + 1 });
    expect(await pool.run(echo('replaced'))).toBe('replaced');
  }
});

it('threads that cannot start leave no task waiting, and the next task gets one when they can', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quietzone-pool-'));
  try {
    const path = join(folder, 'late.mjs');
    const pool = open({ file: pathToFileURL(path), queueMax: 10 });
    const tasks = Array.from({ length: 6 }, () => pool.run(echo('lost')));
    const ends = await Promise.allSettled(tasks);
    for (const end of ends) {
      expect(end).toMatchObject({ reason: { cause: { code: 'ERR_MODULE_NOT_FOUND' } } });
    }
    await expect(pool.run(echo('lost'))).rejects.toBeInstanceOf(WorkerDied);
    expect(pool.stats()).toMatchObject({ running: 0, waiting: 0 });
    writeFileSync(path, "export default ({ text }) => ({ kind: 'done', value: text });");
    expect(await pool.run(echo('late'))).toBe('late');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('an idle pool ends its last thread, which is no death, and the next task starts another', async () => {
  const pool = open({ restMs: 1 });
  const first = await pool.run({ kind: 'thread' });
  const next = () => pool.run({ kind: 'thread' });
  await expect.poll(next, { ...soon, interval: 100 }).not.toBe(first);
  expect(pool.stats().deaths).toBe(0);
});

it('an idle pool keeps a thread where one is asked for', async () => {
  const pool = open({ restMs: 60_000 });
  pool.warm();
  const first = await pool.run({ kind: 'thread' });
  pool.warm();
  expect(await pool.run({ kind: 'thread' })).toBe(first);
});

it('close lets running tasks end and refuses later ones', async () => {
  const pool = open();
  await pool.run(echo('started'));
  const { task, release } = createWait();
  const running = pool.run(task);
  const closed = pool.close();
  release();
  await closed;
  await expect(running).resolves.toBe('waited');
  await expect(pool.run(echo('late'))).rejects.toThrow(/closed/);
});

it('close cuts off tasks that run for too long, which is no death', async () => {
  const causes: unknown[] = [];
  const onDeath = (cause: unknown): void => void causes.push(cause);
  const pool = open({ queueMax: 0, tasksPerThread: 3, closeMsMax: 50, onDeath });
  await pool.run(echo('started'));
  const { task } = createWait();
  const waits = [1, 2, 3].map(() => pool.run(task));
  const [ends] = await Promise.all([Promise.allSettled(waits), pool.close()]);
  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect([causes, pool.stats().deaths]).toEqual([[], 0]);
});
