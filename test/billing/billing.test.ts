/** Billing with the manual provider on a clock in the hand: starts, changes, ends, races, restarts, the scheduler. */
import { describe, expect, it } from 'vitest';
import { addMonths, dayMs, isoTime } from '../../src/model/day.ts';
import { openBillingScheduler } from '../../src/billing/billing-scheduler.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { soon } from '../support/soon.ts';
import { type BillingFixture, openBillingFixture } from './billing-fixture.ts';

const nothing = (): void => undefined;

/** With a subscription to Pro. */
async function openSubscribed() {
  const fixture = await openBillingFixture();
  await fixture.subscribe('pro');
  const { workspaceNo } = fixture.actor;
  return { fixture, workspaceNo, billing: fixture.billing, clock: fixture.app.clock };
}

const confirm = (fixture: BillingFixture, id: string) =>
  fixture.billing.confirm(fixture.actor.workspaceNo, id, nothing);

describe('a checkout', () => {
  it('is confirmed once, however many try at once', async () => {
    const fixture = await openBillingFixture();
    const { id } = await fixture.open('pro');
    const tries = await Promise.allSettled(Array.from({ length: 20 }, () => confirm(fixture, id)));
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(fixture.emitted().map(({ event }) => event)).toEqual(['subscription.created']);
    await expect(confirm(fixture, id)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('expires after 24 hours, and is removed a month later', async () => {
    const fixture = await openBillingFixture();
    const { id, expiresAtMs, createdAtMs } = await fixture.open('pro');
    expect(expiresAtMs - createdAtMs).toBe(dayMs);
    fixture.app.clock.move(dayMs);
    expect(fixture.billing.checkout(fixture.actor.workspaceNo, id).state).toBe('expired');
    await expect(confirm(fixture, id)).rejects.toThrow(/it expired at .*, expected an open one/);
    fixture.app.clock.move(31 * dayMs);
    await fixture.billing.tick();
    expect(() => fixture.billing.checkout(fixture.actor.workspaceNo, id)).toThrow(
      /no checkout with this id/,
    );
  });

  it('replaces the one before it', async () => {
    const fixture = await openBillingFixture();
    const first = await fixture.open('pro');
    const second = await fixture.open('starter');
    await expect(confirm(fixture, first.id)).rejects.toThrow(/a later checkout replaced it/);
    await confirm(fixture, second.id);
    expect(fixture.plan()).toBe('starter');
  });

  it('is refused for the present plan, beside a subscription, and for what is not sold', async () => {
    const fixture = await openBillingFixture(undefined, 'starter');
    await expect(fixture.open('starter')).rejects.toMatchObject({ code: 'conflict' });
    await expect(fixture.open('enterprise')).rejects.toMatchObject({ code: 'validation_failed' });
    const { id } = await fixture.open('pro');
    await confirm(fixture, id);
    await expect(fixture.open('business')).rejects.toMatchObject({ code: 'conflict' });
  });
});

describe('a change', () => {
  it('holds at once and is emitted with before and after; no change is not emitted', async () => {
    const { fixture, workspaceNo, billing, clock } = await openSubscribed();
    await billing.change(workspaceNo, { plan: 'business' });
    await billing.change(workspaceNo, { plan: 'business', interval: 'month' });
    expect(fixture.plan()).toBe('business');
    const before = billing.status(workspaceNo).subscription;
    clock.move(5 * dayMs);
    await billing.change(workspaceNo, { interval: 'year' });
    const after = billing.status(workspaceNo).subscription;
    expect(before?.periodEndMs).toBe(addMonths(before?.anchorMs ?? 0, 1));
    expect(after?.periodStartMs).toBe(clock.now());
    expect(after?.price.amount).toBe(990);
    expect(fixture.emitted().slice(1)).toMatchObject([
      { data: { before: { plan: 'pro' }, after: { plan: 'business' } } },
      {
        event: 'subscription.updated',
        data: { before: { interval: 'month' }, after: { plan: 'business', interval: 'year' } },
      },
    ]);
    expect(fixture.emitted()).toHaveLength(3);
  });

  it('is refused without a subscription, when canceled, and for what is not sold', async () => {
    const fixture = await openBillingFixture();
    const { workspaceNo } = fixture.actor;
    const change = () => fixture.billing.change(workspaceNo, { plan: 'business' });
    await expect(change()).rejects.toMatchObject({ code: 'conflict' });
    await fixture.subscribe('pro');
    const unsold = fixture.billing.change(workspaceNo, { plan: 'enterprise' });
    await expect(unsold).rejects.toMatchObject({ code: 'validation_failed' });
    await fixture.billing.cancel(workspaceNo, undefined);
    await expect(change()).rejects.toThrow(/resume it first/);
    expect(fixture.plan()).toBe('pro');
  });
});

describe('a cancellation', () => {
  it('leaves the plan until effectiveAt, then Free, once; emitted at once, with its reason', async () => {
    const { fixture, workspaceNo, billing, clock } = await openSubscribed();
    const { subscription } = await billing.cancel(workspaceNo, 'Moving');
    const effectiveAtMs = subscription?.effectiveAtMs ?? 0;
    expect(effectiveAtMs).toBe(addMonths(clock.now(), 1));
    expect(fixture.emitted().at(-1)).toMatchObject({
      event: 'subscription.canceled',
      data: {
        workspaceId: fixture.actor.workspaceId,
        effectiveAt: isoTime(effectiveAtMs),
        reason: 'Moving',
      },
    });
    clock.set(effectiveAtMs - 1);
    await billing.tick();
    expect(fixture.plan()).toBe('pro');
    clock.set(effectiveAtMs);
    await billing.tick();
    expect([fixture.plan(), fixture.due()]).toEqual(['free', []]);
    await billing.tick();
    expect(fixture.emitted()).toHaveLength(2);
  });

  it('is taken back until it takes effect, and not after, even before the tick', async () => {
    const { fixture, workspaceNo, billing, clock } = await openSubscribed();
    await billing.cancel(workspaceNo, undefined);
    await expect(billing.cancel(workspaceNo, undefined)).rejects.toThrow(/canceled already/);
    const resumed = await billing.resume(workspaceNo, nothing);
    expect(resumed.subscription).toMatchObject({ state: 'active' });
    expect(resumed.subscription).not.toHaveProperty('reason');
    await billing.cancel(workspaceNo, undefined);
    clock.move(32 * dayMs);
    await expect(billing.resume(workspaceNo, nothing)).rejects.toThrow(/no subscription/);
    expect(fixture.plan()).toBe('free');
    await fixture.subscribe('starter');
    expect(fixture.plan()).toBe('starter');
  });

  it('does not take away a plan that the operator has set since', async () => {
    const { fixture, workspaceNo, billing, clock } = await openSubscribed();
    await billing.cancel(workspaceNo, undefined);
    await fixture.app.workspaces.workspaces.setPlan(workspaceNo, 'enterprise');
    clock.move(32 * dayMs);
    await billing.tick();
    expect(fixture.plan()).toBe('enterprise');
    expect(billing.status(workspaceNo).subscription?.state).toBe('none');
  });
});

describe('time', () => {
  it('renews an active subscription by whole periods, also after years away', async () => {
    const fixture = await openBillingFixture();
    const { workspaceNo } = fixture.actor;
    fixture.app.clock.set(Date.UTC(2026, 0, 31, 12));
    await fixture.subscribe('pro');
    const period = () => {
      const record = fixture.billing.status(workspaceNo).subscription;
      return [isoTime(record?.periodStartMs ?? 0), isoTime(record?.periodEndMs ?? 0)];
    };
    const at = (day: string): string => `${day}T12:00:00.000Z`;
    expect(period()).toEqual([at('2026-01-31'), at('2026-02-28')]);
    fixture.app.clock.set(Date.UTC(2026, 1, 28, 12));
    await fixture.billing.tick();
    expect(period()).toEqual([at('2026-02-28'), at('2026-03-31')]);
    fixture.app.clock.set(Date.UTC(2029, 5, 1));
    await fixture.restart();
    await fixture.billing.tick();
    expect(period()).toEqual([at('2029-05-31'), at('2029-06-30')]);
    expect([fixture.plan(), fixture.emitted().length]).toEqual(['pro', 1]);
  });

  it('ends many that are due together in a few ticks', async () => {
    const fixture = await openBillingFixture();
    await fixture.subscribe('pro');
    const { store } = fixture.app;
    const record = store.billing.subscriptions.get(1);
    if (record === undefined) throw new Error('Cannot find the subscription');
    const endMs = fixture.app.clock.now() + dayMs;
    const own = store.workspaces.get(1);
    await store.environment.transaction(() => {
      for (let no = 2; no <= 350; no += 1) {
        if (own !== undefined) store.workspaces.put(no, { ...own, no, plan: 'pro' });
        const canceling = { ...record, workspaceNo: no, state: 'canceling' } as const;
        store.billing.subscriptions.put(no, { ...canceling, effectiveAtMs: endMs });
        store.billing.subscriptionDue.set([no], endMs);
      }
    });
    fixture.app.clock.set(endMs);
    await fixture.billing.tick();
    const left = [...store.workspaces.range({})].filter(({ value }) => value.plan !== 'free');
    expect(left.map(({ key }) => key)).toEqual([1]);
    expect(fixture.due()).toHaveLength(1);
  });
});

it('makes a canceled plan Free, after a stop and while it runs', async () => {
  const fixture = await openBillingFixture();
  const cancelAndWait = async (): Promise<void> => {
    await fixture.subscribe('pro');
    await fixture.billing.cancel(fixture.actor.workspaceNo, undefined);
    fixture.app.clock.move(32 * dayMs);
  };
  await cancelAndWait();
  const scheduler = await openBillingScheduler(fixture.billing, createLog('silent'), 10);
  expect(fixture.plan()).toBe('free');
  await cancelAndWait();
  await expect.poll(() => fixture.plan(), soon).toBe('free');
  await scheduler.close();
});
