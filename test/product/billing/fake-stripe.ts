/**
 * Stripe on a local port: the few calls of its API that we make, with its shapes, its idempotency keys
 * and its errors, and its events with real signatures. Time is the test's.
 */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { once } from 'node:events';
import StripeClient from 'stripe';
import { onTestFinished } from 'vitest';
import { pause } from '../../support/process.ts';
import { openStripe } from '../../../src/product/billing/stripe-provider.ts';
import type { Clock } from '../../../src/model/clock.ts';
import { createLog } from '../../../src/platform/log.ts';

export const secretKey = 'sk_test_51QuietzoneDoubleKey';
export const webhookSecret = 'whsec_QuietzoneDoubleSecret';
const amounts: Readonly<Record<string, number>> = {
  price_starter_month: 900,
  price_starter_year: 9_000,
  price_pro_month: 2_900,
  price_pro_year: 29_000,
  price_business_month: 9_900,
  price_business_year: 99_000,
};
const sold = (plan: string) => ({ month: `price_${plan}_month`, year: `price_${plan}_year` });
const stripePrices = {
  starter: sold('starter'),
  pro: sold('pro'),
  business: sold('business'),
  enterprise: { month: '', year: '' },
};
const monthSeconds = 30 * 86_400;

export interface Subscription {
  id: string;
  object: 'subscription';
  customer: string;
  status: string;
  cancel_at: number | null;
  cancel_at_period_end: boolean;
  cancellation_details: { comment: string | null; feedback: null; reason: string | null };
  metadata: Record<string, string>;
  items: {
    data: Array<{
      id: string;
      current_period_start: number;
      current_period_end: number;
      price: { id: string; currency: string; unit_amount: number };
    }>;
  };
}

interface Session {
  readonly id: string;
  readonly url: string;
  readonly expires_at: number;
  status: 'open' | 'complete' | 'expired';
  readonly form: ReadonlyMap<string, string>;
}

export interface SignedEvent {
  readonly id: string;
  readonly body: string;
  readonly signature: string;
}

type Answer = readonly [status: number, body: unknown];

export class FakeStripe {
  readonly sessions = new Map<string, Session>();
  readonly subscriptions = new Map<string, Subscription>();
  readonly requests: string[] = [];
  /** Status codes of the next answers. Stripe's package retries a 500, not a 503: that saves a second. */
  readonly faults: number[] = [];
  /** How long the next answers, as things are now, stay on their way. */
  readonly delaysMs: number[] = [];
  readonly #answers = new Map<string, Answer>();
  readonly #clock: Clock;
  readonly #signer = new StripeClient(secretKey);
  #server: Server | undefined;
  #count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async listen(): Promise<string> {
    const server = createServer((request, response) => {
      const answer = async (): Promise<void> => {
        const [status, body] = await this.#answer(request);
        await pause(this.delaysMs.shift() ?? 0);
        const headers = status === 503 ? { 'stripe-should-retry': 'false' } : {};
        response.writeHead(status, { 'content-type': 'application/json', ...headers });
        response.end(JSON.stringify(body));
      };
      void answer();
    });
    this.#server = server;
    // Node would end a connection that was idle for 5 s, maybe just as the next request is written on it.
    server.keepAliveTimeout = 0;
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    return `http://127.0.0.1:${port}`;
  }

  close(): void {
    this.#server?.closeAllConnections();
    this.#server?.close();
  }

  /** The customer pays on Stripe's page. */
  pay(sessionId: string): Subscription {
    const session = this.sessions.get(sessionId);
    if (session === undefined) throw new Error(`Cannot pay ${sessionId}: no such session`);
    session.status = 'complete';
    const [startMs, id] = [this.#clock.now(), this.#newId('sub')];
    const price = session.form.get('line_items[0][price]') ?? '';
    const metadata = {
      quietzone_workspace:
        session.form.get('subscription_data[metadata][quietzone_workspace]') ?? '',
      quietzone_checkout: session.form.get('subscription_data[metadata][quietzone_checkout]') ?? '',
    };
    const start = Math.floor(startMs / 1_000);
    const made: Subscription = {
      id,
      object: 'subscription',
      customer: session.form.get('customer') ?? this.#newId('cus'),
      status: 'active',
      cancel_at: null,
      cancel_at_period_end: false,
      cancellation_details: { comment: null, feedback: null, reason: null },
      metadata,
      items: {
        data: [
          {
            id: this.#newId('si'),
            current_period_start: start,
            current_period_end: start + monthSeconds * (price.endsWith('year') ? 12 : 1),
            price: priceOf(price),
          },
        ],
      },
    };
    this.subscriptions.set(id, made);
    return made;
  }

  /** An event about a subscription, signed now unless `atMs` says when. */
  event(
    type: string,
    subscription: { readonly id: string },
    atMs = this.#clock.now(),
  ): SignedEvent {
    const details = { subscription: subscription.id };
    const invoice = { object: 'invoice', parent: { subscription_details: details } };
    const objects: Readonly<Record<string, unknown>> = {
      'checkout.session.completed': { object: 'checkout.session', ...details },
      'invoice.payment_failed': invoice,
      // As versions before 2025-03-31 have it.
      'invoice.paid': { object: 'invoice', ...details },
    };
    const object = objects[type] ?? subscription;
    return this.sign({ id: this.#newId('evt'), object: 'event', type, data: { object } }, atMs);
  }

  sign(
    event: { readonly id: string; readonly [name: string]: unknown },
    atMs = this.#clock.now(),
  ): SignedEvent {
    const body = JSON.stringify(event);
    const signature = this.#signer.webhooks.generateTestHeaderString({
      payload: body,
      secret: webhookSecret,
      timestamp: Math.floor(atMs / 1_000),
    });
    return { id: event.id, body, signature };
  }

  async #answer(request: IncomingMessage): Promise<Answer> {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const call = `${request.method} ${request.url}`;
    this.requests.push(call);
    const fault = this.faults.shift();
    if (fault !== undefined) return error(fault, 'card_error');
    if (request.headers.authorization !== `Bearer ${secretKey}`) return error(401, 'api_error');
    const key = String(request.headers['idempotency-key'] ?? '');
    const known = this.#answers.get(`${call} ${key}`);
    if (known !== undefined && key !== '') return known;
    const answer = this.#route(call, new Map(new URLSearchParams(text)));
    if (key !== '') this.#answers.set(`${call} ${key}`, answer);
    return answer;
  }

  #route(call: string, form: Map<string, string>): Answer {
    const [method, path = ''] = call.split(' ');
    const [, , resource, id = '', last] = path.split('/');
    if (call === 'POST /v1/checkout/sessions') return [200, this.#newSession(form)];
    if (call === 'POST /v1/billing_portal/sessions') {
      return [200, { url: `https://billing.stripe.com/p/session/${form.get('customer')}` }];
    }
    if (resource === 'checkout' && path.endsWith('/expire')) {
      const session = this.sessions.get(last ?? '');
      if (session?.status !== 'open') return error(400, 'invalid_request_error');
      session.status = 'expired';
      return [200, { id: session.id }];
    }
    const subscription = this.subscriptions.get(id);
    if (resource !== 'subscriptions' || subscription === undefined) {
      return error(404, 'invalid_request_error');
    }
    if (method === 'POST') this.#change(subscription, form);
    return [200, structuredClone(subscription)];
  }

  #newSession(form: Map<string, string>): unknown {
    const id = this.#newId('cs_test');
    const expires_at = Math.floor(this.#clock.now() / 1_000) + 86_400;
    const session = { id, url: `https://checkout.stripe.com/c/${id}`, expires_at };
    this.sessions.set(id, { ...session, status: 'open', form });
    return session;
  }

  #change(subscription: Subscription, form: Map<string, string>): void {
    const isEnding = form.get('cancel_at_period_end');
    if (isEnding !== undefined) subscription.cancel_at_period_end = isEnding === 'true';
    if (form.get('cancel_at') === '') subscription.cancel_at = null;
    const comment = form.get('cancellation_details[comment]');
    if (comment !== undefined) subscription.cancellation_details.comment = comment;
    const [price, item] = [form.get('items[0][price]'), subscription.items.data[0]];
    if (price === undefined || item === undefined) return;
    if (form.get('items[0][id]') !== item.id) throw new Error('The item is another');
    item.price = priceOf(price);
  }

  #newId(prefix: string): string {
    this.#count += 1;
    return `${prefix}_${this.#count}`;
  }
}

function priceOf(id: string): { id: string; currency: string; unit_amount: number } {
  return { id, currency: 'eur', unit_amount: amounts[id] ?? 1_234 };
}

function error(status: number, type: string): Answer {
  return [
    status,
    { error: { type, message: 'No', code: status === 404 ? 'resource_missing' : type } },
  ];
}

/** A fake that listens until the test ends, and our side of it. */
export async function openFakeStripe(clock: Clock) {
  const stripe = new FakeStripe(clock);
  const apiBase = await stripe.listen();
  onTestFinished(() => stripe.close());
  const logLines: string[] = [];
  const log = createLog('debug', { write: (line) => void logLines.push(line) });
  const options = { secretKey, webhookSecret, apiBase, prices: stripePrices };
  return { stripe, provider: await openStripe(options, log), apiBase, logLines };
}

/** Settings of a service that sells Pro by the month through this Stripe. */
export const stripeEnvironment = (apiBase: string): Readonly<Record<string, string>> => ({
  QZ_BILLING_PROVIDER: 'stripe',
  QZ_BILLING_STRIPE_SECRET_KEY: secretKey,
  QZ_BILLING_STRIPE_WEBHOOK_SECRET: webhookSecret,
  QZ_BILLING_STRIPE_API_BASE: apiBase,
  QZ_BILLING_STRIPE_PRICES_PRO_MONTH: 'price_pro_month',
});
