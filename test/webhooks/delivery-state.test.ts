/** The table of a delivery's life, and what an attempt means for it. */
import { expect, it } from 'vitest';
import { toWheelMs } from '../../src/model/wheel-time.ts';
import type { AttemptRecord } from '../../src/model/webhook.ts';
import type { RowState } from '../../src/store/delivery/delivery.ts';
import {
  decide,
  deliveryEvents,
  deliveryTransitions,
  shouldDisable,
  statsAfter,
} from '../../src/webhooks/deliveries/delivery.ts';

const states = ['pending', 'dead', 'canceled'] as const satisfies RowState[];
const day = 86_400_000;
const failed: AttemptRecord = { atMs: 1_000, durationMs: 20, status: 500, failure: 'status' };
const succeeded: AttemptRecord = { atMs: 1_000, durationMs: 20, status: 204 };
const fresh = { counts: { pending: 1, delivered: 0, dead: 0, canceled: 0 }, failuresInRow: 0 };

it('decides every cell, and sends again what ended only by a replay', () => {
  for (const state of states) {
    for (const event of deliveryEvents) {
      const next = deliveryTransitions[state][event];
      expect([...states, 'delivered', 'deleted', 'stays']).toContain(next);
      if (state !== 'pending' && next === 'pending')
        expect([state, event]).toEqual(['dead', 'replayed']);
      // A pending delivery is not deleted: it is delivered, dead or canceled first.
      if (state === 'pending') expect(next).not.toBe('deleted');
      // What was delivered is in the log, for good.
      expect(next === 'delivered').toBe(state === 'pending' && event === 'succeeded');
    }
  }
});

it('decides by the answer and by the number of attempts before', () => {
  const delays = [10, 20];
  expect(decide(succeeded, 0, delays, 0)).toEqual({ event: 'succeeded', delayMs: 0 });
  expect(decide(failed, 0, delays, 0)).toEqual({ event: 'failed', delayMs: 10 });
  expect(decide(failed, 1, delays, 1)).toEqual({ event: 'failed', delayMs: 22 });
  expect(decide(failed, 2, delays, 0)).toEqual({ event: 'exhausted', delayMs: 0 });
  expect(decide({ ...failed, status: 410 }, 0, delays, 0).event).toBe('gone');
  for (const [status, retryAfterMs, delayMs] of [
    [429, 5, 20],
    [503, 30, 30],
    [503, 1e12, 40],
    [500, 30, 20],
  ] as const) {
    const attempt = { ...failed, status, retryAfterMs };
    expect(decide(attempt, 1, delays, 0)).toEqual({ event: 'failed', delayMs });
  }
});

it('disables an endpoint after 20 failures and five days without a success, not before', () => {
  let stats = statsAfter(fresh, failed, toWheelMs(0));
  for (let count = 1; count < 19; count++) stats = statsAfter(stats, failed, toWheelMs(count));
  expect(shouldDisable(stats, toWheelMs(9 * day))).toBe(false);
  stats = statsAfter(stats, failed, toWheelMs(5 * day - 1));
  expect(stats.failuresInRow).toBe(20);
  expect(shouldDisable(stats, toWheelMs(5 * day - 1))).toBe(false);
  expect(shouldDisable(stats, toWheelMs(5 * day))).toBe(true);
  const after = statsAfter(stats, succeeded, toWheelMs(5 * day));
  expect(after).toMatchObject({ failuresInRow: 0, lastSuccessAtMs: 1_020 });
  expect(shouldDisable(statsAfter(after, failed, toWheelMs(6 * day)), toWheelMs(12 * day))).toBe(
    false,
  );
});
