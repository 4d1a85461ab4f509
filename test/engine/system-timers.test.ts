import { expect, it } from 'vitest';
import { systemTimers } from '../../src/system-clock.ts';

it('systemTimers run what is due, never before, and not what was cancelled', async () => {
  const startedMs = systemTimers.monotonicMs();
  const early: number[] = [];
  const waits = Array.from({ length: 50 }, (_, at) => at * 0.4);
  const due = waits.map(
    (ms) =>
      new Promise<void>((resolve) => {
        systemTimers.after(ms, () => {
          const tookMs = systemTimers.monotonicMs() - startedMs;
          if (tookMs < ms) early.push(tookMs - ms);
          resolve();
        });
      }),
  );
  const cancel = systemTimers.after(5, () => early.push(5));
  cancel();
  cancel();
  // Timers do not keep a process alive: here the runner of tests does.
  await Promise.all(due);
  expect(early).toEqual([]);
});
