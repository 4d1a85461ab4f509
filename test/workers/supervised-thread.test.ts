/** A supervised thread always runs: it restarts with a new setup until it is stopped. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../src/model/clock.ts';
import { systemClock } from '../../src/system-clock.ts';
import { SupervisedThread } from '../../src/workers/supervised-thread.ts';
import { soon } from '../support/soon.ts';

const file = new URL('./mortal.worker.ts', import.meta.url);
let thread: SupervisedThread<{ number: number }, string, string> | undefined;
afterEach(async () => thread?.stop('stop', 1_000));

function create(
  setup: (starts: number) => { number: number } = (number) => ({ number }),
  clock: Clock = systemClock,
) {
  const messages: string[] = [];
  const deaths: string[] = [];
  let starts = 0;
  thread = new SupervisedThread({
    file,
    setup: () => setup(++starts),
    onMessage: (message: string) => messages.push(message),
    onDeath: (reason) => deaths.push(reason),
    clock,
  });
  return { thread, messages, deaths, starts: () => starts };
}

describe('SupervisedThread', () => {
  it.each([
    ['throw', 'thrown for the test'],
    ['reject', 'rejected for the test'],
    ['exit', 'ended without an error'],
  ])('starts again after %s, with a setup of its own', async (end, reason) => {
    const { thread, messages, deaths } = create();
    await thread.start();
    for (let round = 1; round <= 3; round++) {
      await expect.poll(() => messages, soon).toContain(`started ${round}`);
      thread.send(`ping ${round}`);
      await expect.poll(() => messages, soon).toContain(`answer to ping ${round}`);
      thread.send(end);
      await expect.poll(() => deaths.length, soon).toBe(round);
      expect(deaths.at(-1)).toContain(reason);
      expect(thread.restarts).toBe(round);
    }
  });

  it('goes on trying when a setup fails', async () => {
    const { thread, messages, deaths } = create((number) => {
      if (number === 2 || number === 3) throw new Error('no setup yet');
      return { number };
    });
    await thread.start();
    thread.send('exit');
    await expect.poll(() => messages, soon).toContain('started 4');
    expect(deaths.filter((reason) => reason.includes('no setup yet')).length).toBe(2);
  });

  it('waits longer each time while its setup fails, however long ago it last ran', async () => {
    let ms = 0;
    const failuresAtMs: number[] = [];
    const { thread, deaths } = create(
      (number) => {
        ms += 20_000;
        if (number === 1) return { number };
        failuresAtMs.push(performance.now());
        throw new Error('no setup yet');
      },
      { now: () => ms, monotonicMs: () => ms },
    );
    await thread.start();
    thread.send('exit');
    await expect.poll(() => failuresAtMs.length, soon).toBeGreaterThanOrEqual(4);
    expect(failuresAtMs[3]! - failuresAtMs[0]!).toBeGreaterThan(40 + 80 + 160 - 10);
    expect(deaths.length).toBeGreaterThanOrEqual(4);
  });

  it('refuses its first start when the setup fails', async () => {
    const { thread } = create(() => {
      throw new Error('cannot set up');
    });
    await expect(thread.start()).rejects.toThrow('cannot set up');
  });

  it('stops when asked, and is not started again', async () => {
    const { thread, deaths, starts } = create();
    await thread.start();
    await thread.stop('stop', 20_000);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect([deaths.length, starts()]).toEqual([0, 1]);
  });

  it('is cut off when it does not stop', async () => {
    const { thread, messages } = create();
    await thread.start();
    await expect.poll(() => messages, soon).toContain('started 1');
    thread.send('hang');
    thread.send('ping');
    // It reads no message any more: without the cut-off this would never end.
    await thread.stop('stop', 200);
    expect(messages).toEqual(['started 1']);
  });

  it('does not start once more when it is stopped between death and restart', async () => {
    const { thread, deaths, starts } = create();
    await thread.start();
    thread.send('exit');
    await expect.poll(() => deaths.length, { ...soon, interval: 1 }).toBe(1);
    await thread.stop('stop', 20_000);
    const before = starts();
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect([starts(), deaths.length]).toEqual([before, 1]);
  });
});
