import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  addressQuota,
  MemoryQuota,
  sessionLimits,
} from '../../../src/product/workspaces/memory-quota.ts';
import { Quota } from '../../../src/product/workspaces/quota.ts';
import type { QuotaAnswer } from '../../../src/product/workspaces/window-count.ts';
import { temporaryManagement } from '../../store/temporary-management.ts';
import { TestClock } from '../../support/fakes/test-clock.ts';

const minute = 60_000;
const day = 86_400_000;
const noon = Date.UTC(2026, 2, 4, 12, 0, 0);

function openQuota() {
  const temporary = temporaryManagement();
  const clock = new TestClock(noon + 15_000);
  const quota = new Quota(temporary.store, clock);
  // Before the store: otherwise it tries to write to a closed one ten times a second, as long as the process lives.
  onTestFinished(() => quota.close());
  return { temporary, clock, quota };
}

function takeAll(take: () => QuotaAnswer): number {
  for (let taken = 0; ; taken++) if (!take().allowed) return taken;
}

describe('Quota', () => {
  test('counts down the minute, refuses, and tells when it ends', () => {
    const { quota, clock } = openQuota();
    const limits = { perMinute: 3, perDay: 100 };
    const resetAtSeconds = (noon + minute) / 1_000;
    const left = [2, 1, 0].map((remaining) => ({
      allowed: true,
      limit: 3,
      remaining,
      resetAtSeconds,
    }));
    expect([1, 2, 3].map(() => quota.take(1, limits))).toStrictEqual(left);
    const refused = {
      allowed: false,
      limit: 3,
      remaining: 0,
      resetAtSeconds,
      code: 'rate_limited',
      retryAfterSeconds: 45,
    };
    expect(quota.take(1, limits)).toStrictEqual(refused);
    expect(quota.take(2, limits).allowed).toBe(true);
    clock.move(45_000);
    expect(quota.take(1, limits)).toMatchObject({ allowed: true, remaining: 2 });
  });

  test('shows the day when less is left of it', () => {
    const { quota, clock } = openQuota();
    const limits = { perMinute: 3, perDay: 5 };
    const seen = Array.from({ length: 7 }, () => {
      clock.move(30_000);
      const { allowed, limit, remaining, code = '' } = quota.take(1, limits);
      return `${allowed} ${limit} ${remaining} ${code}`.trim();
    });
    expect(seen).toEqual([
      'true 3 2',
      'true 3 2',
      'true 3 1',
      'true 5 1',
      'true 5 0',
      'false 5 0 daily_cap_reached',
      'false 5 0 daily_cap_reached',
    ]);
    expect(quota.take(1, limits)).toMatchObject({
      resetAtSeconds: (Math.floor(noon / day) + 1) * 86_400,
      retryAfterSeconds: Math.ceil(day / 2_000 - 225),
    });
  });

  test('sleeping exactly Retry-After gives another request', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: minute - 1 }), (offsetMs) => {
        const clock = new TestClock(noon + offsetMs);
        const quota = addressQuota(clock, 8);
        expect(takeAll(() => quota.take('192.0.2.1'))).toBe(20);
        clock.move((quota.take('192.0.2.1').retryAfterSeconds ?? 0) * 1_000);
        expect(quota.take('192.0.2.1').allowed).toBe(true);
      }),
    );
  });

  test('minute and day go on after a restart', async () => {
    const { temporary, quota, clock } = openQuota();
    const limits = { perMinute: 10, perDay: 25 };
    for (let at = 0; at < 7; at++) quota.take(1, limits);
    await quota.close();
    await temporary.reopen();
    const next = new Quota(temporary.store, clock);
    expect(takeAll(() => next.take(1, limits))).toBe(3);
    clock.move(minute);
    expect(takeAll(() => next.take(1, limits))).toBe(10);
    clock.move(minute);
    expect(takeAll(() => next.take(1, limits))).toBe(5);
    await next.close();
  });

  test('no step of the clock lets more than the limit into one window', () => {
    const steps = fc.array(
      fc.constantFrom(0, 1_000, 61_000, -61_000, 3_600_000, -3_600_000, 365 * day, -365 * day),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(steps, (moves) => {
        const clock = new TestClock(noon);
        const quota = addressQuota(clock, 8);
        const accepted = new Map<number, number>();
        let visited: number[] = [];
        for (const byMs of moves) {
          clock.move(byMs);
          const window = Math.floor(clock.now() / minute);
          visited = [window, ...visited.filter((one) => one !== window)];
          // Four windows are remembered: one that was left longer ago may begin anew.
          for (const old of visited.slice(5)) accepted.delete(old);
          const taken = takeAll(() => quota.take('192.0.2.1'));
          accepted.set(window, (accepted.get(window) ?? 0) + taken);
          expect(accepted.get(window)).toBeLessThanOrEqual(20);
        }
      }),
    );
  });

  test('a clock that was a year ahead for a while locks nobody out', () => {
    const { quota, clock } = openQuota();
    const limits = { perMinute: 5, perDay: 10 };
    clock.move(365 * day);
    expect(takeAll(() => quota.take(1, limits))).toBe(5);
    clock.move(-365 * day);
    expect(takeAll(() => quota.take(1, limits))).toBe(5);
  });

  test('60,000 workspaces stay within bounds and keep their counts', async () => {
    const { quota, temporary } = openQuota();
    const limits = { perMinute: 5, perDay: 10 };
    for (let no = 1; no <= 60_000; no++) {
      quota.take(no, limits);
      if (no % 20_000 !== 0) continue;
      await expect.poll(() => temporary.store.quota.get(no)).toBeDefined();
    }
    expect(quota.peek(1, limits).remaining).toBe(4);
    expect(quota.peek(60_000, limits).remaining).toBe(4);
  });
});

test('MemoryQuota gives each address a bucket of the size of Free', () => {
  const quota = addressQuota(new TestClock(noon), 8);
  expect(quota.take('192.0.2.1')).toMatchObject({ limit: 20, remaining: 19 });
  expect(takeAll(() => quota.take('192.0.2.1'))).toBe(19);
  expect(takeAll(() => quota.take('::ffff:192.0.2.1'))).toBe(0);
  expect(takeAll(() => quota.take('2001:db8::1'))).toBe(20);
  expect(takeAll(() => quota.take('2001:db8:0:0:ffff::'))).toBe(0);
  expect(takeAll(() => quota.take('2001:db8:0:1::1'))).toBe(20);
});

test('MemoryQuota holds a bounded number of buckets', () => {
  const quota = addressQuota(new TestClock(noon), 2);
  expect(takeAll(() => quota.take('192.0.2.1'))).toBe(20);
  quota.take('192.0.2.2');
  quota.take('192.0.2.3');
  expect(quota.take('192.0.2.2').remaining).toBe(18);
});

test('MemoryQuota gives each person in the dashboard 600 a minute, and no cap a day', () => {
  const clock = new TestClock(noon);
  const quota = new MemoryQuota(clock, sessionLimits);
  for (let at = 0; at < 3; at++) {
    expect(takeAll(() => quota.take('usr_a'))).toBe(600);
    expect(quota.take('usr_a')).toMatchObject({ code: 'rate_limited', retryAfterSeconds: 60 });
    expect(quota.take('usr_b').remaining).toBe(599);
    clock.move(minute);
  }
});
