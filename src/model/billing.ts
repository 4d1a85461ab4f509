/** Subscriptions and checkouts. */
import type { Plan } from './workspace.ts';
import type { WorkspaceNo } from './numbers.ts';

export const billingIntervals = ['month', 'year'] as const;
export type BillingInterval = (typeof billingIntervals)[number];

export const paidPlans = ['starter', 'pro', 'business', 'enterprise'] as const;
export type PaidPlan = (typeof paidPlans)[number];

export function isPaidPlan(plan: Plan): plan is PaidPlan {
  return plan !== 'free';
}

export interface Price {
  /** Major units: 9.5 is nine euro fifty. */
  readonly amount: number;
  /** Upper-case ISO 4217. */
  readonly currency: string;
}

export const billingProviders = ['manual', 'stripe'] as const;
export type BillingProvider = (typeof billingProviders)[number];

export const confirmers = ['owner', 'operator', 'payment'] as const;
export type Confirmer = (typeof confirmers)[number];

/** `product/billing/subscription.ts` has every transition. */
export const subscriptionStates = ['none', 'active', 'past_due', 'canceling'] as const;
export type SubscriptionState = (typeof subscriptionStates)[number];

export interface ProviderLink {
  readonly customerId: string;
  readonly subscriptionId: string;
}

/** One per workspace; stays with state `none` after its end, for the customer id. */
export interface SubscriptionRecord {
  readonly workspaceNo: WorkspaceNo;
  readonly state: SubscriptionState;
  readonly plan: PaidPlan;
  readonly interval: BillingInterval;
  readonly price: Price;
  readonly provider: BillingProvider;
  readonly link?: ProviderLink;
  readonly startedAtMs: number;
  /** Periods count from here: the 31st stays the 31st after a February. */
  readonly anchorMs: number;
  readonly periodStartMs: number;
  readonly periodEndMs: number;
  /** In state `canceling`: when the plan becomes Free. */
  readonly effectiveAtMs?: number;
  readonly reason?: string;
}

export const checkoutStates = ['open', 'complete', 'expired', 'replaced'] as const;
export type CheckoutState = (typeof checkoutStates)[number];

export interface CheckoutRecord {
  readonly id: string;
  readonly workspaceNo: WorkspaceNo;
  readonly plan: PaidPlan;
  readonly interval: BillingInterval;
  readonly price: Price;
  readonly provider: BillingProvider;
  readonly url: string;
  /** `expired` is never stored: it is `open` after `expiresAtMs`. */
  readonly state: CheckoutState;
  readonly sessionId?: string;
  readonly createdBy: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}
