/**
 * The port of a payment provider, and how what it says becomes the subscription here.
 *
 * A provider's messages come late, twice and out of order. So none is believed for what it says: it
 * names a subscription, whose present state is fetched and compared with the record, and every
 * difference goes through the transition table as a fact. Two messages give the same end in any order.
 */
import type {
  BillingInterval,
  CheckoutRecord,
  PaidPlan,
  ProviderLink,
  SubscriptionRecord,
} from '../model/billing.ts';
import type { Period } from './period.ts';
import { isSame, type Subscriptions, type Terms } from './subscriptions.ts';

/** A subscription as the provider has it now. */
export interface ProviderSubscription {
  readonly link: ProviderLink;
  /** What our checkout wrote on it; absent when it is none of ours. */
  readonly workspaceId: string | undefined;
  readonly checkoutId: string | undefined;
  readonly standing: 'pending' | 'paid' | 'unpaid' | 'ended';
  /** Undefined for a price that is not in the catalogue. */
  readonly terms: Terms | undefined;
  readonly period: Period;
  /** When it ends, once it is canceled. */
  readonly endsAtMs: number | undefined;
  readonly reason: string | undefined;
}

/** A verified message. */
export interface ProviderEvent {
  readonly id: string;
  readonly type: string;
  /** The subscription it is about; undefined when about something else. */
  readonly subscriptionId: string | undefined;
}

export interface HostedCheckout {
  readonly sessionId: string;
  readonly url: string;
  readonly expiresAtMs: number;
}

/** Every method but `verify` throws Failure overloaded when the provider does not answer. */
export interface PaymentProvider {
  readonly name: 'stripe';
  openCheckout(request: {
    readonly id: string;
    readonly workspaceId: string;
    readonly plan: PaidPlan;
    readonly interval: BillingInterval;
    readonly customerId: string | undefined;
    /** Our page of the checkout: where the customer comes back to. */
    readonly returnUrl: string;
  }): Promise<HostedCheckout>;
  /** Makes sure that nobody pays it any more; a session that is over stays as it is. */
  expireCheckout(sessionId: string): Promise<void>;
  /** Undefined when there is none of that id. */
  fetch(subscriptionId: string): Promise<ProviderSubscription | undefined>;
  change(subscriptionId: string, terms: Terms): Promise<ProviderSubscription>;
  cancel(subscriptionId: string, reason: string | undefined): Promise<ProviderSubscription>;
  resume(subscriptionId: string): Promise<ProviderSubscription>;
  portalUrl(customerId: string, returnUrl: string): Promise<string>;
  /** @throws Failure invalid_signature, invalid_json */
  verify(body: Uint8Array, signature: string, nowMs: number): ProviderEvent;
}

/**
 * What became of a provider's state: `foreign` is not ours, `unchanged` was known or waits for its first
 * payment, `second` is paid beside a subscription that the workspace has, `unknown_price` cannot be
 * mapped to a plan.
 */
export type SyncOutcome =
  | { readonly kind: 'started'; readonly toExpire: readonly CheckoutRecord[] }
  | { readonly kind: 'synced' | 'unchanged' | 'foreign' | 'second' | 'unknown_price' };

/** Applies the provider's present state to a record that has this subscription. Inside a transaction. */
export function syncRecord(
  book: Subscriptions,
  record: SubscriptionRecord,
  theirs: ProviderSubscription,
  nowMs: number,
): void {
  const { workspaceNo } = record;
  const { standing, period, terms, endsAtMs, reason } = theirs;
  if (standing === 'pending') return;
  if (standing === 'ended' || (endsAtMs !== undefined && endsAtMs <= nowMs)) {
    book.apply(workspaceNo, 'provider_ended', { reason });
    return;
  }
  if (period.endMs !== record.periodEndMs || period.startMs !== record.periodStartMs) {
    book.apply(workspaceNo, 'provider_renewed', { period });
  }
  if (terms !== undefined && !isSame(record, terms)) {
    book.apply(workspaceNo, 'provider_changed', { terms, period });
  }
  const isMoved = record.effectiveAtMs !== undefined && record.effectiveAtMs !== endsAtMs;
  if (isMoved) book.apply(workspaceNo, 'provider_resumed');
  if (endsAtMs !== undefined) {
    book.apply(workspaceNo, 'provider_canceled', { effectiveAtMs: endsAtMs, reason });
  }
  book.apply(workspaceNo, standing === 'paid' ? 'payment_made' : 'payment_failed');
}
