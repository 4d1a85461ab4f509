/**
 * What an attempt means for its delivery: sent, again later, or dead; and when later is.
 *
 * Delays count from the end of the failed attempt. Jitter only adds, so that nothing is early. A receiver
 * that says 429 or 503 with `Retry-After` may put its next attempt off, up to twice the scheduled delay.
 */
import type { AttemptRecord } from '../../model/webhook.ts';
import type { EndpointStats } from '../../store/delivery/delivery.ts';
import type { DeliveryEvent } from './delivery-state.ts';

/** Of the delay: spreads the retries of an outage without moving the schedule. */
const jitterShare = 0.1;
const retryAfterFactorMax = 2;
const statusGone = 410;
/** An endpoint with nothing but failures for this long, and this many of them, is disabled. */
const failingMs = 5 * 86_400_000;
const failingAttempts = 20;

export interface RetryDecision {
  readonly event: DeliveryEvent;
  /** From the end of the attempt; for `failed`. */
  readonly delayMs: number;
}

/**
 * @param tries attempts of this round before this one
 * @param random 0 to 1
 */
export function judge(
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

/** The ledger after an attempt. @param wheelMs when it ended */
export function statsAfter(
  ledger: EndpointStats,
  { failure, atMs, durationMs }: AttemptRecord,
  wheelMs: number,
): EndpointStats {
  const endedAtMs = Math.round(atMs + durationMs);
  if (failure === undefined) {
    const { failingSinceMs, ...rest } = ledger;
    void failingSinceMs;
    return { ...rest, failuresInRow: 0, lastSuccessAtMs: endedAtMs };
  }
  return {
    ...ledger,
    failuresInRow: ledger.failuresInRow + 1,
    failingSinceMs: ledger.failingSinceMs ?? wheelMs,
    lastFailureAtMs: endedAtMs,
  };
}

export function shouldDisable(
  { failuresInRow, failingSinceMs }: EndpointStats,
  wheelMs: number,
): boolean {
  return (
    failuresInRow >= failingAttempts &&
    failingSinceMs !== undefined &&
    wheelMs - failingSinceMs >= failingMs
  );
}
