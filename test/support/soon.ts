import { setTimeout as pause } from 'node:timers/promises';
import { dayMs } from '../../src/model/day.ts';

/**
 * How long tests wait for what happens by itself: for `expect.poll` and `vi.waitFor`, whose own second is too
 * short for a thread, a commit or a sync on a machine that is busy. It ends a hang and nothing else: what
 * comes, comes at once. However long it takes, what asks the API meanwhile stays below the 600 requests that a
 * minute of the plan has: refused, it would not see what it waits for.
 */
export const soon = { timeout: 30_000, interval: 60 };

/** More than a file of tests takes on a busy machine. */
const neededMs = 180_000;
/** Of a hook that waits here. */
export const oneDayMs = 2 * neededMs;

/** Waits for the next UTC day where too little is left of this one: what happens today in a test also ends today. */
export async function whileOneDay(): Promise<void> {
  const leftMs = dayMs - (Date.now() % dayMs);
  if (leftMs < neededMs) await pause(leftMs);
}

/** Looks every 2 ms, for what happens by itself in this process. @throws when it does not within 45 s */
export async function eventually(
  isSo: () => boolean | Promise<boolean>,
  what: string,
): Promise<void> {
  const deadlineMs = performance.now() + 45_000;
  while (!(await isSo())) {
    if (performance.now() > deadlineMs) throw new Error(`Not so within 45 s: ${what}`);
    await pause(2);
  }
}
