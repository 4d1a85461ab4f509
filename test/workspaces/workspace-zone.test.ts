/** The time zone of a workspace: it holds from the next UTC day on, and the last of several changes on a day wins. */
import { expect, it } from 'vitest';
import { dayMs, dayOf } from '../../src/model/day.ts';
import { openTestApp } from '../support/test-app.ts';

it('is counted in from the next UTC day on, whatever it was set to meanwhile', async () => {
  let nowMs = Date.UTC(2026, 5, 10, 12);
  const app = await openTestApp({
    clock: { now: () => nowMs, monotonicMs: () => performance.now() },
  });
  const { workspaces } = app.workspaces;
  const today = dayOf(nowMs);
  const set = async (timezone: string): Promise<unknown> => {
    const { zoneSinceDay, zoneBefore } = await workspaces.change(1, { timezone });
    return [timezone, zoneSinceDay, zoneBefore];
  };
  expect(workspaces.get(1).timezone).toBeUndefined();
  expect(await set('Europe/Berlin')).toEqual(['Europe/Berlin', today + 1, 'UTC']);
  expect(await set('Asia/Tokyo')).toEqual(['Asia/Tokyo', today + 1, 'UTC']);
  nowMs += dayMs;
  // Tokyo has begun: it is what today is counted in.
  expect(await set('America/New_York')).toEqual(['America/New_York', today + 2, 'Asia/Tokyo']);
  expect(await set('America/New_York')).toEqual(['America/New_York', today + 2, 'Asia/Tokyo']);
  nowMs += 5 * dayMs;
  expect(await set('UTC')).toEqual(['UTC', today + 7, 'America/New_York']);
  const { weekStart, name } = await workspaces.change(1, { weekStart: 'sun', name: 'Shop' });
  expect([weekStart, name, workspaces.get(1).timezone]).toEqual(['sun', 'Shop', 'UTC']);
});
