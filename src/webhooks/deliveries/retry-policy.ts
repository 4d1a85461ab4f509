/**
 * The retry policy: whether an attempt leaves its delivery delivered, pending or dead, and when the next
 * attempt follows.
 *
 * Delays count from the end of the failed attempt. Jitter only adds, so no retry is early. A receiver that
 * answers 429 or 503 with `Retry-After` may postpone its next attempt, up to twice the scheduled delay.
 */
import type { AttemptRecord } from '../../model/webhook.ts';
import type { EndpointStats } from '../../store/delivery/delivery.ts';
import type { DeliveryEvent } from './delivery-state.ts';
import type { WheelMs } from '../../model/wheel-time.ts';

/** Share of the delay: spreads the retries after an outage without moving the schedule. */
const jitterShare = 0.1;
const retryAfterFactorMax = 2;
const statusGone = 410;
/** An endpoint that only failed for this long, and this many times, is disabled. */
const failingMs = 5 * 86_400_000;
const failingAttempts = 20;

export interface RetryDecision {
  readonly event: DeliveryEvent;
  /** From the end of the attempt; for `failed`. */
  readonly delayMs: number;
}

/**
 * @param tries attempts before this one since the delivery was created or replayed
 * @param random 0 to 1
 */
export function decide(
  attempt: AttemptRecord,
  tries: number,
  delaysMs: readonly number[],
  random: number,
): RetryDecision {
  if (attempt.failure === undefined) return { event: 'succeeded', delayMs: 0 };
  if (attempt.status === statusGone) return { event: 'gone', delayMs: 0 };
  const scheduledMs = delaysMs[tries];
  if (scheduledMs === undefined) return { event: 'exhausted', delayMs: 0 };
  return { event: 'failed', delayMs: delayOf(attempt, scheduledMs, random) };
}

function delayOf({ status, retryAfterMs }: AttemptRecord, scheduledMs: number, random: number) {
  const askedMs = status === 429 || status === 503 ? (retryAfterMs ?? 0) : 0;
  const latestMs = scheduledMs * retryAfterFactorMax;
  const jitteredMs = scheduledMs * (1 + random * jitterShare);
  return Math.ceil(Math.max(jitteredMs, Math.min(askedMs, latestMs)));
}

/** The endpoint's stats after an attempt. @param wheelMs when it ended */
export function statsAfter(
  stats: EndpointStats,
  { failure, atMs, durationMs }: AttemptRecord,
  wheelMs: WheelMs,
): EndpointStats {
  const endedAtMs = Math.round(atMs + durationMs);
  if (failure === undefined) {
    const { failingSinceMs, ...rest } = stats;
    void failingSinceMs;
    return { ...rest, failuresInRow: 0, lastSuccessAtMs: endedAtMs };
  }
  return {
    ...stats,
    failuresInRow: stats.failuresInRow + 1,
    failingSinceMs: stats.failingSinceMs ?? wheelMs,
    lastFailureAtMs: endedAtMs,
  };
}

export function shouldDisable(
  { failuresInRow, failingSinceMs }: EndpointStats,
  wheelMs: WheelMs,
): boolean {
  return (
    failuresInRow >= failingAttempts &&
    failingSinceMs !== undefined &&
    wheelMs - failingSinceMs >= failingMs
  );
}
