/** Billing with the manual provider on a clock in the hand: starts, changes, ends, races, restarts. */
import { describe, expect, it } from 'vitest';
import { addMonths } from '../../src/billing/period.ts';
import { dayMs, isoTime } from '../../src/model/day.ts';
import { openTill, type Till } from './billing-fixture.ts';

const nothing = (): void => undefined;
const yearMs = 365 * dayMs;

const confirm = (till: Till, id: string) =>
  till.billing.confirm(till.actor.workspaceNo, id, nothing);

describe('a checkout', () => {
  it('starts the plan with its confirmation: one subscription, one event, limits at once', async () => {
    const till = await openTill();
    const checkout = await till.open('pro', 'year');
    expect(checkout.url).toBe(`http://localhost:8080/billing/checkout/${checkout.id}`);
    expect([checkout.id.slice(0, 4), checkout.state, till.plan()]).toEqual([
      'chk_',
      'open',
      'free',
    ]);
    await confirm(till, checkout.id);
    expect(till.plan()).toBe('pro');
    expect(till.told()).toMatchObject([
      {
        event: 'subscription.created',
        data: {
          workspaceId: till.actor.workspaceId,
          plan: 'pro',
          interval: 'year',
          amount: 290,
          currency: 'EUR',
        },
      },
    ]);
    expect(till.told()[0]).not.toHaveProperty('createdAt');
  });

  it('is confirmed once, however many try at once', async () => {
    const till = await openTill();
    const { id } = await till.open('pro');
    const tries = await Promise.allSettled(Array.from({ length: 20 }, () => confirm(till, id)));
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(till.told().map(({ event }) => event)).toEqual(['subscription.created']);
    await expect(confirm(till, id)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('expires after 24 hours, and is swept a month later', async () => {
    const till = await openTill();
    const { id, expiresAtMs, createdAtMs } = await till.open('pro');
    expect(expiresAtMs - createdAtMs).toBe(dayMs);
    till.office.clock.move(dayMs);
    expect(till.billing.checkout(till.actor.workspaceNo, id).state).toBe('expired');
    await expect(confirm(till, id)).rejects.toThrow(/it expired at .*, expected an open one/);
    till.office.clock.move(31 * dayMs);
    await till.billing.tick();
    expect(() => till.billing.checkout(till.actor.workspaceNo, id)).toThrow(/no such checkout/);
  });

  it('replaces the one before it', async () => {
    const till = await openTill();
    const first = await till.open('pro');
    const second = await till.open('starter');
    await expect(confirm(till, first.id)).rejects.toThrow(/a later checkout replaced it/);
    await confirm(till, second.id);
    expect(till.plan()).toBe('starter');
  });

  it('is refused for the present plan, beside a subscription, and for what is not sold', async () => {
    const till = await openTill(undefined, 'starter');
    await expect(till.open('starter')).rejects.toMatchObject({ code: 'conflict' });
    await expect(till.open('enterprise')).rejects.toMatchObject({ code: 'validation_failed' });
    const { id } = await till.open('pro');
    await confirm(till, id);
    await expect(till.open('business')).rejects.toMatchObject({ code: 'conflict' });
  });

  it('of another workspace is as unknown as one that never was', async () => {
    const till = await openTill();
    const { id } = await till.open('pro');
    for (const [workspaceNo, name] of [
      [2, id],
      [1, 'chk_00000000000000000000'],
      [1, 'chk_x'],
    ] as const) {
      const failure = { code: 'not_found' };
      await expect(till.billing.confirm(workspaceNo, name, nothing)).rejects.toMatchObject(failure);
      expect(() => till.billing.checkout(workspaceNo, name)).toThrow(/no such checkout/);
    }
    expect(till.plan()).toBe('free');
  });
});

describe('a change', () => {
  it('holds at once and is told with before and after; no change is not told', async () => {
    const till = await openTill();
    await till.subscribe('pro');
    const { workspaceNo } = till.actor;
    await till.billing.change(workspaceNo, { plan: 'business' });
    await till.billing.change(workspaceNo, { plan: 'business', interval: 'month' });
    expect(till.plan()).toBe('business');
    const before = till.billing.status(workspaceNo).subscription;
    till.office.clock.move(5 * dayMs);
    await till.billing.change(workspaceNo, { interval: 'year' });
    const after = till.billing.status(workspaceNo).subscription;
    expect(before?.periodEndMs).toBe(addMonths(before?.anchorMs ?? 0, 1));
    expect(after?.periodStartMs).toBe(till.office.clock.now());
    expect(after?.price.amount).toBe(990);
    expect(till.told().slice(1)).toMatchObject([
      { data: { before: { plan: 'pro' }, after: { plan: 'business' } } },
      {
        event: 'subscription.updated',
        data: { before: { interval: 'month' }, after: { plan: 'business', interval: 'year' } },
      },
    ]);
    expect(till.told()).toHaveLength(3);
  });

  it('is refused without a subscription, when canceled, and for what is not sold', async () => {
    const till = await openTill();
    const { workspaceNo } = till.actor;
    const change = () => till.billing.change(workspaceNo, { plan: 'business' });
    await expect(change()).rejects.toMatchObject({ code: 'conflict' });
    await till.subscribe('pro');
    const unsold = till.billing.change(workspaceNo, { plan: 'enterprise' });
    await expect(unsold).rejects.toMatchObject({ code: 'validation_failed' });
    await till.billing.cancel(workspaceNo, undefined);
    await expect(change()).rejects.toThrow(/resume it first/);
    expect(till.plan()).toBe('pro');
  });
});

describe('a cancellation', () => {
  it('leaves the plan until effectiveAt, then Free, once; told at once, with its reason', async () => {
    const till = await openTill();
    const { workspaceNo } = till.actor;
    await till.subscribe('pro');
    const { subscription } = await till.billing.cancel(workspaceNo, 'Moving');
    const effectiveAtMs = subscription?.effectiveAtMs ?? 0;
    expect(effectiveAtMs).toBe(addMonths(till.office.clock.now(), 1));
    expect(till.told().at(-1)).toMatchObject({
      event: 'subscription.canceled',
      data: {
        workspaceId: till.actor.workspaceId,
        effectiveAt: isoTime(effectiveAtMs),
        reason: 'Moving',
      },
    });
    till.office.clock.set(effectiveAtMs - 1);
    await till.billing.tick();
    expect(till.plan()).toBe('pro');
    till.office.clock.set(effectiveAtMs);
    await till.billing.tick();
    expect([till.plan(), till.due()]).toEqual(['free', []]);
    await till.billing.tick();
    expect(till.told()).toHaveLength(2);
  });

  it('takes effect once across restarts and clock steps of an hour and a year', async () => {
    const till = await openTill();
    const { workspaceNo } = till.actor;
    await till.subscribe('pro', 'year');
    const { subscription } = await till.billing.cancel(workspaceNo, undefined);
    const endMs = subscription?.effectiveAtMs ?? 0;
    for (const stepMs of [-yearMs, yearMs / 2, 3_600_000, -3_600_000]) {
      till.office.clock.move(stepMs);
      await till.restart();
      await till.billing.tick();
      expect(till.plan()).toBe('pro');
    }
    till.office.clock.set(endMs + yearMs);
    await till.restart();
    await Promise.all([till.billing.tick(), till.billing.tick(), till.billing.tick()]);
    expect(till.plan()).toBe('free');
    till.office.clock.move(-3 * yearMs);
    await till.restart();
    await till.billing.tick();
    expect([till.plan(), till.told().length]).toEqual(['free', 2]);
  });

  it('is taken back until it takes effect, and not after, even before the tick', async () => {
    const till = await openTill();
    const { workspaceNo } = till.actor;
    await till.subscribe('pro');
    await till.billing.cancel(workspaceNo, undefined);
    await expect(till.billing.cancel(workspaceNo, undefined)).rejects.toThrow(/canceled already/);
    const resumed = await till.billing.resume(workspaceNo, nothing);
    expect(resumed.subscription).toMatchObject({ state: 'active' });
    expect(resumed.subscription).not.toHaveProperty('reason');
    await till.billing.cancel(workspaceNo, undefined);
    till.office.clock.move(32 * dayMs);
    await expect(till.billing.resume(workspaceNo, nothing)).rejects.toThrow(/no subscription/);
    expect(till.plan()).toBe('free');
    await till.subscribe('starter');
    expect(till.plan()).toBe('starter');
  });

  it('does not take away a plan that the operator has set since', async () => {
    const till = await openTill();
    const { workspaceNo } = till.actor;
    await till.subscribe('pro');
    await till.billing.cancel(workspaceNo, undefined);
    await till.office.services.workspaces.setPlan(workspaceNo, 'enterprise');
    till.office.clock.move(32 * dayMs);
    await till.billing.tick();
    expect(till.plan()).toBe('enterprise');
    expect(till.billing.status(workspaceNo).subscription?.state).toBe('none');
  });
});

describe('time', () => {
  it('renews an active subscription by whole periods, also after years away', async () => {
    const till = await openTill();
    const { workspaceNo } = till.actor;
    till.office.clock.set(Date.UTC(2026, 0, 31, 12));
    await till.subscribe('pro');
    const period = () => {
      const record = till.billing.status(workspaceNo).subscription;
      return [isoTime(record?.periodStartMs ?? 0), isoTime(record?.periodEndMs ?? 0)];
    };
    const at = (day: string): string => `${day}T12:00:00.000Z`;
    expect(period()).toEqual([at('2026-01-31'), at('2026-02-28')]);
    till.office.clock.set(Date.UTC(2026, 1, 28, 12));
    await till.billing.tick();
    expect(period()).toEqual([at('2026-02-28'), at('2026-03-31')]);
    till.office.clock.set(Date.UTC(2029, 5, 1));
    await till.restart();
    await till.billing.tick();
    expect(period()).toEqual([at('2029-05-31'), at('2029-06-30')]);
    expect([till.plan(), till.told().length]).toEqual(['pro', 1]);
  });

  it('takes no entry for due that the record does not name', async () => {
    const till = await openTill();
    const { workspaceNo } = till.actor;
    await till.subscribe('pro');
    const { subscription } = await till.billing.cancel(workspaceNo, undefined);
    const { store } = till.office.temporary;
    const stray: [number, number] = [till.office.clock.now(), workspaceNo];
    await store.environment.transaction(() => {
      store.billing.subscriptionDue.put(stray, 1);
      store.billing.subscriptionDue.put([stray[0], 99], 1);
    });
    till.office.clock.set(subscription?.effectiveAtMs ?? 0);
    await till.billing.tick();
    await till.subscribe('starter');
    const [[dueMs] = [0]] = till.due();
    await store.environment.transaction(() => store.billing.subscriptionDue.put(stray, 1));
    await till.billing.tick();
    expect([till.plan(), till.due()]).toEqual(['starter', [[dueMs, workspaceNo]]]);
  });

  it('ends many that are due together in a few ticks', async () => {
    const till = await openTill();
    await till.subscribe('pro');
    const { store } = till.office.temporary;
    const record = store.billing.subscriptions.get(1);
    if (record === undefined) throw new Error('Cannot find the subscription');
    const endMs = till.office.clock.now() + dayMs;
    const own = store.workspaces.get(1);
    await store.environment.transaction(() => {
      for (let no = 2; no <= 350; no += 1) {
        if (own !== undefined) store.workspaces.put(no, { ...own, no, plan: 'pro' });
        const canceling = { ...record, workspaceNo: no, state: 'canceling', dueMs: endMs } as const;
        store.billing.subscriptions.put(no, { ...canceling, effectiveAtMs: endMs });
        store.billing.subscriptionDue.put([endMs, no], 1);
      }
    });
    till.office.clock.set(endMs);
    await till.billing.tick();
    const left = [...store.workspaces.range({})].filter(({ value }) => value.plan !== 'free');
    expect(left.map(({ key }) => key)).toEqual([1]);
    expect(till.due()).toHaveLength(1);
  });
});
