/**
 * The interface of a payment provider, and how its state is applied to the subscription here.
 *
 * A provider's events come late, twice and out of order. So an event only names a subscription: its
 * present state is fetched and compared with the record, and every difference goes through the transition
 * table as a fact. Events lead to the same state in any order.
 */
import type {
  BillingInterval,
  CheckoutRecord,
  PaidPlan,
  ProviderLink,
  SubscriptionRecord,
} from '../../model/billing.ts';
import type { Period } from './period.ts';
import { isSame, type Subscriptions, type Terms } from './subscriptions.ts';

/** A subscription as the provider has it now. */
export interface ProviderSubscription {
  readonly link: ProviderLink;
  /** What our checkout wrote on it; undefined for a subscription of others. */
  readonly workspaceId: string | undefined;
  readonly checkoutId: string | undefined;
  readonly status: 'pending' | 'paid' | 'unpaid' | 'ended';
  /** Undefined for a price that is not in the catalogue. */
  readonly terms: Terms | undefined;
  readonly period: Period;
  /** When it ends, once it is canceled. */
  readonly endsAtMs: number | undefined;
  readonly reason: string | undefined;
}

/** A verified event. */
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
    /** Our page of the checkout, to which the customer returns. */
    readonly returnUrl: string;
  }): Promise<HostedCheckout>;
  /** Makes sure that it is not paid any more; a session that has ended stays as it is. */
  expireCheckout(sessionId: string): Promise<void>;
  /** Undefined when Stripe has no subscription with this id. */
  fetch(subscriptionId: string): Promise<ProviderSubscription | undefined>;
  change(subscriptionId: string, terms: Terms): Promise<ProviderSubscription>;
  cancel(subscriptionId: string, reason: string | undefined): Promise<ProviderSubscription>;
  resume(subscriptionId: string): Promise<ProviderSubscription>;
  portalUrl(customerId: string, returnUrl: string): Promise<string>;
  /** @throws Failure invalid_signature, invalid_json */
  verify(body: Uint8Array, signature: string, nowMs: number): ProviderEvent;
}

/**
 * What a provider's state led to: `unknown` is a subscription of others, `unchanged` was known or waits for
 * its first payment, `second` is paid in addition to the subscription of the workspace, `unknown_price` cannot
 * be mapped to a plan.
 */
export type SyncOutcome =
  | { readonly kind: 'started'; readonly toExpire: CheckoutRecord | undefined }
  | { readonly kind: 'synced' | 'unchanged' | 'unknown' | 'second' | 'unknown_price' };

/** Applies the provider's present state to a record that has this subscription. Inside a transaction. */
export function syncRecord(
  subscriptions: Subscriptions,
  record: SubscriptionRecord,
  theirs: ProviderSubscription,
  nowMs: number,
): void {
  const { workspaceNo } = record;
  const { status, period, terms, endsAtMs, reason } = theirs;
  if (status === 'pending') return;
  if (status === 'ended' || (endsAtMs !== undefined && endsAtMs <= nowMs)) {
    subscriptions.apply(workspaceNo, 'provider_ended', { reason });
    return;
  }
  if (period.endMs !== record.periodEndMs || period.startMs !== record.periodStartMs) {
    subscriptions.apply(workspaceNo, 'provider_renewed', { period });
  }
  if (terms !== undefined && !isSame(record, terms)) {
    subscriptions.apply(workspaceNo, 'provider_changed', { terms, period });
  }
  const isMoved = record.effectiveAtMs !== undefined && record.effectiveAtMs !== endsAtMs;
  if (isMoved) subscriptions.apply(workspaceNo, 'provider_resumed');
  if (endsAtMs !== undefined) {
    subscriptions.apply(workspaceNo, 'provider_canceled', { effectiveAtMs: endsAtMs, reason });
  }
  subscriptions.apply(workspaceNo, status === 'paid' ? 'payment_made' : 'payment_failed');
}
