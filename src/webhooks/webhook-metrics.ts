/** Metrics of webhooks. The first 100 endpoints get a label, so a workspace cannot grow the metrics without bound. */
import type { AttemptRecord } from '../model/webhook.ts';
import { idTimeMs } from '../model/ids.ts';
import type { EndpointNo } from '../model/numbers.ts';
import { type EndpointStats, outboxNames } from '../store/delivery/delivery.ts';
import type { Delivery } from './deliveries/delivery.ts';
import type { Metrics } from '../platform/metrics.ts';
import { type DeliveryStore, firstKeys } from './deliveries/delivery-store.ts';
import { storedStats } from './deliveries/delivery-transaction.ts';
import { failuresMax } from './dispatch/fair-scheduler.ts';
import type { Results } from './dispatch/results.ts';
import type { Feeds } from './feeds/feeds.ts';

const millisecondsPerSecond = 1_000;
/** Endpoints with their own label, in order of their first attempt; the rest is `other`. */
const endpointsNamedMax = 100;
const behindMsMax = 30_000;
const latencySeconds = [0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1, 2.5, 5, 15, 60];

interface MeteredWebhooks {
  readonly store: DeliveryStore;
  readonly scheduler: { readonly inFlight: number };
  readonly results: Results;
  readonly feeds: Feeds;
  readonly routers: ReadonlyArray<{ readonly behindMs: number }>;
}

/** Deliveries are counted by each endpoint's stats: one read each. */
export function registerWebhookMetrics(
  metrics: Metrics,
  { store, scheduler, results, feeds, routers }: MeteredWebhooks,
): void {
  const { tables, wheel, wheelClock } = store;
  metrics.gauge(
    'quietzone_webhook_deliveries',
    'Deliveries by state; pending: waiting, dead: dead letters',
    ['state'],
    () => {
      const sums = { pending: 0, delivered: 0, dead: 0, canceled: 0 };
      for (const { value } of tables.stats.range({})) addCounts(sums, value.counts);
      sums.pending += feeds.total;
      return Object.entries(sums).map(([state, value]) => ({ labels: { state }, value }));
    },
  );
  metrics.gauge(
    'quietzone_webhook_outbox_lag',
    'Events and scan blocks not yet read',
    ['outbox'],
    () => outboxNames.map((outbox) => ({ labels: { outbox }, value: feeds.unreadCount(outbox) })),
  );
  metrics.gauge('quietzone_webhook_in_flight', 'Attempts in flight', [], () => scheduler.inFlight);
  metrics.gauge(
    'quietzone_webhook_unsettled',
    'Finished attempts that wait for their commit',
    [],
    () => results.size,
  );
  metrics.gauge(
    'quietzone_webhook_store_bytes',
    'Bytes of the delivery environment',
    [],
    () => tables.environment.stats().bytes,
  );
  metrics.gauge(
    'quietzone_webhook_wheel_lag_seconds',
    'How long the retry wheel has been behind',
    [],
    () => wheel.lagMs(wheelClock.now()) / millisecondsPerSecond,
  );
  metrics.gauge(
    'quietzone_webhook_outbox_lag_seconds',
    'How long the dispatcher has been behind an outbox',
    [],
    () => Math.max(0, ...routers.map((router) => router.behindMs)) / millisecondsPerSecond,
  );
  metrics.gauge(
    'quietzone_webhook_overdue_seconds',
    'How long the most overdue delivery has been due',
    [],
    () => overdueMs(store) / millisecondsPerSecond,
  );
}

function addCounts(sums: Record<string, number>, counts: EndpointStats['counts']): void {
  for (const [state, count] of Object.entries(counts)) sums[state] = (sums[state] ?? 0) + count;
}

/** How long the most overdue delivery has been due: looks at the first row of each endpoint. */
function overdueMs({ tables, wheelClock }: DeliveryStore): number {
  const nowMs = wheelClock.now();
  let oldestMs: number = nowMs;
  for (const [, dueMs] of firstKeys(tables.due)) oldestMs = Math.min(oldestMs, dueMs);
  return nowMs - oldestMs;
}

export function problemOf({ store, results, routers }: MeteredWebhooks): string | undefined {
  if (store.tables.environment.isFull || results.fault !== undefined) {
    return 'webhooks paused: the delivery store cannot be written';
  }
  const behindMs = Math.max(...routers.map((router) => router.behindMs));
  return behindMs > behindMsMax
    ? `webhooks are ${Math.round(behindMs / 1_000)} s behind the events`
    : undefined;
}

/** Counts only endpoints that accept deliveries: the owner of a failing receiver sees its failures. */
export function lateFirstAttempts({ tables }: DeliveryStore, feeds: Feeds): string | undefined {
  const late = [...feeds.waiting()].filter(([, ageMs]) => ageMs > behindMsMax);
  const ages = late
    .filter(([no]) => (storedStats(tables, no)?.failuresInRow ?? 0) < failuresMax)
    .map(([, ageMs]) => Math.round(ageMs / millisecondsPerSecond));
  if (ages.length === 0) return undefined;
  return `first attempts to webhook endpoints are up to ${Math.max(...ages)} s late (endpoints: ${ages.length})`;
}

export type WebhookMeter = ReturnType<typeof createWebhookMeter>;

export function createWebhookMeter(
  metrics: Metrics,
  feeds: Pick<Feeds, 'waiting'>,
  idOf: (endpointNo: EndpointNo) => string | undefined,
) {
  const named = new Map<number, string>();
  const labelOf = (endpointNo: EndpointNo): string => {
    const known = named.get(endpointNo);
    if (known !== undefined) return known;
    const id = idOf(endpointNo);
    if (id === undefined || named.size >= endpointsNamedMax) return 'other';
    named.set(endpointNo, id);
    return id;
  };
  metrics.gauge(
    'quietzone_webhook_oldest_seconds',
    'Age of the oldest event without a first attempt',
    ['endpoint'],
    () => {
      const oldest = new Map([...named.values()].map((endpoint) => [endpoint, 0]));
      for (const [no, ageMs] of feeds.waiting()) {
        const endpoint = labelOf(no);
        oldest.set(endpoint, Math.max(oldest.get(endpoint) ?? 0, ageMs / millisecondsPerSecond));
      }
      return Array.from(oldest, ([endpoint, value]) => ({ labels: { endpoint }, value }));
    },
  );
  // A map, because the library's counter takes three times as long.
  const attempts = new Map<string, Map<string, number>>();
  metrics.total(
    'quietzone_webhook_attempts_total',
    'Finished attempts, by endpoint and result: success or the class of failure',
    ['endpoint', 'result'],
    () =>
      Array.from(attempts, ([endpoint, results]) =>
        Array.from(results, ([result, value]) => ({ labels: { endpoint, result }, value })),
      ).flat(),
  );
  const first = metrics.histogram(
    'quietzone_webhook_first_attempt_seconds',
    'Time from an event to the end of the first attempt to deliver it',
    latencySeconds,
    ['endpoint'],
  );
  return {
    ended({ id, endpointNo, attemptsMade }: Delivery, attempt: AttemptRecord): void {
      const { failure, atMs, durationMs } = attempt;
      const endpoint = labelOf(endpointNo);
      const results = attempts.get(endpoint) ?? new Map<string, number>();
      attempts.set(endpoint, results);
      const result = failure ?? 'success';
      results.set(result, (results.get(result) ?? 0) + 1);
      if (attemptsMade > 0) return;
      const tookMs = Math.max(0, atMs + durationMs - idTimeMs(id));
      first.observe(tookMs / millisecondsPerSecond, { endpoint });
    },
  };
}
