/**
 * What an operator sees of webhooks at each scrape: what waits, what flies, what is dead, and how far behind
 * the events they are. Nothing here runs on its own; what is counted as it happens is in webhook-meter.ts.
 */
import type { EndpointStats } from '../store/delivery/delivery.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { DeliveryStore } from './deliveries/delivery-store.ts';
import type { Dispatcher } from './dispatch/dispatcher.ts';

const millisecondsPerSecond = 1_000;

export interface MeteredWebhooks {
  readonly book: DeliveryStore;
  readonly dispatcher: Dispatcher;
  readonly followers: {
    readonly events: { readonly lag: number };
    readonly blocks: { readonly lag: number } | undefined;
    readonly loops: ReadonlyArray<{ readonly behindMs: number }>;
  };
}

/** What is asked for at each scrape. Deliveries are counted by endpoint: a look at each one's ledger. */
export function registerWebhookMetrics(
  metrics: Metrics,
  { book, dispatcher, followers: { events, blocks, loops } }: MeteredWebhooks,
): void {
  const { store, time } = book;
  metrics.gauge(
    'quietzone_webhook_deliveries',
    'Deliveries in the store by state; pending is the queue, dead the dead letters',
    ['state'],
    () => {
      const sums = { pending: 0, delivered: 0, dead: 0, canceled: 0 };
      for (const { value } of store.ledgers.range({})) addCounts(sums, value.counts);
      return Object.entries(sums).map(([state, value]) => ({ labels: { state }, value }));
    },
  );
  metrics.gauge(
    'quietzone_webhook_in_flight',
    'Attempts on the wire',
    [],
    () => dispatcher.inFlight,
  );
  metrics.gauge(
    'quietzone_webhook_unsettled',
    'Attempts that ended and wait for their commit',
    [],
    () => dispatcher.unsettled,
  );
  metrics.gauge(
    'quietzone_webhook_wheel_lag_seconds',
    'How long the wheel has not walked what it should have',
    [],
    () => book.wheel.behindMs(time.now()) / millisecondsPerSecond,
  );
  metrics.gauge(
    'quietzone_webhook_outbox_lag',
    'Events, and blocks of scans, that no delivery was made of yet',
    ['outbox'],
    () => [
      { labels: { outbox: 'events' }, value: events.lag },
      { labels: { outbox: 'scans' }, value: blocks?.lag ?? 0 },
    ],
  );
  metrics.gauge(
    'quietzone_webhook_outbox_lag_seconds',
    'How long the dispatcher has not been at the end of an outbox',
    [],
    () => Math.max(0, ...loops.map(({ behindMs }) => behindMs)) / millisecondsPerSecond,
  );
  metrics.gauge(
    'quietzone_webhook_overdue_seconds',
    'How long the most overdue delivery has been due',
    [],
    () => oldestPendingMs(book) / millisecondsPerSecond,
  );
  metrics.gauge(
    'quietzone_webhook_store_bytes',
    'Bytes of the delivery environment',
    [],
    () => store.environment.stats().bytes,
  );
}

function addCounts(sums: Record<string, number>, counts: EndpointStats['counts']): void {
  for (const [state, count] of Object.entries(counts)) sums[state] = (sums[state] ?? 0) + count;
}

/** How overdue the most overdue is: of each endpoint the first in its queue, one seek each. */
function oldestPendingMs({ store, time }: DeliveryStore): number {
  let oldest = Number.MAX_SAFE_INTEGER;
  for (let from = 0; ;) {
    let found: number | undefined;
    for (const [endpointNo, dueMs] of store.queue.keys({ start: [from, 0, 0], limit: 1 })) {
      found = endpointNo;
      oldest = Math.min(oldest, dueMs);
    }
    if (found === undefined) break;
    from = found + 1;
  }
  return Math.max(0, time.now() - oldest);
}
