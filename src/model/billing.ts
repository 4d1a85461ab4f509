/**
 * Money: the words of subscriptions and checkouts. Amounts are in major units (9.5 is nine euro fifty),
 * currencies upper-case ISO 4217, as the wire has them.
 */
import type { Plan } from './workspace.ts';
import type { WorkspaceNo } from './numbers.ts';

export const billingIntervals = ['month', 'year'] as const;
export type BillingInterval = (typeof billingIntervals)[number];

/** Plans that cost something: what a checkout can be for. */
export const paidPlans = ['starter', 'pro', 'business', 'enterprise'] as const;
export type PaidPlan = (typeof paidPlans)[number];

export function isPaidPlan(plan: Plan): plan is PaidPlan {
  return plan !== 'free';
}

export interface Price {
  /** Major units. */
  readonly amount: number;
  readonly currency: string;
}

export const billingProviders = ['manual', 'stripe'] as const;
export type BillingProvider = (typeof billingProviders)[number];

/** What completes a checkout: an owner's word, the operator's command, or Stripe's payment. */
export const confirmers = ['owner', 'operator', 'payment'] as const;
export type Confirmer = (typeof confirmers)[number];

/** A subscription's one state field; `billing/subscription.ts` has every transition. */
export const subscriptionStates = ['none', 'active', 'past_due', 'canceling'] as const;
export type SubscriptionState = (typeof subscriptionStates)[number];

/** A subscription at the payment provider. */
export interface ProviderLink {
  readonly customerId: string;
  readonly subscriptionId: string;
}

/** One a workspace; kept with state `none` after its end, for the customer behind it. */
export interface SubscriptionRecord {
  readonly workspaceNo: WorkspaceNo;
  readonly state: SubscriptionState;
  readonly plan: PaidPlan;
  readonly interval: BillingInterval;
  readonly price: Price;
  readonly provider: BillingProvider;
  readonly link?: ProviderLink;
  readonly startedAtMs: number;
  /** Periods are counted from here: the 31st stays the 31st after a February. */
  readonly anchorMs: number;
  readonly periodStartMs: number;
  readonly periodEndMs: number;
  /** When the scheduler reads it next: its entry in the table of due times. Absent in state `none`. */
  readonly dueMs?: number;
  /** State `canceling`: when the plan becomes Free. */
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
  /** Where it is paid or confirmed. */
  readonly url: string;
  /** `expired` is never stored: it is `open` after its time. */
  readonly state: CheckoutState;
  /** Stripe's session. */
  readonly sessionId?: string;
  readonly createdBy: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}
