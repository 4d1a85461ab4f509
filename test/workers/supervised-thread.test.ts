/** A supervised thread is always there: started again with a fresh setup, until it is told to stop. */
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
  const reports: string[] = [];
  const deaths: string[] = [];
  let starts = 0;
  thread = new SupervisedThread({
    file,
    setup: () => setup(++starts),
    onReport: (report: string) => reports.push(report),
    onDeath: (reason) => deaths.push(reason),
    clock,
  });
  return { thread, reports, deaths, starts: () => starts };
}

describe('SupervisedThread', () => {
  it.each([
    ['throw', 'thrown for the test'],
    ['reject', 'rejected for the test'],
    ['exit', 'ended without a word'],
  ])('starts again after %s, with a setup of its own', async (end, reason) => {
    const { thread, reports, deaths } = create();
    await thread.start();
    for (let round = 1; round <= 3; round++) {
      await expect.poll(() => reports, soon).toContain(`started ${round}`);
      thread.tell(`ping ${round}`);
      await expect.poll(() => reports, soon).toContain(`answer to ping ${round}`);
      thread.tell(end);
      await expect.poll(() => deaths.length, soon).toBe(round);
      expect(deaths.at(-1)).toContain(reason);
      expect(thread.restarts).toBe(round);
    }
  });

  it('goes on trying when a setup fails', async () => {
    const { thread, reports, deaths } = create((number) => {
      if (number === 2 || number === 3) throw new Error('no setup yet');
      return { number };
    });
    await thread.start();
    thread.tell('exit');
    await expect.poll(() => reports, soon).toContain('started 4');
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
    thread.tell('exit');
    await expect.poll(() => failuresAtMs.length, soon).toBeGreaterThanOrEqual(4);
    expect(failuresAtMs[3]! - failuresAtMs[0]!).toBeGreaterThan(40 + 80 + 160 - 10);
    expect(deaths.length).toBeGreaterThanOrEqual(4);
  });

  it('tells whoever starts it first when the setup fails', async () => {
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
    const { thread, reports } = create();
    await thread.start();
    await expect.poll(() => reports, soon).toContain('started 1');
    thread.tell('hang');
    thread.tell('ping');
    // It hears nothing any more: without the cut this would never end.
    await thread.stop('stop', 200);
    expect(reports).toEqual(['started 1']);
  });

  it('does not start once more when it is stopped between death and restart', async () => {
    const { thread, deaths, starts } = create();
    await thread.start();
    thread.tell('exit');
    await expect.poll(() => deaths.length, { ...soon, interval: 1 }).toBe(1);
    await thread.stop('stop', 20_000);
    const before = starts();
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect([starts(), deaths.length]).toEqual([before, 1]);
  });
});
