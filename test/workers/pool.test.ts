/** The pool against real threads that refuse, throw, die and run out of memory. */
import { getPriority } from 'node:os';
import { afterEach, describe, expect, it } from 'vitest';
import { Failure } from '../../src/model/failure.ts';
import { createPool, WorkerDied, type Pool } from '../../src/workers/pool.ts';
import type { Probe } from './probe.worker.ts';

const file = new URL('./probe.worker.ts', import.meta.url);
const opened: Array<Pool<Probe, string>> = [];
const open = (threads: number, queueMax: number): Pool<Probe, string> => {
  const pool = createPool<Probe, string>({ file, threads, queueMax });
  opened.push(pool);
  return pool;
};
const echo = (text: string): Probe => ({ kind: 'echo', text });

afterEach(async () => {
  for (const pool of opened.splice(0)) await pool.close();
});

describe('run', () => {
  it('gives back what the thread made', async () => {
    expect(await open(1, 1).run(echo('hello'))).toBe('hello');
  });

  it('runs at a lower priority than the other threads, where the system lets it', async () => {
    const [mine, lowest] = [getPriority(0), 19];
    const theirs = Number(await open(1, 1).run({ kind: 'priority' }));
    expect(theirs).toBe(process.platform === 'linux' ? Math.min(lowest, Math.max(mine, 5)) : mine);
    expect(getPriority(0)).toBe(mine);
  });

  it('gives back a Failure as the same Failure', async () => {
    const refused = open(1, 1).run({ kind: 'refuse' });
    await expect(refused).rejects.toBeInstanceOf(Failure);
    await expect(refused).rejects.toMatchObject({
      code: 'not_found',
      message: 'nothing there',
      retryAfterSeconds: 7,
      faults: [{ path: 'id', code: 'unknown', message: 'unknown' }],
    });
  });

  it('gives back a defect with its text, and the thread lives on', async () => {
    const pool = open(1, 1);
    await expect(pool.run({ kind: 'throw' })).rejects.toThrow('a defect');
    expect(await pool.run(echo('still here'))).toBe('still here');
    expect(pool.stats().deaths).toBe(0);
  });

  it('refuses above threads + queueMax, and counts what runs and waits', async () => {
    const pool = open(1, 2);
    const tasks = Array.from({ length: 3 }, () => pool.run({ kind: 'wait', ms: 20 }));
    expect(pool.stats()).toMatchObject({ running: 1, waiting: 2, utilisation: 1 });
    await expect(pool.run(echo('x'))).rejects.toMatchObject({
      code: 'overloaded',
      retryAfterSeconds: 1,
    });
    await Promise.all(tasks);
    expect(pool.stats()).toMatchObject({ running: 0, waiting: 0, utilisation: 0, completed: 3 });
    expect(await pool.run(echo('capacity again'))).toBe('capacity again');
  });
});

describe('several tasks on a thread', () => {
  const openShared = (queueMax: number): Pool<Probe, string> => {
    const pool = createPool<Probe, string>({ file, threads: 1, queueMax, tasksPerThread: 3 });
    opened.push(pool);
    return pool;
  };

  it('run side by side, and one more than fit waits or is refused', async () => {
    const pool = openShared(1);
    await pool.run(echo('warm'));
    // So long that it is under way until the end of what is looked at, whatever holds this thread up.
    const long = pool.run({ kind: 'wait', ms: 1_500 });
    expect(await Promise.race([long, pool.run(echo('beside it'))])).toBe('beside it');
    const more = Array.from({ length: 3 }, () => pool.run({ kind: 'wait', ms: 20 }));
    expect(pool.stats()).toMatchObject({ threads: 1, running: 3, waiting: 1, utilisation: 1 });
    await expect(pool.run(echo('x'))).rejects.toMatchObject({ code: 'overloaded' });
    await Promise.all([long, ...more]);
  });

  it('all end with their thread, which is one death', async () => {
    const pool = openShared(10);
    await pool.run(echo('warm'));
    const waits = [1, 2].map(() => pool.run({ kind: 'wait', ms: 5_000 }));
    const all = await Promise.allSettled([...waits, pool.run({ kind: 'exit' })]);
    expect(all.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(pool.stats()).toMatchObject({ running: 0, deaths: 1 });
    expect(await pool.run(echo('replaced'))).toBe('replaced');
  });
});

it('closing cuts off what still runs, and that is nobody’s death', async () => {
  const deaths: unknown[] = [];
  const onDeath = (cause: unknown): void => void deaths.push(cause);
  const pool = createPool<Probe, string>({
    file,
    threads: 1,
    queueMax: 0,
    tasksPerThread: 3,
    closeMsMax: 50,
    onDeath,
  });
  await pool.run(echo('warm'));
  const waits = [1, 2, 3].map(() => pool.run({ kind: 'wait', ms: 60_000 }));
  const [ends] = await Promise.all([Promise.allSettled(waits), pool.close()]);
  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect([deaths, pool.stats().deaths]).toEqual([[], 0]);
});

describe('a thread that dies', () => {
  it.each(['exit', 'crash'] as const)(
    'by %s rejects its task with WorkerDied and is replaced',
    async (kind) => {
      const pool = open(1, 10);
      await expect(pool.run({ kind })).rejects.toBeInstanceOf(WorkerDied);
      expect(await pool.run(echo('replaced'))).toBe('replaced');
      expect(pool.stats().deaths).toBe(1);
    },
  );

  it('leaves nobody waiting: the tasks behind it are run by its successor', async () => {
    const pool = open(2, 100);
    const deaths: Probe[] = [{ kind: 'exit' }, { kind: 'exit' }, { kind: 'exit' }];
    const probes = [...deaths, ...Array.from({ length: 30 }, (_, i) => echo(`${i}`))];
    const results = await Promise.allSettled(probes.map((probe) => pool.run(probe)));
    const died = results.filter((result) => result.status === 'rejected');
    expect(died.every(({ reason }) => reason instanceof WorkerDied)).toBe(true);
    expect(pool.stats()).toMatchObject({ running: 0, waiting: 0, deaths: died.length });
    expect(await pool.run(echo('end'))).toBe('end');
  });
});

describe('close', () => {
  it('lets running tasks end and refuses later ones', async () => {
    const pool = open(1, 10);
    await pool.run(echo('warm'));
    const running = pool.run({ kind: 'wait', ms: 50 });
    await pool.close();
    await expect(running).resolves.toBe('waited');
    await expect(pool.run(echo('late'))).rejects.toThrow(/closed/);
    await pool.close();
  });
});
