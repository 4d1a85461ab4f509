/** Plans and subscriptions: the API's types, and their labels. */
import type { Confirmer } from '../../../model/billing.ts';
import type { Plan } from '../../../model/workspace.ts';
import { formatMoney, formatNumber } from '../../client/format.ts';

export type Interval = 'month' | 'year';

export interface Price {
  readonly interval: Interval;
  readonly amount: number;
  readonly currency: string;
}

export interface Offer {
  readonly plan: Plan;
  readonly limits: { readonly perMinute: number; readonly perDay: number | null };
  readonly prices: readonly Price[];
}

export interface Catalogue {
  readonly data: readonly Offer[];
  readonly provider: 'manual' | 'stripe' | 'none';
  /** Null = plans have no prices. */
  readonly confirmedBy: Confirmer | null;
}

export interface Checkout {
  readonly id: string;
  readonly url: string;
  readonly status: string;
  readonly plan: Plan;
  readonly interval: Interval;
  readonly amount: number;
  readonly currency: string;
  readonly confirmedBy: Confirmer;
  readonly expiresAt: string;
}

export interface Subscription {
  readonly plan: Plan;
  readonly status: 'none' | 'active' | 'past_due' | 'canceling';
  readonly interval?: Interval;
  readonly amount?: number;
  readonly currency?: string;
  readonly provider?: string;
  readonly currentPeriodEnd?: string;
  readonly effectiveAt?: string;
  readonly openCheckout?: Checkout;
}

interface UsageWindow {
  readonly used: number;
  readonly limit: number | null;
  readonly resetAt: string;
}

export interface Usage {
  readonly plan: Plan;
  readonly minute: UsageWindow;
  readonly day: UsageWindow;
  readonly qrCodes: number;
}

export const priceText = (price: { amount: number; currency: string }, interval: string): string =>
  `${formatMoney(price.amount, price.currency)} a ${interval}`;

export const limitText = ({ perMinute, perDay }: Offer['limits']): string =>
  `${formatNumber(perMinute)} requests a minute, ${perDay === null ? 'no daily cap' : `${formatNumber(perDay)} a day`}`;

export const isPaid = ({ status }: Subscription): boolean =>
  status === 'active' || status === 'past_due' || status === 'canceling';
