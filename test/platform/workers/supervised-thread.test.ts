/** A supervised thread always runs: it restarts with a new setup until it is stopped. */
import { afterEach, expect, it, vi } from 'vitest';
import type { Clock } from '../../../src/model/clock.ts';
import { systemClock } from '../../../src/platform/system-clock.ts';
import { SupervisedThread } from '../../../src/platform/workers/supervised-thread.ts';
import { soon } from '../../support/soon.ts';

const file = new URL('./mortal.worker.ts', import.meta.url);
let thread: SupervisedThread<{ number: number }, string, string> | undefined;
afterEach(async () => {
  vi.useRealTimers();
  await thread?.stop('stop', 1_000);
});

/** Restarts wait for `vi.advanceTimersByTimeAsync`, which `expect.poll` would call as well. */
const holdTimers = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });

function create(
  setup: (starts: number) => { number: number } = (number) => ({ number }),
  clock: Clock = systemClock,
) {
  const messages: string[] = [];
  const deaths: string[] = [];
  const firstDeath = Promise.withResolvers<void>();
  let starts = 0;
  thread = new SupervisedThread({
    file,
    setup: () => setup(++starts),
    onMessage: (message: string) => messages.push(message),
    onDeath: (reason) => {
      deaths.push(reason);
      firstDeath.resolve();
    },
    clock,
  });
  return { thread, messages, deaths, firstDeath: firstDeath.promise, starts: () => starts };
}

it('a thread starts again after each kind of end, with a setup of its own', async () => {
  const { thread, messages, deaths } = create();
  await thread.start();
  const ends = [
    ['throw', 'thrown for the test'],
    ['reject', 'rejected for the test'],
    ['exit', 'ended without an error'],
  ] as const;
  for (const [before, [end, reason]] of ends.entries()) {
    await expect.poll(() => messages, soon).toContain(`started ${before + 1}`);
    thread.send(`ping ${before}`);
    await expect.poll(() => messages, soon).toContain(`answer to ping ${before}`);
    thread.send(end);
    await expect.poll(() => deaths.length, soon).toBe(before + 1);
    expect([deaths.at(-1), thread.restarts]).toEqual([expect.stringContaining(reason), before + 1]);
  }
  await expect.poll(() => messages, soon).toContain('started 4');
});

it('a thread retries a setup that fails, each time after twice the wait, up to a second', async () => {
  let isReady = false;
  let ms = 0;
  // Each setup takes 20 s: what counts is how long the thread ran.
  const { thread, messages, deaths, firstDeath, starts } = create(
    (number) => {
      ms += 20_000;
      if (number === 1 || isReady) return { number };
      throw new Error('no setup yet');
    },
    { now: () => ms, monotonicMs: () => ms },
  );
  await thread.start();
  holdTimers();
  thread.send('exit');
  await firstDeath;
  const waitsMs = [20, 40, 80, 160, 320, 640, 1_000, 1_000];
  for (const [failures, waitMs] of waitsMs.entries()) {
    await vi.advanceTimersByTimeAsync(waitMs - 1);
    expect(starts()).toBe(failures + 1);
    await vi.advanceTimersByTimeAsync(1);
    expect(starts()).toBe(failures + 2);
  }
  expect(deaths.slice(1).every((reason) => reason.includes('no setup yet'))).toBe(true);
  isReady = true;
  await vi.advanceTimersByTimeAsync(1_000);
  vi.useRealTimers();
  await expect.poll(() => messages, soon).toContain(`started ${waitsMs.length + 2}`);
});

it('a thread refuses its first start when the setup fails', async () => {
  const { thread } = create(() => {
    throw new Error('cannot set up');
  });
  await expect(thread.start()).rejects.toThrow('cannot set up');
});

it('a thread stops, and is not started again', async () => {
  const { thread, deaths, starts } = create();
  holdTimers();
  await thread.start();
  await thread.stop('stop', 20_000);
  expect([deaths.length, starts(), vi.getTimerCount()]).toEqual([0, 1, 0]);
});

it('a thread is cut off when it does not stop', async () => {
  const { thread, messages } = create();
  await thread.start();
  await expect.poll(() => messages, soon).toContain('started 1');
  thread.send('hang');
  thread.send('ping');
  // It reads no message any more: without the cut-off this would never end.
  await thread.stop('stop', 20);
  expect(messages).toEqual(['started 1']);
});

it('a thread does not start once more when it is stopped between death and restart', async () => {
  const { thread, deaths, firstDeath, starts } = create();
  await thread.start();
  holdTimers();
  thread.send('exit');
  await firstDeath;
  await Promise.resolve();
  expect(vi.getTimerCount()).toBe(1);
  await thread.stop('stop', 20_000);
  expect([starts(), deaths.length, vi.getTimerCount()]).toEqual([1, 1, 0]);
});
