import { expect, it } from 'vitest';
import { systemTimers } from '../../src/system-clock.ts';

it('systemTimers run what is due, never before, and not what was cancelled', async () => {
  const startedMs = systemTimers.monotonicMs();
  const early: number[] = [];
  const due = Array.from({ length: 50 }, async (_, at) => {
    const ms = at * 0.4;
    await new Promise<void>((resolve) => void systemTimers.after(ms, resolve));
    const tookMs = systemTimers.monotonicMs() - startedMs;
    if (tookMs < ms) early.push(tookMs - ms);
  });
  systemTimers.after(5, () => early.push(5))();
  // Timers do not keep a process alive: here the runner of tests does.
  await Promise.all(due);
  expect(early).toEqual([]);
});
