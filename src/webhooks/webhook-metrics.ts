/**
 * Gauges of webhooks, computed at each scrape: deliveries by state, attempts in flight, and how far the consumers
 * are behind. What is counted as it happens is in webhook-meter.ts.
 */
import type { EndpointStats } from '../store/delivery/delivery.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { type DeliveryStore, firstKeys } from './deliveries/delivery-store.ts';
import type { Dispatcher } from './dispatch/dispatcher.ts';

const millisecondsPerSecond = 1_000;

export interface MeteredWebhooks {
  readonly store: DeliveryStore;
  readonly dispatcher: Dispatcher;
  readonly consumers: {
    readonly events: { readonly lag: number };
    readonly blocks: { readonly lag: number } | undefined;
    readonly loops: ReadonlyArray<{ readonly behindMs: number }>;
  };
}

/** Deliveries are counted by the stats of each endpoint: one read for each. */
export function registerWebhookMetrics(
  metrics: Metrics,
  { store, dispatcher, consumers: { events, blocks, loops } }: MeteredWebhooks,
): void {
  const { tables, wheel, wheelClock } = store;
  metrics.gauge(
    'quietzone_webhook_deliveries',
    'Deliveries in the store by state; pending is the queue, dead the dead letters',
    ['state'],
    () => {
      const sums = { pending: 0, delivered: 0, dead: 0, canceled: 0 };
      for (const { value } of tables.stats.range({})) addCounts(sums, value.counts);
      return Object.entries(sums).map(([state, value]) => ({ labels: { state }, value }));
    },
  );
  metrics.gauge('quietzone_webhook_in_flight', 'Attempts in flight', [], () => dispatcher.inFlight);
  metrics.gauge(
    'quietzone_webhook_unsettled',
    'Attempts that ended and wait for their commit',
    [],
    () => dispatcher.committing,
  );
  metrics.gauge(
    'quietzone_webhook_wheel_lag_seconds',
    'How long the retry wheel has been behind',
    [],
    () => wheel.lagMs(wheelClock.now()) / millisecondsPerSecond,
  );
  metrics.gauge(
    'quietzone_webhook_outbox_lag',
    'Events, and blocks of scans, that have no deliveries yet',
    ['outbox'],
    () => [
      { labels: { outbox: 'events' }, value: events.lag },
      { labels: { outbox: 'scans' }, value: blocks?.lag ?? 0 },
    ],
  );
  metrics.gauge(
    'quietzone_webhook_outbox_lag_seconds',
    'How long the dispatcher has been behind an outbox',
    [],
    () => Math.max(0, ...loops.map(({ behindMs }) => behindMs)) / millisecondsPerSecond,
  );
  metrics.gauge(
    'quietzone_webhook_overdue_seconds',
    'How long the most overdue delivery has been due',
    [],
    () => overdueMs(store) / millisecondsPerSecond,
  );
  metrics.gauge(
    'quietzone_webhook_store_bytes',
    'Bytes of the delivery environment',
    [],
    () => tables.environment.stats().bytes,
  );
}

function addCounts(sums: Record<string, number>, counts: EndpointStats['counts']): void {
  for (const [state, count] of Object.entries(counts)) sums[state] = (sums[state] ?? 0) + count;
}

/** How long the most overdue delivery has been due: the first in the queue of each endpoint. */
function overdueMs({ tables, wheelClock }: DeliveryStore): number {
  const nowMs = wheelClock.now();
  let oldestMs: number = nowMs;
  for (const [, dueMs] of firstKeys(tables.queue)) oldestMs = Math.min(oldestMs, dueMs);
  return nowMs - oldestMs;
}
