/**
 * What plans cost. Prices are the operator's (`billing.prices`); a plan priced 0 is not sold here.
 */
import {
  type BillingInterval,
  billingIntervals,
  isPaidPlan,
  type PaidPlan,
  type Price,
} from '../../model/billing.ts';
import { type Failure, invalid } from '../../model/failure.ts';
import { type Plan, planLimits, type PlanLimits, plans } from '../../model/workspace.ts';

export type PlanPrices = Readonly<Record<PaidPlan, Readonly<Record<BillingInterval, number>>>>;

export interface Offer {
  readonly plan: Plan;
  readonly limits: PlanLimits;
  /** Intervals it is sold at; none for Free and for what is not sold here. */
  readonly prices: ReadonlyArray<{ readonly interval: BillingInterval; readonly amount: number }>;
}

export class Catalogue {
  readonly currency: string;
  readonly #prices: PlanPrices | undefined;

  /** @param prices undefined = this installation sells no plans */
  constructor(prices: PlanPrices | undefined, currency: string) {
    this.#prices = prices;
    this.currency = currency;
  }

  /** Every plan, the cheapest first. */
  offers(): Offer[] {
    return plans.map((plan) => {
      const prices = isPaidPlan(plan) ? this.#pricesOf(plan) : [];
      return { plan, limits: planLimits[plan], prices };
    });
  }

  /** @throws Failure validation_failed when it is not sold here */
  priceOf(plan: PaidPlan, interval: BillingInterval): Price {
    const amount = this.#amountOf(plan, interval);
    if (amount > 0) return { amount, currency: this.currency };
    throw notSold(plan, interval);
  }

  #pricesOf(plan: PaidPlan): Offer['prices'] {
    const all = billingIntervals.map((interval) => ({
      interval,
      amount: this.#amountOf(plan, interval),
    }));
    return all.filter(({ amount }) => amount > 0);
  }

  #amountOf(plan: PaidPlan, interval: BillingInterval): number {
    return this.#prices?.[plan][interval] ?? 0;
  }
}

export function notSold(plan: PaidPlan, interval: BillingInterval): Failure {
  return invalid('plan', 'not_sold', `The plan ${plan} is not sold by the ${interval} here`);
}

/** Digits after the point of a currency: 2 for EUR, 0 for JPY, 3 for KWD. */
export function currencyDigits(currency: string): number {
  const format = new Intl.NumberFormat('en', { style: 'currency', currency });
  return format.resolvedOptions().maximumFractionDigits ?? 2;
}
