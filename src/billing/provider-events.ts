/**
 * News of the payment provider: its messages, its answers to what we asked, and what it says when a
 * period is over. All of them end in one place: the present state, compared with the record and applied
 * in one transaction, in turns by subscription.
 */
import type { CheckoutRecord, SubscriptionRecord } from '../model/billing.ts';
import type { Clock } from '../model/clock.ts';
import { Failure } from '../model/failure.ts';
import type { Management } from '../store/management/management.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Checkouts } from './checkouts.ts';
import {
  type PaymentProvider,
  type ProviderSubscription,
  type SyncOutcome,
  syncRecord,
} from './provider.ts';
import type { Subscriptions } from './subscriptions.ts';
import { Turns } from './turns.ts';

export interface ProviderNewsOptions {
  readonly store: Management;
  readonly clock: Clock;
  readonly log: Logger;
  readonly book: Subscriptions;
  readonly checkouts: Checkouts;
  readonly provider: PaymentProvider | undefined;
}

export class ProviderEvents {
  readonly #options: ProviderNewsOptions;
  readonly #turns = new Turns();
  readonly #toRefresh = new Set<string>();
  #refreshing: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: ProviderNewsOptions) {
    this.#options = options;
  }

  /** @throws Failure invalid_signature, invalid_json, not_found, overloaded */
  async receive(body: Uint8Array, signature: string | undefined): Promise<void> {
    const { provider, clock, checkouts } = this.#options;
    if (provider === undefined) throw new Failure('not_found', 'There is no such resource');
    const event = provider.verify(body, signature ?? '', clock.now());
    const { subscriptionId } = event;
    if (subscriptionId === undefined) return;
    await this.#turns.run(subscriptionId, async () => {
      if (checkouts.hasSeen(event.id)) return;
      const theirs = await provider.fetch(subscriptionId);
      await this.#apply(theirs, event.id);
    });
  }

  /**
   * Does something at the provider and applies its answer.
   * @param allowed the record, looked at again when the turn has come @throws what it throws
   * @param work undefined = nothing was to do
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
    await this.#turns.run(subscriptionId, async () => {
      await this.#apply(await work(provider, subscriptionId, allowed()), undefined);
    });
  }

  /**
   * Asks, in the background and one after the other, how subscriptions went on that no message has told
   * of. The first that gets no answer ends it: their timers ask again within the hour.
   */
  refresh(subscriptionIds: readonly string[]): void {
    for (const id of subscriptionIds) this.#toRefresh.add(id);
    if (this.#toRefresh.size > 0) this.#refreshing ??= this.#refreshAll();
  }

  /** Resolves when nobody is asked any more. */
  async refreshed(): Promise<void> {
    await this.#refreshing;
  }

  /** From now on nothing is stored: what the provider says meanwhile, it says again. */
  close(): void {
    this.#isClosed = true;
    this.#toRefresh.clear();
  }

  async #refreshAll(): Promise<void> {
    const { provider, log } = this.#options;
    for (const id of this.#toRefresh) {
      this.#toRefresh.delete(id);
      if (provider === undefined) continue;
      try {
        await this.#turns.run(
          id,
          async () => await this.#apply(await provider.fetch(id), undefined),
        );
      } catch (err) {
        this.#toRefresh.clear();
        log.warn(
          { err },
          'paid periods are over, and the payment provider does not say how they go on',
        );
      }
    }
    this.#refreshing = undefined;
  }

  /** Takes checkouts that were replaced out of the provider's hands; what fails expires by itself. */
  async expire(checkouts: readonly CheckoutRecord[]): Promise<void> {
    const { provider, log } = this.#options;
    for (const { sessionId } of checkouts) {
      if (provider === undefined || sessionId === undefined) continue;
      try {
        await provider.expireCheckout(sessionId);
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        log.warn({ code: error.code }, 'a replaced checkout stays open at the payment provider');
      }
    }
  }

  async #apply(
    theirs: ProviderSubscription | undefined,
    eventId: string | undefined,
  ): Promise<void> {
    const { store, log, checkouts } = this.#options;
    if (this.#isClosed) throw new Failure('overloaded', 'The service is stopping');
    const outcome = await store.environment.transaction(() => {
      const done: SyncOutcome = theirs === undefined ? { kind: 'foreign' } : this.#sync(theirs);
      if (eventId !== undefined) checkouts.see(eventId);
      return done;
    });
    const told = { outcome: outcome.kind, subscriptionId: theirs?.link.subscriptionId };
    if (outcome.kind === 'second') {
      log.error(told, 'a workspace pays two subscriptions; end and refund one at the provider');
    } else if (outcome.kind === 'unknown_price') {
      log.error(told, 'a subscription has a price that billing.stripe.prices does not name');
    } else if (outcome.kind === 'started') {
      await this.expire(outcome.toExpire);
    }
  }

  /** Inside a transaction. */
  #sync(theirs: ProviderSubscription): SyncOutcome {
    const { store, book, clock } = this.#options;
    const workspaceNo = store.workspaceIds.get(theirs.workspaceId ?? '');
    if (workspaceNo === undefined) return { kind: 'foreign' };
    const record = book.find(workspaceNo);
    const isLive = record !== undefined && record.state !== 'none';
    if (isLive && record.link?.subscriptionId === theirs.link.subscriptionId) {
      syncRecord(book, record, theirs, clock.now());
      const isPriced = theirs.terms !== undefined || theirs.standing === 'ended';
      return { kind: isPriced ? 'synced' : 'unknown_price' };
    }
    const hasEnded = theirs.endsAtMs !== undefined && theirs.endsAtMs <= clock.now();
    if (theirs.standing !== 'paid' || hasEnded) return { kind: 'unchanged' };
    if (isLive) return { kind: 'second' };
    if (theirs.terms === undefined) return { kind: 'unknown_price' };
    return { kind: 'started', toExpire: this.#start(workspaceNo, theirs) };
  }

  #start(workspaceNo: number, theirs: ProviderSubscription): CheckoutRecord[] {
    const { book, checkouts } = this.#options;
    const { terms, link, period, endsAtMs, reason } = theirs;
    book.apply(workspaceNo, 'checkout_completed', { terms, provider: 'stripe', link, period });
    if (endsAtMs !== undefined) {
      book.apply(workspaceNo, 'provider_canceled', { effectiveAtMs: endsAtMs, reason });
    }
    const own = checkouts.find(theirs.checkoutId ?? '');
    if (own !== undefined && own.workspaceNo === workspaceNo) checkouts.complete(own);
    const other = checkouts.replaceOpen(workspaceNo);
    return other === undefined ? [] : [other];
  }
}
