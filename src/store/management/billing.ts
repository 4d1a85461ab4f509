/**
 * The tables of billing, in the management environment: a plan, its subscription, its timer and its
 * event commit together.
 *
 *   subscriptions        workspaceNo                                          -> SubscriptionRecord
 *   subscription_due     [dueMs, workspaceNo]                                 -> 1: the durable timer
 *   checkouts            "chk_…"                                              -> CheckoutRecord
 *   open_checkouts       workspaceNo                                          -> "chk_…", at most one
 *   provider_events      provider's event id                                  -> time received, ms
 *   billing_expiry       [removeAtMs, "chk_…" | provider's event id]          -> 1, for the sweep
 */
import type { CheckoutRecord, SubscriptionRecord } from '../../model/billing.ts';
import type { StoreEnvironment, Table } from '../environment.ts';

export interface BillingTables {
  readonly subscriptions: Table<number, SubscriptionRecord>;
  readonly subscriptionDue: Table<[number, number], number>;
  readonly checkouts: Table<string, CheckoutRecord>;
  readonly openCheckouts: Table<number, string>;
  readonly providerEvents: Table<string, number>;
  readonly billingExpiry: Table<[number, string], number>;
}

export function openBillingTables(environment: StoreEnvironment): BillingTables {
  return {
    subscriptions: environment.table('subscriptions', { key: 'uint32' }),
    subscriptionDue: environment.table('subscription_due'),
    checkouts: environment.table('checkouts'),
    openCheckouts: environment.table('open_checkouts', { key: 'uint32' }),
    providerEvents: environment.table('provider_events'),
    billingExpiry: environment.table('billing_expiry'),
  };
}
