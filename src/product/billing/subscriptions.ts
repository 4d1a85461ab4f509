/**
 * Subscriptions: applies the transition table inside the transaction of its cause, so that state, plan, due time and event
 * are one commit. A subscription has one due time, so each end happens once, whatever restarts or clock steps come between.
 */
import type {
  BillingInterval,
  BillingProvider,
  PaidPlan,
  Price,
  ProviderLink,
  SubscriptionRecord,
} from '../../model/billing.ts';
import type { Clock } from '../../model/clock.ts';
import { isoTime } from '../../model/day.ts';
import type { Plan, WorkspaceRecord } from '../../model/workspace.ts';
import type { Outbox } from '../../webhooks/outbox.ts';
import type { Management } from '../../store/management/management.ts';
import { type Period, periodAt } from './period.ts';
import { type Effect, type SubscriptionEvent, transition } from './subscription.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';

/** Due subscriptions of one transaction: a few ms of the writer's time. */
const dueBatchMax = 100;
/** The provider is asked as soon as a paid period has ended, and this often until it answers. */
const refreshMs = 3_600_000;
/** The reason in `subscription.canceled` when none was given. */
const reasonUnknown = 'unspecified';

/** Sets the plan of a workspace inside a transaction; limits follow from the next request. */
export interface PlanWriter {
  writePlan(workspaceNo: WorkspaceNo, plan: Plan): WorkspaceRecord;
}

export interface Terms {
  readonly plan: PaidPlan;
  readonly interval: BillingInterval;
  readonly price: Price;
}

/** Details of an event; what is absent follows from the record and the clock. */
export interface SubscriptionDetails {
  readonly terms?: Terms | undefined;
  readonly provider?: BillingProvider;
  readonly link?: ProviderLink;
  readonly period?: Period;
  readonly effectiveAtMs?: number | undefined;
  readonly reason?: string | undefined;
}

export interface SubscriptionsOptions {
  readonly store: Management;
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly plans: PlanWriter;
}

export class Subscriptions {
  readonly #options: SubscriptionsOptions;

  constructor(options: SubscriptionsOptions) {
    this.#options = options;
  }

  find(workspaceNo: WorkspaceNo): SubscriptionRecord | undefined {
    return this.#options.store.billing.subscriptions.get(workspaceNo);
  }

  /**
   * Applies `event`. Inside a transaction, with nothing written before it.
   * @returns the record afterwards; undefined when there never was a subscription
   * @throws Failure conflict when the state refuses it
   */
  apply(
    workspaceNo: WorkspaceNo,
    event: SubscriptionEvent,
    details: SubscriptionDetails = {},
  ): SubscriptionRecord | undefined {
    const before = this.find(workspaceNo);
    const step = transition(before?.state ?? 'none', event);
    if (step === undefined) return before;
    const base = step.effect === 'start' ? this.#started(workspaceNo, details) : before;
    if (base === undefined) throw new Error(`Cannot ${step.effect}: there is no subscription`);
    const changed = { ...this.#changed(base, step.effect, details), state: step.to };
    if (step.effect === 'change' && isSame(base, changed)) return base;
    this.#writePlan(base, changed, step.effect);
    this.#write(changed);
    this.#emit(base, changed, step.effect);
    return changed;
  }

  /** Ends or renews a period that is over in its own transaction, before the next tick does. */
  async settle(workspaceNo: WorkspaceNo): Promise<void> {
    if (!this.#isOver(this.find(workspaceNo))) return;
    await this.#options.store.environment.transaction(() => {
      if (this.#isOver(this.find(workspaceNo))) this.apply(workspaceNo, 'period_ended');
    });
  }

  /**
   * Ends or renews what is due, one batch.
   * @returns the subscriptions whose provider must be asked
   */
  async runDue(): Promise<{ taken: number; toRefresh: SubscriptionRecord[] }> {
    const { store, clock } = this.#options;
    const { subscriptionDue } = store.billing;
    if (subscriptionDue.due(clock.now(), 1).length === 0) return { taken: 0, toRefresh: [] };
    return await store.environment.transaction(() => {
      const due = subscriptionDue.due(clock.now(), dueBatchMax);
      const toRefresh: SubscriptionRecord[] = [];
      for (const [, workspaceNo] of due) {
        const record = this.find(workspaceNo);
        if (this.#isOver(record)) {
          this.apply(workspaceNo, 'period_ended');
        } else if (record !== undefined) {
          subscriptionDue.set([workspaceNo], clock.now() + refreshMs);
          toRefresh.push(record);
        }
      }
      return { taken: due.length, toRefresh };
    });
  }

  /** Whether the clock alone ends its period; for an active one at a provider the provider decides. */
  #isOver(record: SubscriptionRecord | undefined): boolean {
    const { store, clock } = this.#options;
    if (record === undefined) return false;
    const { provider, state, workspaceNo } = record;
    const dueMs = store.billing.subscriptionDue.at(workspaceNo) ?? Infinity;
    return dueMs <= clock.now() && (provider === 'manual' || state !== 'active');
  }

  #started(workspaceNo: WorkspaceNo, details: SubscriptionDetails): SubscriptionRecord {
    const { terms, provider, link } = details;
    if (terms === undefined) throw new Error('Cannot start a subscription without terms');
    const nowMs = this.#options.clock.now();
    const period = details.period ?? periodAt(nowMs, terms.interval, nowMs);
    return {
      workspaceNo,
      state: 'active',
      ...terms,
      provider: provider ?? 'manual',
      ...(link === undefined ? {} : { link }),
      startedAtMs: nowMs,
      anchorMs: period.startMs,
      periodStartMs: period.startMs,
      periodEndMs: period.endMs,
    };
  }

  #changed(
    base: SubscriptionRecord,
    effect: Effect,
    given: SubscriptionDetails,
  ): SubscriptionRecord {
    const nowMs = this.#options.clock.now();
    const { effectiveAtMs: _end, reason: _reason, ...running } = base;
    switch (effect) {
      case 'start':
      case 'note':
      case 'end':
        return base;
      case 'change': {
        if (given.terms === undefined) throw new Error('Cannot change a subscription: no terms');
        // Another interval begins a new period; another plan continues the present one.
        const isMoved = given.terms.interval !== base.interval;
        const anchorMs = isMoved ? nowMs : base.anchorMs;
        const fresh = periodAt(anchorMs, given.terms.interval, nowMs);
        const period = given.period ?? (isMoved ? fresh : undefined);
        return { ...base, ...given.terms, anchorMs, ...datesOf(period) };
      }
      case 'cancel': {
        const present = periodAt(base.anchorMs, base.interval, nowMs);
        const endMs = base.periodEndMs > nowMs ? base.periodEndMs : present.endMs;
        const reason = given.reason ?? reasonUnknown;
        return { ...base, effectiveAtMs: given.effectiveAtMs ?? endMs, reason };
      }
      case 'resume':
        return running;
      case 'renew':
        return {
          ...base,
          ...datesOf(given.period ?? periodAt(base.anchorMs, base.interval, nowMs)),
        };
      case 'end_and_emit':
        break;
    }
    return { ...base, effectiveAtMs: nowMs, reason: given.reason ?? 'payment_failed' };
  }

  #writePlan(base: SubscriptionRecord, changed: SubscriptionRecord, effect: Effect): void {
    const { plans, store } = this.#options;
    if (effect === 'start' || effect === 'change') {
      plans.writePlan(base.workspaceNo, changed.plan);
    } else if (effect === 'end' || effect === 'end_and_emit') {
      // A plan that the operator has set since stays.
      const isOurs = store.workspaces.get(base.workspaceNo)?.plan === base.plan;
      if (isOurs) plans.writePlan(base.workspaceNo, 'free');
    }
  }

  #write(record: SubscriptionRecord): void {
    const { subscriptions, subscriptionDue } = this.#options.store.billing;
    subscriptionDue.set([record.workspaceNo], dueOf(record));
    subscriptions.put(record.workspaceNo, record);
  }

  #emit(before: SubscriptionRecord, after: SubscriptionRecord, effect: Effect): void {
    const { outbox, store } = this.#options;
    const { workspaceNo, plan, interval, price } = after;
    const workspaceId = store.workspaces.get(workspaceNo)?.id;
    if (effect === 'start') {
      outbox.append('subscription.created', workspaceNo, {
        workspaceId,
        plan,
        interval,
        amount: price.amount,
        currency: price.currency,
      });
    } else if (effect === 'change') {
      outbox.append('subscription.updated', workspaceNo, {
        workspaceId,
        before: { plan: before.plan, interval: before.interval },
        after: { plan, interval },
      });
    } else if (effect === 'cancel' || effect === 'end_and_emit') {
      outbox.append('subscription.canceled', workspaceNo, {
        workspaceId,
        effectiveAt: isoTime(after.effectiveAtMs ?? after.periodEndMs),
        reason: after.reason ?? reasonUnknown,
      });
    }
  }
}

function dueOf(record: SubscriptionRecord): number | undefined {
  if (record.state === 'none') return undefined;
  return record.state === 'canceling' ? record.effectiveAtMs : record.periodEndMs;
}

function datesOf(period: Period | undefined): Partial<SubscriptionRecord> {
  if (period === undefined) return {};
  return { periodStartMs: period.startMs, periodEndMs: period.endMs };
}

/** Whether two records have the same terms. */
export function isSame(one: Terms, other: Terms): boolean {
  return (
    one.plan === other.plan &&
    one.interval === other.interval &&
    one.price.amount === other.price.amount &&
    one.price.currency === other.price.currency
  );
}
