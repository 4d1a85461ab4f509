/**
 * The tables of billing, in the management environment: a plan, its subscription, its timer and its
 * event commit together.
 *
 *   subscriptions        workspaceNo                                          -> SubscriptionRecord
 *   subscription_due     [dueMs, workspaceNo]                                 -> 1: the durable timer
 *   checkouts            "chk_…"                                              -> CheckoutRecord
 *   open_checkouts       workspaceNo                                          -> "chk_…", at most one
 *   provider_events      provider's event id                                  -> time received, ms
 *   billing_expiry       [removeAtMs, "chk_…" | provider's event id]          -> 1, to expire it
 */
import type { CheckoutRecord, SubscriptionRecord } from '../../model/billing.ts';
import type { StoreEnvironment } from '../environment.ts';

export function openBillingTables(environment: StoreEnvironment) {
  return {
    subscriptions: environment.table<number, SubscriptionRecord>('subscriptions', {
      key: 'uint32',
    }),
    subscriptionDue: environment.set<[number, number]>('subscription_due'),
    checkouts: environment.table<string, CheckoutRecord>('checkouts'),
    openCheckouts: environment.table<number, string>('open_checkouts', { key: 'uint32' }),
    providerEvents: environment.table<string, number>('provider_events'),
    billingExpiry: environment.set<[number, string]>('billing_expiry'),
  };
}
