/** The cookie over https, and the queue and throttle that stand before a password hash. */
import { describe, expect, test } from 'vitest';
import { SessionCookie } from '../../src/api/workspaces/cookie.ts';
import { HashQueue } from '../../src/workspaces/hash-queue.ts';
import { SignInThrottle } from '../../src/workspaces/sign-in-throttle.ts';
import { HandClock } from '../store/temporary-management.ts';

test('over https the cookie is Secure and bound to this host', () => {
  const cookie = new SessionCookie('https://qr.example.com');
  expect(cookie.begin('s')).toBe(
    '__Host-quietzone=s; Max-Age=2592000; Path=/; HttpOnly; SameSite=Lax; Secure',
  );
  expect(cookie.end()).toMatch(/^__Host-quietzone=; Max-Age=0; .*Secure$/);
});

describe('HashQueue', () => {
  test('runs a few at a time, lets a few wait, refuses the rest', async () => {
    const queue = new HashQueue(2, 3);
    let [running, most] = [0, 0];
    const work = async (): Promise<void> => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running -= 1;
    };
    const all = await Promise.allSettled(Array.from({ length: 9 }, () => queue.run(work)));
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
    expect(most).toBe(2);
    await expect(queue.run(work)).resolves.toBeUndefined();
  });
});

describe('SignInThrottle', () => {
  const attempt = (throttle: SignInThrottle, account: string, address: string): number => {
    try {
      throttle.begin(account, address);
      return 0;
    } catch (error) {
      return error instanceof Error && 'retryAfterSeconds' in error
        ? Number(error.retryAfterSeconds)
        : -1;
    }
  };

  test('doubles the wait with each failure, up to its bound', () => {
    const clock = new HandClock();
    const throttle = new SignInThrottle(clock);
    const waits: number[] = [];
    for (let tries = 0; tries < 14; tries += 1) {
      attempt(throttle, 'a', `192.0.2.${tries}`);
      const waitSeconds = attempt(throttle, 'a', '198.51.100.1');
      waits.push(waitSeconds);
      clock.move(waitSeconds * 1_000);
      if (waitSeconds === 0) continue;
    }
    expect(waits.at(-1)).toBe(60);
    expect(waits.filter((wait, at) => at > 0 && wait < (waits[at - 1] ?? 0))).toEqual([]);
  });

  test('is per address too, forgives a success, forgets after an hour, and is bounded', () => {
    const clock = new HandClock();
    const throttle = new SignInThrottle(clock, 100);
    for (let tries = 0; tries < 20; tries += 1) attempt(throttle, `u${tries}`, '192.0.2.1');
    expect(attempt(throttle, 'fresh', '192.0.2.1')).toBeGreaterThan(0);
    expect(attempt(throttle, 'fresh', '192.0.2.2')).toBe(0);
    for (let tries = 0; tries < 30; tries += 1) throttle.begin('good', '192.0.2.3').succeed();
    clock.move(3_600_000);
    expect(attempt(throttle, 'fresh', '192.0.2.1')).toBe(0);
    for (let tries = 0; tries < 1_000; tries += 1)
      attempt(throttle, `n${tries}`, `10.0.${tries >> 8}.${tries & 255}`);
    expect(attempt(throttle, 'last', '192.0.2.9')).toBe(0);
  });
});
