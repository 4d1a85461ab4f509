/**
 * A feed: what is in memory stays within its bounds; model/ shows that it starts in order, once, over any number of processes.
 * The router that fills it says that an outbox does not move, whatever keeps it.
 */
import { expect, it, onTestFinished } from 'vitest';
import { pino } from 'pino';
import type { DeliveryRef, Position } from '../../../src/store/delivery/delivery.ts';
import type { Delivery } from '../../../src/webhooks/deliveries/delivery.ts';
import { Feed, type RingBytes } from '../../../src/webhooks/feeds/feed.ts';
import { deliveryOf, numberOf } from '../bare-webhooks.ts';
import { codeOf, openScanEngine } from './reader-checks.ts';
import { WheelClock } from '../../../src/webhooks/deliveries/retry-wheel.ts';
import { Router } from '../../../src/webhooks/feeds/router.ts';
import { ScanOutbox } from '../../../src/webhooks/feeds/scan-outbox.ts';
import { TestClock } from '../../support/fakes/test-clock.ts';

const at = (sequence: number): Position => [sequence, 0];

function openFeed(to = 0): { feed: Feed; bytes: RingBytes } {
  const bytes: RingBytes = { all: 0 };
  return { feed: new Feed('events', at(to), bytes), bytes };
}

function started(feed: Feed, count = 1): Delivery[] {
  return Array.from({ length: count }, () => {
    const { first } = feed;
    feed.start();
    return first!;
  });
}

const numbersOf = (deliveries: Iterable<Delivery>): number[] =>
  Array.from(deliveries, ({ id }) => numberOf(id));

it('the ring is full with 8,192, or with 8 MB of bodies, and not when some have been started', () => {
  const { feed } = openFeed();
  for (let no = 1; no <= 8_191; no++) feed.add(deliveryOf(no));
  expect(feed.isFull).toBe(false);
  feed.add(deliveryOf(8_192));
  expect([feed.isFull, feed.count, feed.unsent]).toEqual([true, 8_192, 8_192]);
  started(feed, 1);
  expect(feed.isFull).toBe(false);
  const large = openFeed().feed;
  for (let no = 1; no <= 128; no++) large.add(deliveryOf(no, 1, 65_536));
  expect(large.isFull).toBe(true);
  started(large, 1);
  expect(large.isFull).toBe(false);
});

it('the ring is counted with those of others, and leaves nothing behind', () => {
  const bytes: RingBytes = { all: 0 };
  const [one, other] = [new Feed('events', at(0), bytes), new Feed('scans', at(0), bytes)];
  for (let no = 1; no <= 10; no++) one.add(deliveryOf(no, 1, 1_000));
  const ofOne = bytes.all;
  expect(ofOne).toBeGreaterThan(10_000);
  other.add(deliveryOf(11, 1, 1_000));
  started(one, 4);
  one.free();
  expect(bytes.all).toBe(ofOne / 10);
  started(other);
  expect(bytes.all).toBe(0);
});

it('a feed that lags reads on from the end of its ring until it has all that was routed', () => {
  const { feed } = openFeed();
  for (const no of [1, 2, 5]) feed.add(deliveryOf(no));
  feed.fallBehind();
  for (let no = 6; no <= 9; no++) feed.skip(1);
  expect([feed.isLagging, feed.readTo, feed.unsent]).toEqual([true, at(5), 7]);
  for (const no of [6, 7]) feed.add(deliveryOf(no));
  feed.read(at(7), 2, at(9));
  expect([feed.isLagging, feed.unsent]).toEqual([true, 7]);
  for (const no of [8, 9]) feed.add(deliveryOf(no));
  feed.read(at(9), 2, at(9));
  expect([feed.isLagging, feed.unsent]).toEqual([false, 7]);
  expect(numbersOf(started(feed, 7))).toEqual([1, 2, 5, 6, 7, 8, 9]);
});

it('sends again only the rest of a list whose end was answered in another one', () => {
  const scans = (first: number, last: number): Delivery => ({
    ...deliveryOf(first),
    outboxRef: { outbox: 'scans', ref: [7, first, last, 'list'] },
  });
  const feed = new Feed('scans', at(6), { all: 0 });
  feed.reopen([scans(0, 99), scans(100, 199), scans(200, 299)], at(7));
  const read = ([, first, last]: DeliveryRef): Delivery => scans(first, last);
  expect(feed.startAgain(scans(50, 219), read)).toBe(true);
  expect(feed.startAgain(scans(300, 310), read)).toBe(false);
  const refs = started(feed, 2).map(({ outboxRef }) => outboxRef?.ref);
  expect(refs).toEqual([
    [7, 0, 49, 'list'],
    [7, 220, 299, 'list'],
  ]);
});

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
