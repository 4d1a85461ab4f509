/**
 * Counts attempts as they end, by endpoint. Only the first 100 endpoints have their own label: one for each would
 * let a workspace grow the metrics without end.
 */
import type { AttemptRecord } from '../model/webhook.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { EndpointNo } from '../model/numbers.ts';

/** Endpoints with their own label, the first to send; the rest is `other`. */
const endpointsNamedMax = 100;
const latencySeconds = [0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1, 2.5, 5, 15, 60];
const millisecondsPerSecond = 1_000;

export interface WebhookMeter {
  ended(
    delivery: {
      readonly endpointNo: EndpointNo;
      readonly attemptsMade: number;
      readonly createdAtMs: number;
    },
    attempt: AttemptRecord,
  ): void;
}

/** @param idOf the public id of an endpoint */
export function createWebhookMeter(
  metrics: Metrics,
  idOf: (endpointNo: EndpointNo) => string | undefined,
): WebhookMeter {
  const named = new Map<number, string>();
  const labelOf = (endpointNo: EndpointNo): string => {
    const known = named.get(endpointNo);
    if (known !== undefined) return known;
    const id = idOf(endpointNo);
    if (id === undefined || named.size >= endpointsNamedMax) return 'other';
    named.set(endpointNo, id);
    return id;
  };
  const attempts = metrics.counter(
    'quietzone_webhook_attempts_total',
    'Attempts ended, by endpoint and result: success or the class of failure',
    ['endpoint', 'result'],
  );
  const first = metrics.histogram(
    'quietzone_webhook_first_attempt_seconds',
    'Time from the creation of a delivery to the end of its first attempt',
    latencySeconds,
    ['endpoint'],
  );
  return {
    ended({ endpointNo, attemptsMade, createdAtMs }, { failure, atMs, durationMs }) {
      const endpoint = labelOf(endpointNo);
      attempts.add(1, { endpoint, result: failure ?? 'success' });
      if (attemptsMade > 0) return;
      const tookMs = Math.max(0, atMs + durationMs - createdAtMs);
      first.observe(tookMs / millisecondsPerSecond, { endpoint });
    },
  };
}
