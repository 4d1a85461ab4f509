/** A recent delivery is taken once, only while the queue has it at the same time, and within the bound. */
import { describe, expect, it } from 'vitest';
import { RecentDeliveries } from '../../src/webhooks/dispatch/recent-deliveries.ts';
import { deliveryOf } from './delivery-fixture.ts';

describe('RecentDeliveries.take', () => {
  it('takes a delivery once', () => {
    const recent = new RecentDeliveries();
    const created = deliveryOf(7, 100);
    recent.add(created);
    expect(recent.take(7, 100)).toBe(created);
    expect(recent.take(7, 100)).toBeUndefined();
  });

  it('takes none that the queue has at another time, then or later', () => {
    const recent = new RecentDeliveries();
    recent.add(deliveryOf(7, 100));
    expect(recent.take(7, 101)).toBeUndefined();
    expect(recent.take(7, 100)).toBeUndefined();
  });

  it('keeps the newest 4,096, and 8 MB of bodies', () => {
    const recent = new RecentDeliveries();
    for (let no = 1; no <= 4_097; no++) recent.add(deliveryOf(no, 1));
    expect(recent.take(1, 1)).toBeUndefined();
    expect(recent.take(2, 1)).toBeDefined();
    const large = new RecentDeliveries();
    for (let no = 1; no <= 129; no++) large.add(deliveryOf(no, 1, 65_536));
    expect(large.take(1, 1)).toBeUndefined();
    expect(large.take(2, 1)).toBeDefined();
    expect(large.take(129, 1)).toBeDefined();
  });

  it('counts a delivery that is kept twice once', () => {
    const recent = new RecentDeliveries();
    for (let time = 0; time < 200; time++) recent.add(deliveryOf(1, 1, 65_536));
    recent.add(deliveryOf(2, 1));
    expect(recent.take(1, 1)).toBeDefined();
    expect(recent.take(2, 1)).toBeDefined();
  });
});
