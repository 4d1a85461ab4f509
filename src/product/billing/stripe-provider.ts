/**
 * Stripe, through its own package, loaded only where it is configured (0.2 s and 6 MB at start).
 *
 * Subscriptions carry our workspace and checkout in their metadata, so that every event about one leads to
 * its workspace. Prices are Stripe's own, by the ids in `billing.stripe.prices`; changes
 * between them are prorated by Stripe. Nothing of a request, an answer or the key is logged, only the
 * kind of a failure.
 */
import type { Stripe } from 'stripe';
import type { BillingInterval, PaidPlan } from '../../model/billing.ts';
import { billingIntervals, paidPlans } from '../../model/billing.ts';
import { Failure } from '../../model/failure.ts';
import type { Logger } from '../../platform/log.ts';
import { currencyDigits, notSold } from './catalogue.ts';
import type {
  HostedCheckout,
  PaymentProvider,
  ProviderEvent,
  ProviderSubscription,
} from './provider.ts';
import type { Terms } from './subscriptions.ts';

/** Older signatures are refused: Stripe's own default. */
const toleranceSeconds = 300;
/** Stripe's package retries safe requests with backoff. */
const networkRetriesMax = 2;
const retryAfterSeconds = 30;
/** One attempt of a request; the package retries twice. */
const attemptMsMax = 8_000;
/** Currencies that ISO counts without decimals and Stripe with two. */
const twoDigitsAtStripe: ReadonlySet<string> = new Set(['ISK', 'UGX']);
/** Ids of Stripe are shorter; ours become keys of a table. */
const idPattern = /^[\w-]{1,255}$/;

export interface StripeOptions {
  readonly secretKey: string;
  /** `whsec_…` of the webhook endpoint. */
  readonly webhookSecret: string;
  /** `https://api.stripe.com`, or a fake of it. */
  readonly apiBase: string;
  /** Stripe's price ids; empty = not sold. */
  readonly prices: Readonly<Record<PaidPlan, Readonly<Record<BillingInterval, string>>>>;
}

export async function openStripe(options: StripeOptions, log: Logger): Promise<PaymentProvider> {
  const { default: Client } = await import('stripe');
  const base = new URL(options.apiBase);
  const isPlain = base.protocol === 'http:';
  const client = new Client(options.secretKey, {
    protocol: isPlain ? 'http' : 'https',
    host: base.hostname,
    port: base.port === '' ? (isPlain ? 80 : 443) : Number(base.port),
    timeout: attemptMsMax,
    maxNetworkRetries: networkRetriesMax,
    telemetry: false,
    appInfo: { name: 'Quietzone' },
  });
  return new StripeProvider(client, options, log);
}

class StripeProvider implements PaymentProvider {
  readonly name = 'stripe';
  readonly #stripe: Stripe;
  readonly #options: StripeOptions;
  readonly #log: Logger;

  constructor(stripe: Stripe, options: StripeOptions, log: Logger) {
    this.#stripe = stripe;
    this.#options = options;
    this.#log = log;
  }

  async openCheckout(request: Parameters<PaymentProvider['openCheckout']>[0]) {
    const { id, workspaceId, plan, interval, customerId, returnUrl } = request;
    const metadata = { quietzone_workspace: workspaceId, quietzone_checkout: id };
    const session = await this.#ask(() =>
      this.#stripe.checkout.sessions.create(
        {
          mode: 'subscription',
          line_items: [{ price: this.#priceId(plan, interval), quantity: 1 }],
          client_reference_id: id,
          metadata,
          subscription_data: { metadata },
          ...(customerId === undefined ? {} : { customer: customerId }),
          success_url: returnUrl,
          cancel_url: returnUrl,
        },
        { idempotencyKey: id },
      ),
    );
    if (session.url === null) throw new Error('Stripe made a checkout session without an address');
    const expiresAtMs = session.expires_at * 1_000;
    return { sessionId: session.id, url: session.url, expiresAtMs } satisfies HostedCheckout;
  }

  async expireCheckout(sessionId: string): Promise<void> {
    try {
      await this.#stripe.checkout.sessions.expire(sessionId);
    } catch (error) {
      // A checkout that is complete or has expired cannot expire.
      if (!this.#is(error, 'StripeInvalidRequestError')) throw this.#failure(error);
    }
  }

  async fetch(subscriptionId: string): Promise<ProviderSubscription | undefined> {
    try {
      return this.#read(await this.#stripe.subscriptions.retrieve(subscriptionId));
    } catch (error) {
      if (this.#is(error, 'StripeInvalidRequestError') && statusOf(error) === 404) return undefined;
      throw this.#failure(error);
    }
  }

  async change(subscriptionId: string, terms: Terms): Promise<ProviderSubscription> {
    const now = await this.#ask(() => this.#stripe.subscriptions.retrieve(subscriptionId));
    const [item] = now.items.data;
    if (item === undefined) throw new Error('Stripe has a subscription without an item');
    const price = this.#priceId(terms.plan, terms.interval);
    return await this.#update(subscriptionId, {
      items: [{ id: item.id, price }],
      proration_behavior: 'create_prorations',
      // A change that is not paid for is refused, not half made.
      payment_behavior: 'error_if_incomplete',
    });
  }

  async cancel(subscriptionId: string, reason: string | undefined) {
    return await this.#update(subscriptionId, {
      cancel_at_period_end: true,
      ...(reason === undefined ? {} : { cancellation_details: { comment: reason } }),
    });
  }

  async resume(subscriptionId: string): Promise<ProviderSubscription> {
    const theirs = await this.#update(subscriptionId, { cancel_at_period_end: false });
    // The portal may have set another date: that is unset separately.
    if (theirs.endsAtMs === undefined) return theirs;
    return await this.#update(subscriptionId, { cancel_at: '' });
  }

  async portalUrl(customerId: string, returnUrl: string): Promise<string> {
    const request = { customer: customerId, return_url: returnUrl };
    const session = await this.#ask(() => this.#stripe.billingPortal.sessions.create(request));
    return session.url;
  }

  verify(body: Uint8Array, signature: string, nowMs: number): ProviderEvent {
    const { webhookSecret } = this.#options;
    let event: unknown;
    try {
      event = this.#stripe.webhooks.constructEvent(
        Buffer.from(body),
        signature,
        webhookSecret,
        toleranceSeconds,
        undefined,
        nowMs,
      );
    } catch (error) {
      if (this.#is(error, 'StripeSignatureVerificationError')) {
        const why = 'the signature does not match the body, or is older than 300 s';
        throw new Failure('invalid_signature', `Cannot accept the event: ${why}`);
      }
      throw new Failure('invalid_json', 'Cannot read the event: it is not a Stripe event in JSON');
    }
    return readEvent(event);
  }

  async #update(subscriptionId: string, change: Stripe.SubscriptionUpdateParams) {
    return this.#read(
      await this.#ask(() => this.#stripe.subscriptions.update(subscriptionId, change)),
    );
  }

  #priceId(plan: PaidPlan, interval: BillingInterval): string {
    const id = this.#options.prices[plan][interval];
    if (id !== '') return id;
    throw notSold(plan, interval);
  }

  #read(theirs: Stripe.Subscription): ProviderSubscription {
    const [item] = theirs.items.data;
    if (item === undefined) throw new Error('Stripe has a subscription without an item');
    const period = {
      startMs: item.current_period_start * 1_000,
      endMs: item.current_period_end * 1_000,
    };
    const { customer, metadata, cancellation_details: canceled } = theirs;
    return {
      link: {
        subscriptionId: theirs.id,
        customerId: typeof customer === 'string' ? customer : customer.id,
      },
      workspaceId: metadata.quietzone_workspace,
      checkoutId: metadata.quietzone_checkout,
      status: statusFrom(theirs.status),
      terms: this.#terms(item.price),
      period,
      endsAtMs: endOf(theirs, period.endMs),
      reason: canceled?.comment ?? canceled?.feedback ?? canceled?.reason ?? undefined,
    };
  }

  /** Plan and interval by the price's id; the amount is what Stripe takes. */
  #terms(price: Stripe.Price): Terms | undefined {
    for (const plan of paidPlans) {
      for (const interval of billingIntervals) {
        if (this.#options.prices[plan][interval] !== price.id) continue;
        const currency = price.currency.toUpperCase();
        const digits = twoDigitsAtStripe.has(currency) ? 2 : currencyDigits(currency);
        const amount = Number(((price.unit_amount ?? 0) / 10 ** digits).toFixed(digits));
        return { plan, interval, price: { amount, currency } };
      }
    }
    return undefined;
  }

  async #ask<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.#failure(error);
    }
  }

  #is(error: unknown, type: string): boolean {
    return error instanceof Error && 'type' in error && error.type === type;
  }

  #failure(error: unknown): unknown {
    if (error instanceof Failure) return error;
    if (this.#is(error, 'StripeCardError')) {
      return new Failure('conflict', 'Cannot change the subscription: the payment was declined');
    }
    const kind = error instanceof Error && 'type' in error ? String(error.type) : 'unknown';
    if (kind === 'unknown') return error;
    this.#log.error({ kind, status: statusOf(error) }, 'the payment provider refused a request');
    return new Failure('overloaded', 'The payment provider does not answer as expected', {
      retryAfterSeconds,
    });
  }
}

function statusOf(error: unknown): number | undefined {
  const isNumbered = error instanceof Error && 'statusCode' in error;
  return isNumbered && typeof error.statusCode === 'number' ? error.statusCode : undefined;
}

function statusFrom(status: Stripe.Subscription.Status): ProviderSubscription['status'] {
  switch (status) {
    case 'active':
    case 'trialing':
      return 'paid';
    case 'past_due':
      return 'unpaid';
    case 'incomplete':
      return 'pending';
    default:
      return 'ended';
  }
}

function endOf(theirs: Stripe.Subscription, periodEndMs: number): number | undefined {
  if (theirs.cancel_at !== null) return theirs.cancel_at * 1_000;
  return theirs.cancel_at_period_end ? periodEndMs : undefined;
}

/**
 * Which subscription an event is about. Events come in the version of the account, newer or older than the package's types,
 * so they are read field by field; all else is fetched in the package's own.
 * @param event verified @throws Failure invalid_json when it is not an event
 */
function readEvent(event: unknown): ProviderEvent {
  const [id, type] = [text(event, 'id'), text(event, 'type')];
  if (id === undefined || type === undefined || !idPattern.test(id)) {
    throw new Failure('invalid_json', 'Cannot read the event: it has no id or type');
  }
  const subscriptionId = subscriptionOf(type, field(field(event, 'data'), 'object'));
  const isId = subscriptionId !== undefined && idPattern.test(subscriptionId);
  return { id, type, subscriptionId: isId ? subscriptionId : undefined };
}

function subscriptionOf(type: string, object: unknown): string | undefined {
  if (type.startsWith('customer.subscription.')) return text(object, 'id');
  if (type.startsWith('checkout.session.')) return idOf(field(object, 'subscription'));
  if (!type.startsWith('invoice.')) return undefined;
  const details = field(field(object, 'parent'), 'subscription_details');
  // Versions before 2025-03-31 have it on the invoice itself.
  return idOf(field(details, 'subscription')) ?? idOf(field(object, 'subscription'));
}

/** An object by its id, or the object itself where it was expanded. */
function idOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : text(value, 'id');
}

function text(value: unknown, name: string): string | undefined {
  const found = field(value, name);
  return typeof found === 'string' ? found : undefined;
}

function field(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.entries(value).find(([key]) => key === name)?.[1];
}
