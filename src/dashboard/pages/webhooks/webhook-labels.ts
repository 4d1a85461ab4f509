/** Webhooks: the API's types, and their labels. */
import type { EventKind } from '../../../model/event.ts';
import type { BadgeTone } from '../../parts/list.tsx';

export interface Endpoint {
  readonly id: string;
  readonly url: string;
  readonly events: ReadonlyArray<EventKind | '*'>;
  readonly description: string | null;
  readonly maxBatch: number;
  readonly status: 'enabled' | 'disabled';
  readonly disabledReason: 'by_hand' | 'gone' | 'failing' | 'secret_lost' | null;
  readonly olderSecretsEndAt: string | null;
  readonly createdAt: string;
  readonly health?: {
    readonly state: 'unused' | 'healthy' | 'failing' | 'disabled';
    readonly consecutiveFailures: number;
    readonly lastSuccessAt: string | null;
    readonly lastFailureAt: string | null;
    readonly waiting: number;
  };
}

export type Health = NonNullable<Endpoint['health']>['state'];

export const healthLabels: Readonly<Record<Health, string>> = {
  unused: 'Not used yet',
  healthy: 'Healthy',
  failing: 'Failing',
  disabled: 'Off',
};
export const healthTones: Readonly<Record<Health, BadgeTone>> = {
  unused: 'plain',
  healthy: 'good',
  failing: 'bad',
  disabled: 'warn',
};

export type MadeEndpoint = Endpoint & { readonly secret: string };

export interface Attempt {
  readonly at: string;
  readonly durationMs: number;
  readonly remoteIp: string | null;
  readonly status: number | null;
  readonly failure: string | null;
  readonly answer: string | null;
}

export type DeliveryState = 'pending' | 'delivered' | 'dead' | 'canceled';

export interface Delivery {
  readonly id: string;
  readonly endpointId: string | null;
  readonly event: EventKind;
  readonly eventIds: readonly string[];
  readonly state: DeliveryState;
  readonly attemptCount: number;
  readonly lastAttempt: Attempt | null;
  readonly nextAttemptAt: string | null;
  readonly createdAt: string;
}

export type WholeDelivery = Delivery & {
  readonly attempts: readonly Attempt[];
  readonly body: string;
};
export type DeadLetter = Delivery & { readonly deadAt: string; readonly expiresAt: string };

export const deliveryTones: Readonly<Record<DeliveryState, BadgeTone>> = {
  pending: 'warn',
  delivered: 'good',
  dead: 'bad',
  canceled: 'plain',
};
export const deliveryLabels: Readonly<Record<DeliveryState, string>> = {
  pending: 'Waiting',
  delivered: 'Delivered',
  dead: 'Dead',
  canceled: 'Canceled',
};

const failureLabels: Readonly<Record<string, string>> = {
  status: 'HTTP',
  timeout: 'Timed out',
  connect: 'Could not connect',
  tls: 'Certificate not accepted',
  reset: 'Connection reset',
  blocked_ip:
    'Host name not found, or address not allowed (for private networks, set webhooks.allowNetworks)',
  redirect: 'Redirected; redirects are not followed',
  protocol: 'Not a valid HTTP answer',
  unknown: 'Outcome unknown',
};

/** One attempt as text. */
export function attemptText({ status, failure }: Attempt): string {
  if (failure === null) return status === null ? 'Delivered' : `HTTP ${status}`;
  const label = failureLabels[failure] ?? failure;
  return failure === 'status' || status !== null ? `${label} ${status ?? ''}`.trim() : label;
}

export const disabledReasons: Readonly<Record<NonNullable<Endpoint['disabledReason']>, string>> = {
  by_hand: 'A team member turned it off.',
  gone: 'It answered 410 Gone, so it gets no more events.',
  failing: 'It failed for five days and was turned off.',
  secret_lost: 'Its secret is lost. Create a new secret to turn it on again.',
};

export const eventsText = (events: Endpoint['events']): string =>
  events.includes('*') ? 'All events' : events.join(', ');
