/**
 * Billing: requests of the API, and what falls due.
 *
 *   checkout --(owner or operator confirms | Stripe is paid)--> subscription --> plan of the workspace
 *
 * Without a provider (`manual`) an owner or the operator confirms a checkout, and periods renew by themselves: people settle
 * the invoice. If only the operator confirms, a change that raises limits or the price waits as a checkout. If nothing is
 * sold, the operator sets plans and every request is refused. With Stripe, a request changes the subscription there first,
 * and its answer is applied like an event. Requests and events of one subscription run one after the other, so older data
 * never overwrites newer.
 */
import type {
  BillingInterval,
  CheckoutRecord,
  Confirmer,
  PaidPlan,
  SubscriptionRecord,
} from '../../model/billing.ts';
import type { Clock } from '../../model/clock.ts';
import { Failure, notFound } from '../../model/failure.ts';
import type { IdSource } from '../../model/ids.ts';
import { type Actor, limitsOf, planLimits, type WorkspaceRecord } from '../../model/workspace.ts';
import type { Outbox } from '../../webhooks/outbox.ts';
import type { Management } from '../../store/management/management.ts';
import type { Logger } from '../../platform/log.ts';
import { Ticker } from '../../platform/ticker.ts';
import { Catalogue, type PlanPrices } from './catalogue.ts';
import { assertOpen, checkoutLifetimeMs, Checkouts, operatorLifetimeMs } from './checkouts.ts';
import type { PaymentProvider } from './provider.ts';
import { ProviderEvents } from './provider-events.ts';
import { transition } from './subscription.ts';
import { isSame, type PlanWriter, Subscriptions, type Terms } from './subscriptions.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';

/** Batches of one tick: the rest waits for the next, so that catching up does not hold up the API. */
const tickBatchesMax = 10;
/** A canceled plan becomes Free at most this long after its time. */
const tickMs = 1_000;

export interface BillingOptions {
  readonly store: Management;
  readonly outbox: Outbox;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly log: Logger;
  readonly plans: PlanWriter;
  readonly prices: PlanPrices;
  readonly currency: string;
  /** Where our pages are, without a trailing slash. */
  readonly publicUrl: string;
  /** Undefined = people settle by hand, or this installation sells no plans. */
  readonly provider: PaymentProvider | undefined;
  /** Undefined = this installation sells no plans. */
  readonly confirmedBy: Confirmer | undefined;
}

export interface BillingStatus {
  readonly workspace: WorkspaceRecord;
  /** Undefined when there never was one. */
  readonly subscription: SubscriptionRecord | undefined;
  /** What waits to be paid or confirmed. */
  readonly openCheckout: CheckoutRecord | undefined;
}

export class Billing {
  readonly catalogue: Catalogue;
  /** Who completes a checkout; undefined = this installation sells no plans. */
  readonly confirmedBy: Confirmer | undefined;
  readonly #options: BillingOptions;
  readonly #subscriptions: Subscriptions;
  readonly #checkouts: Checkouts;
  readonly #events: ProviderEvents;
  #ticker: Ticker | undefined;

  constructor(options: BillingOptions) {
    const { store, outbox, clock, plans, prices, currency, provider, log } = options;
    this.#options = options;
    this.catalogue = new Catalogue(options.confirmedBy && prices, currency);
    this.confirmedBy = options.confirmedBy;
    this.#subscriptions = new Subscriptions({ store, outbox, clock, plans });
    this.#checkouts = new Checkouts(store, clock);
    const [subscriptions, checkouts] = [this.#subscriptions, this.#checkouts];
    this.#events = new ProviderEvents({ store, clock, log, subscriptions, checkouts, provider });
  }

  /** @throws Failure not_found */
  status(workspaceNo: WorkspaceNo): BillingStatus {
    const workspace = this.#options.store.workspaces.get(workspaceNo);
    if (workspace === undefined) throw notFound('workspace');
    return {
      workspace,
      subscription: this.#subscriptions.find(workspaceNo),
      openCheckout:
        this.confirmedBy === undefined ? undefined : this.#checkouts.openOf(workspaceNo),
    };
  }

  /**
   * Opens a checkout; an open one is replaced.
   * @param inTransaction runs inside the transaction that stores it
   * @throws Failure conflict (there is a subscription that is changed otherwise, or the plan is the present
   *   one), validation_failed (not sold), overloaded (the provider does not answer), billing_disabled
   */
  async openCheckout(
    actor: Actor,
    wish: { readonly plan: PaidPlan; readonly interval: BillingInterval },
    inTransaction: (checkout: CheckoutRecord) => void,
  ): Promise<CheckoutRecord> {
    const { store, ids, clock, provider, publicUrl } = this.#options;
    this.#assertSold();
    const lifetimeMs = this.confirmedBy === 'operator' ? operatorLifetimeMs : checkoutLifetimeMs;
    const price = this.catalogue.priceOf(wish.plan, wish.interval);
    await this.#subscriptions.settle(actor.workspaceNo);
    this.#assertWanted(actor.workspaceNo, { ...wish, price });
    const id = ids.newId('chk');
    const returnUrl = `${publicUrl}/billing/checkout/${id}`;
    const hosted = await provider?.openCheckout({
      id,
      workspaceId: actor.workspaceId,
      ...wish,
      customerId: this.#subscriptions.find(actor.workspaceNo)?.link?.customerId,
      returnUrl,
    });
    const nowMs = clock.now();
    const checkout: CheckoutRecord = {
      id,
      workspaceNo: actor.workspaceNo,
      ...wish,
      price,
      provider: provider?.name ?? 'manual',
      url: hosted?.url ?? returnUrl,
      state: 'open',
      ...(hosted === undefined ? {} : { sessionId: hosted.sessionId }),
      createdBy: actor.userId,
      createdAtMs: nowMs,
      expiresAtMs: hosted?.expiresAtMs ?? nowMs + lifetimeMs,
    };
    let replaced: CheckoutRecord | undefined = checkout;
    try {
      replaced = await store.environment.transaction(() => {
        this.#assertWanted(actor.workspaceNo, { ...wish, price });
        const before = this.#checkouts.open(checkout);
        inTransaction(checkout);
        return before;
      });
    } finally {
      // The replaced checkout, or this one if it was not stored, must not be paid.
      await this.#events.expireCheckout(replaced);
    }
    return checkout;
  }

  /** @throws Failure not_found, also for another workspace's */
  checkout(workspaceNo: WorkspaceNo, id: string): CheckoutRecord {
    return this.#checkouts.get(workspaceNo, id);
  }

  /** Open checkouts of all workspaces, for the operator. */
  pending(): CheckoutRecord[] {
    return [...this.#checkouts.allOpen()];
  }

  /**
   * Confirms a payment that people settled: the paid plan starts, or the subscription changes.
   * @param workspaceNo of the checkout; undefined = any, for the operator
   * @param inTransaction runs inside the transaction that stores it
   * @throws Failure not_found, conflict (not open, of Stripe, or the subscription does not allow it), forbidden
   *   (only the operator confirms here), billing_disabled
   */
  async confirm(
    workspaceNo: WorkspaceNo | undefined,
    id: string,
    inTransaction: (checkout: CheckoutRecord) => void,
  ): Promise<CheckoutRecord> {
    const find = (): CheckoutRecord => {
      const found = this.#checkouts.find(id);
      if (found !== undefined && found.workspaceNo === (workspaceNo ?? found.workspaceNo)) {
        return found;
      }
      throw notFound('checkout');
    };
    // The operator's command may have other settings than the service: the checkout has its price.
    if (workspaceNo !== undefined) this.#assertSold();
    await this.#subscriptions.settle(find().workspaceNo);
    return await this.#options.store.environment.transaction(() => {
      const checkout = find();
      if (checkout.provider !== 'manual') {
        const why = 'it is paid at Stripe, expected one of the manual provider';
        throw new Failure('conflict', `Cannot confirm the checkout: ${why}`);
      }
      if (workspaceNo !== undefined && this.confirmedBy !== 'owner') {
        const why = 'only the operator can, with `quietzone billing confirm`';
        throw new Failure('forbidden', `Cannot confirm the checkout: ${why}`);
      }
      assertOpen(checkout);
      const event = isChangedByCheckout(this.#subscriptions.find(checkout.workspaceNo))
        ? 'change_asked'
        : 'checkout_completed';
      this.#subscriptions.apply(checkout.workspaceNo, event, { terms: termsOf(checkout) });
      const complete = this.#checkouts.complete(checkout);
      inTransaction(complete);
      return complete;
    });
  }

  /**
   * Changes plan, interval or both at once. The present ones change nothing.
   * @throws Failure conflict, validation_failed, overloaded, checkout_required (it waits for the operator),
   *   billing_disabled
   */
  async change(
    workspaceNo: WorkspaceNo,
    wish: { readonly plan?: PaidPlan | undefined; readonly interval?: BillingInterval | undefined },
  ): Promise<BillingStatus> {
    /** Undefined when nothing changes: the price paid may differ from today's catalogue. */
    const wanted = (record: SubscriptionRecord): Terms | undefined => {
      const { plan = record.plan, interval = record.interval } = wish;
      if (plan === record.plan && interval === record.interval) return undefined;
      return { plan, interval, price: this.catalogue.priceOf(plan, interval) };
    };
    return await this.#ask(workspaceNo, 'change_asked', {
      atProvider: async (provider, id, record) => {
        const terms = wanted(record);
        return terms === undefined ? undefined : await provider.change(id, terms);
      },
      here: (record) => {
        const terms = wanted(record);
        if (terms === undefined) return;
        this.#assertNotDearer(record, terms);
        this.#subscriptions.apply(workspaceNo, 'change_asked', { terms });
      },
    });
  }

  /** Ends the subscription with its period. @throws Failure conflict, overloaded, billing_disabled */
  async cancel(workspaceNo: WorkspaceNo, reason: string | undefined): Promise<BillingStatus> {
    return await this.#ask(workspaceNo, 'cancel_asked', {
      atProvider: async (provider, id) => {
        const theirs = await provider.cancel(id, reason);
        return { ...theirs, reason: reason ?? theirs.reason };
      },
      here: () => void this.#subscriptions.apply(workspaceNo, 'cancel_asked', { reason }),
    });
  }

  /**
   * Withdraws a cancellation before it takes effect.
   * @param inTransaction runs inside the transaction that stores it
   * @throws Failure conflict, overloaded, billing_disabled
   */
  async resume(
    workspaceNo: WorkspaceNo,
    inTransaction: (status: BillingStatus) => void,
  ): Promise<BillingStatus> {
    return await this.#ask(workspaceNo, 'resume_asked', {
      atProvider: async (provider, id) => await provider.resume(id),
      here: () => {
        this.#subscriptions.apply(workspaceNo, 'resume_asked');
        inTransaction(this.status(workspaceNo));
      },
    });
  }

  /**
   * Where the customer finds invoices and means of payment.
   * @throws Failure conflict, overloaded, billing_disabled
   */
  async portalUrl(workspaceNo: WorkspaceNo): Promise<string> {
    const { provider, publicUrl } = this.#options;
    this.#assertSold();
    const link = this.#subscriptions.find(workspaceNo)?.link;
    if (provider === undefined || link === undefined) {
      const why = provider === undefined ? 'the provider is manual' : 'there is no customer yet';
      throw new Failure('conflict', `Cannot open the portal: ${why}, expected a Stripe customer`);
    }
    return await provider.portalUrl(link.customerId, publicUrl);
  }

  /**
   * An event of the provider. Fetches the present state of the subscription; has effect once.
   * @throws Failure invalid_signature, invalid_json, not_found (no provider), overloaded (send it again)
   */
  async receive(body: Uint8Array, signature: string | undefined): Promise<void> {
    await this.#events.receive(body, signature);
  }

  /**
   * Runs due work once a second. Due times are stored, so a late or failed tick loses nothing. Resolves once the work that
   * fell due while the service was down is done.
   */
  async start(everyMs = tickMs): Promise<void> {
    this.#ticker = new Ticker({
      everyMs,
      run: () => this.tick(),
      log: this.#options.log,
      failed: 'billing failed, retrying',
      resumed: 'billing resumed',
    });
    await this.#ticker.runNow();
  }

  /** Carries out what is due: ends, renewals, expiry. */
  async tick(): Promise<void> {
    for (let batch = 0; batch < tickBatchesMax; batch++) {
      const { taken, toRefresh } = await this.#subscriptions.runDue();
      this.#events.refresh(toRefresh.flatMap(({ link }) => link?.subscriptionId ?? []));
      if (taken === 0) break;
    }
    await this.#checkouts.expire();
  }

  /**
   * Stops storing the provider's state. Resolves after the last tick. Call it before the management environment is closed.
   */
  async close(): Promise<void> {
    this.#events.close();
    await this.#ticker?.close();
  }

  /** @throws Failure billing_disabled */
  #assertSold(): void {
    if (this.confirmedBy !== undefined) return;
    const why = 'this installation sells no plans, its operator sets them';
    throw new Failure('billing_disabled', `Cannot change the subscription: ${why}`);
  }

  #assertWanted(workspaceNo: WorkspaceNo, terms: Terms): void {
    const record = this.#subscriptions.find(workspaceNo);
    const isChange = this.confirmedBy === 'operator' && isChangedByCheckout(record);
    if (!isChange) transition(record?.state ?? 'none', 'checkout_completed');
    const isHad = isChange
      ? record !== undefined && isSame(record, terms)
      : this.status(workspaceNo).workspace.plan === terms.plan;
    if (!isHad) return;
    const whose = isChange ? 'the subscription is for' : 'the workspace has the plan';
    const had = isChange ? `${terms.plan} by the ${terms.interval}` : terms.plan;
    throw new Failure(
      'conflict',
      `Cannot open a checkout: ${whose} ${had} already, expected another`,
    );
  }

  /**
   * If another party confirms, an owner alone cannot raise the limits of the workspace or the price.
   * @throws Failure checkout_required
   */
  #assertNotDearer({ workspaceNo, price }: SubscriptionRecord, terms: Terms): void {
    if (this.confirmedBy === 'owner') return;
    const now = limitsOf(this.status(workspaceNo).workspace);
    const then = planLimits[terms.plan];
    const isMore =
      then.perMinute > now.perMinute || (then.perDay ?? Infinity) > (now.perDay ?? Infinity);
    const isSameCurrency = terms.price.currency === price.currency;
    if (!isMore && isSameCurrency && terms.price.amount <= price.amount) return;
    const why =
      this.confirmedBy === 'operator'
        ? 'the operator must confirm higher limits or a higher price, expected a checkout'
        : 'people settled it by hand and Stripe takes payments now, cancel it first';
    throw new Failure('checkout_required', `Cannot change the subscription: ${why}`);
  }

  /** A person's request: checked against the table, then carried out at the provider or here. */
  async #ask(
    workspaceNo: WorkspaceNo,
    event: 'change_asked' | 'cancel_asked' | 'resume_asked',
    act: {
      readonly atProvider: Parameters<ProviderEvents['act']>[1];
      readonly here: (record: SubscriptionRecord) => void;
    },
  ): Promise<BillingStatus> {
    this.#assertSold();
    await this.#subscriptions.settle(workspaceNo);
    const allowed = (): SubscriptionRecord => {
      const record = this.#subscriptions.find(workspaceNo);
      transition(record?.state ?? 'none', event);
      if (record === undefined) throw new Error(`Cannot ${event}: there is no subscription`);
      return record;
    };
    const record = allowed();
    if (record.provider === 'stripe') await this.#events.act(allowed, act.atProvider);
    else await this.#options.store.environment.transaction(() => act.here(allowed()));
    return this.status(workspaceNo);
  }
}

function termsOf({ plan, interval, price }: CheckoutRecord): Terms {
  return { plan, interval, price };
}

/** A confirmed checkout changes a running subscription that people settle; otherwise it starts one. */
function isChangedByCheckout(record: SubscriptionRecord | undefined): boolean {
  return record?.state === 'active' && record.provider === 'manual';
}
