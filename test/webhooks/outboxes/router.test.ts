/** An outbox that does not move is seen, whatever keeps it. */
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { WheelClock } from '../../../src/webhooks/deliveries/retry-wheel.ts';
import { Router } from '../../../src/webhooks/outboxes/router.ts';
import { ScanOutbox } from '../../../src/webhooks/outboxes/scan-outbox.ts';
import { TestClock } from '../../support/fakes/test-clock.ts';
import { codeOf, openScanEngine } from './scan-engine.ts';

function openRouter(route: () => boolean) {
  const clock = new TestClock();
  const outbox = { unreadCount: 0, newest: 7 };
  const scans = openScanEngine().store;
  class Outbox extends ScanOutbox {
    override get newest(): number {
      return outbox.newest;
    }
  }
  const router = new Router({
    feeds: { route, unreadCount: () => outbox.unreadCount },
    reader: new Outbox({ scans, codeOf, clock: new WheelClock(clock, clock, undefined) }),
    clock,
    log: pino({ level: 'silent' }),
  });
  onTestFinished(async () => await router.close());
  return { clock, outbox, router };
}

it('is behind while each step fails', () => {
  const { clock, router } = openRouter(() => {
    throw new RangeError('Invalid time value');
  });
  router.wake();
  clock.move(61_000);
  expect(router.behindMs).toBe(61_000);
});

it('is behind where no step ever runs, and not for what has just come', () => {
  const { clock, outbox, router } = openRouter(() => false);
  clock.move(300_000);
  expect(router.behindMs).toBe(0);
  outbox.newest = 8;
  outbox.unreadCount = 1;
  clock.move(61_000);
  expect(router.behindMs).toBe(61_000);
  outbox.newest = 9;
  expect(router.behindMs).toBe(0);
});
