/**
 * Applies the state of the payment provider: after its events, its answers to our requests, and the end of a period. One
 * transaction compares the present state with the record and applies it, one at a time for each subscription.
 */
import pLimit, { type LimitFunction } from 'p-limit';
import type { CheckoutRecord, SubscriptionRecord } from '../../model/billing.ts';
import type { Clock } from '../../model/clock.ts';
import { Failure } from '../../model/failure.ts';
import type { Management } from '../../store/management/management.ts';
import type { Logger } from '../../platform/log.ts';
import type { Checkouts } from './checkouts.ts';
import {
  type PaymentProvider,
  type ProviderSubscription,
  type SyncOutcome,
  syncRecord,
} from './provider.ts';
import type { Subscriptions } from './subscriptions.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';

export interface ProviderEventsOptions {
  readonly store: Management;
  readonly clock: Clock;
  readonly log: Logger;
  readonly subscriptions: Subscriptions;
  readonly checkouts: Checkouts;
  readonly provider: PaymentProvider | undefined;
}

export class ProviderEvents {
  readonly #options: ProviderEventsOptions;
  /** One per subscription that is being worked on. */
  readonly #locks = new Map<string, LimitFunction>();
  readonly #refreshes = pLimit(1);
  #isClosed = false;

  constructor(options: ProviderEventsOptions) {
    this.#options = options;
  }

  /** @throws Failure invalid_signature, invalid_json, not_found, overloaded */
  async receive(body: Uint8Array, signature: string | undefined): Promise<void> {
    const { provider, clock, checkouts } = this.#options;
    if (provider === undefined) throw new Failure('not_found', 'There is no such resource');
    const event = provider.verify(body, signature ?? '', clock.now());
    const { subscriptionId } = event;
    if (subscriptionId === undefined) return;
    await this.#lock(subscriptionId, async () => {
      if (checkouts.hasApplied(event.id)) return;
      const theirs = await provider.fetch(subscriptionId);
      await this.#apply(theirs, event.id);
    });
  }

  /**
   * Sends a request to the provider and applies its answer.
   * @param allowed reads the record, again once the lock is held @throws what it throws
   * @param work resolves to undefined when nothing changed
   */
  async act(
    allowed: () => SubscriptionRecord,
    work: (
      provider: PaymentProvider,
      subscriptionId: string,
      record: SubscriptionRecord,
    ) => Promise<ProviderSubscription | undefined>,
  ): Promise<void> {
    const { provider } = this.#options;
    const { link } = allowed();
    if (provider === undefined || link === undefined) {
      const why = 'it is paid at Stripe, expected Stripe to be the configured provider';
      throw new Failure('conflict', `Cannot change the subscription: ${why}`);
    }
    const { subscriptionId } = link;
    await this.#lock(subscriptionId, async () => {
      await this.#apply(await work(provider, subscriptionId, allowed()), undefined);
    });
  }

  /**
   * Asks in the background, one after the other, for the state of subscriptions whose period has ended
   * without an event. Stops at the first without an answer: all are asked again within the hour.
   */
  refresh(subscriptionIds: readonly string[]): void {
    for (const id of subscriptionIds) void this.#refreshes(() => this.#refresh(id));
  }

  /** Stops storing. The provider repeats events without an answer. */
  close(): void {
    this.#isClosed = true;
    this.#refreshes.clearQueue();
  }

  async #refresh(id: string): Promise<void> {
    const { provider, log } = this.#options;
    if (provider === undefined) return;
    try {
      await this.#lock(id, async () => await this.#apply(await provider.fetch(id), undefined));
    } catch (err) {
      this.#refreshes.clearQueue();
      log.warn(
        { err },
        'paid periods have ended and the payment provider does not answer, retrying',
      );
    }
  }

  /** Ends a replaced checkout at the provider. If that fails, the checkout expires by itself. */
  async expireCheckout(checkout: CheckoutRecord | undefined): Promise<void> {
    const { provider, log } = this.#options;
    if (provider === undefined || checkout?.sessionId === undefined) return;
    try {
      await provider.expireCheckout(checkout.sessionId);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      log.warn({ code: error.code }, 'a replaced checkout stays open at the payment provider');
    }
  }

  async #lock(subscriptionId: string, work: () => Promise<void>): Promise<void> {
    const lock = this.#locks.get(subscriptionId) ?? pLimit(1);
    this.#locks.set(subscriptionId, lock);
    try {
      await lock(work);
    } finally {
      if (lock.activeCount + lock.pendingCount === 0) this.#locks.delete(subscriptionId);
    }
  }

  async #apply(
    theirs: ProviderSubscription | undefined,
    eventId: string | undefined,
  ): Promise<void> {
    const { store, log, checkouts } = this.#options;
    if (this.#isClosed) throw new Failure('overloaded', 'The service is stopping');
    const outcome = await store.environment.transaction(() => {
      const done: SyncOutcome = theirs === undefined ? { kind: 'unknown' } : this.#sync(theirs);
      if (eventId !== undefined) checkouts.noteApplied(eventId);
      return done;
    });
    const fields = { outcome: outcome.kind, subscriptionId: theirs?.link.subscriptionId };
    if (outcome.kind === 'second') {
      log.error(fields, 'a workspace pays two subscriptions; end and refund one at the provider');
    } else if (outcome.kind === 'unknown_price') {
      log.error(fields, 'a subscription has a price that billing.stripe.prices does not name');
    } else if (outcome.kind === 'started') {
      await this.expireCheckout(outcome.toExpire);
    }
  }

  /** Inside a transaction. */
  #sync(theirs: ProviderSubscription): SyncOutcome {
    const { store, subscriptions, clock } = this.#options;
    const workspaceNo = store.workspaceIds.get(theirs.workspaceId ?? '');
    if (workspaceNo === undefined) return { kind: 'unknown' };
    const record = subscriptions.find(workspaceNo);
    const isLive = record !== undefined && record.state !== 'none';
    if (isLive && record.link?.subscriptionId === theirs.link.subscriptionId) {
      syncRecord(subscriptions, record, theirs, clock.now());
      const isPriced = theirs.terms !== undefined || theirs.status === 'ended';
      return { kind: isPriced ? 'synced' : 'unknown_price' };
    }
    const hasEnded = theirs.endsAtMs !== undefined && theirs.endsAtMs <= clock.now();
    if (theirs.status !== 'paid' || hasEnded) return { kind: 'unchanged' };
    if (isLive) return { kind: 'second' };
    if (theirs.terms === undefined) return { kind: 'unknown_price' };
    return { kind: 'started', toExpire: this.#start(workspaceNo, theirs) };
  }

  #start(workspaceNo: WorkspaceNo, theirs: ProviderSubscription): CheckoutRecord | undefined {
    const { subscriptions, checkouts } = this.#options;
    const { terms, link, period, endsAtMs, reason } = theirs;
    subscriptions.apply(workspaceNo, 'checkout_completed', {
      terms,
      provider: 'stripe',
      link,
      period,
    });
    if (endsAtMs !== undefined) {
      subscriptions.apply(workspaceNo, 'provider_canceled', { effectiveAtMs: endsAtMs, reason });
    }
    const own = checkouts.find(theirs.checkoutId ?? '');
    if (own !== undefined && own.workspaceNo === workspaceNo) checkouts.complete(own);
    return checkouts.replaceOpen(workspaceNo);
  }
}
