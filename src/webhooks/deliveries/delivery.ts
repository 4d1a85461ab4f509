/**
 * A delivery in memory (a fresh one of an outbox, a row, or an entry of the log) and its life cycle: one state, one
 * table, every cell decided.
 *
 *   (outbox) --> pending --succeeded--> delivered, only in the log
 *              |  ^ |
 *        failed+--+ +--exhausted, gone, endpoint_disabled--> dead --expired--> (deleted)
 *              |  ^                                           |
 *              |  +-------------------replayed----------------+
 *              +--endpoint_removed, dropped--> canceled --expired--> (deleted)
 *
 * Only a pending delivery has further attempts: a late result, after its endpoint was removed, changes nothing. The
 * retry policy below decides the effect of an attempt.
 */
import { crc32 } from 'node:zlib';
import { derivedId } from '../../model/ids.ts';
import type { EventKind } from '../../model/event.ts';
import type { EndpointNo, WorkspaceNo } from '../../model/numbers.ts';
import { toWheelMs, type WheelMs } from '../../model/wheel-time.ts';
import type {
  DeliveryRecord,
  EndpointStats,
  OutboxName,
  DeliveryRef,
  RowState,
} from '../../store/delivery/delivery.ts';
import type { AttemptRecord } from '../../model/webhook.ts';

/** Share of the delay that spreads the retries after an outage without moving the schedule. */
const jitterShare = 0.1;
const retryAfterFactorMax = 2;
/** The receiver wants no more: its endpoint is disabled. */
export const statusGone = 410;
/** An endpoint that only failed for this long, at least this many times, is disabled. */
const failingMs = 5 * 86_400_000;
const failingAttempts = 20;

export interface Delivery extends DeliveryRecord {
  /** `dlv_…` */
  readonly id: string;
  /** The source of a fresh delivery, without a row or a committed attempt; undefined for any other. */
  readonly outboxRef: OutboxRef | undefined;
}

export interface OutboxRef {
  readonly outbox: OutboxName;
  readonly ref: DeliveryRef;
}

export interface NewDelivery {
  readonly endpointNo: EndpointNo;
  readonly workspaceNo: WorkspaceNo;
  readonly kind: EventKind;
  readonly eventIds: readonly string[];
  readonly body: string;
}

/** Sorts after every id. */
export const afterAll = '~';

export const newestFirst = (one: Delivery, other: Delivery): number => (one.id < other.id ? 1 : -1);

/** A delivery that is not due or does not expire. */
export const noTime = toWheelMs(0);
const none: readonly [] = [];

/** Its id follows from endpoint and first event (of a batch: from all), so it is the same at every read. */
export const freshDelivery = (
  created: NewDelivery,
  outboxRef: OutboxRef,
  dueMs: WheelMs,
): Delivery => {
  const [first = ''] = created.eventIds;
  const from = outboxRef.ref[3] === 'batch' ? listId(first, created.eventIds) : first;
  const id = derivedId('dlv', from, created.endpointNo);
  return pendingDelivery(id, created, dueMs, outboxRef);
};

/** `derivedId` takes numbers below this. */
const derivedMax = 2 ** 27;

/**
 * The `webhook-id`. A list may be cut differently at the next read, so its id is unique and follows from all its
 * events.
 */
export const requestId = ({ id, eventIds, body }: Delivery): string =>
  body.startsWith('[') ? listId(eventIds[0] ?? id, eventIds) : (eventIds[0] ?? id);

/** Unique for each list. */
const listId = (first: string, eventIds: readonly string[]): string =>
  derivedId('evt', first, 1 + (crc32(eventIds.join(' ')) % (derivedMax - 1)));

export const pendingDelivery = (
  id: string,
  created: NewDelivery,
  dueMs: WheelMs,
  outboxRef?: OutboxRef,
): Delivery => ({
  id,
  endpointNo: created.endpointNo,
  workspaceNo: created.workspaceNo,
  kind: created.kind,
  eventIds: created.eventIds,
  state: 'pending',
  dueMs,
  tries: 0,
  attemptsMade: 0,
  attempts: none,
  deadAtMs: 0,
  deadReason: '',
  expiresMs: noTime,
  body: created.body,
  outboxRef,
});

export const deliveryEvents = [
  'succeeded',
  /** An attempt failed, and another follows. */
  'failed',
  'exhausted',
  /** The receiver answered 410. */
  'gone',
  'endpoint_disabled',
  'endpoint_removed',
  /** A test event failed; it is not retried. */
  'dropped',
  'replayed',
  /** Its lifetime in the store ended. */
  'expired',
] as const;
export type DeliveryEvent = (typeof deliveryEvents)[number];

type NextState = RowState | 'delivered' | 'deleted' | 'stays';

export const deliveryTransitions: Readonly<
  Record<RowState, Readonly<Record<DeliveryEvent, NextState>>>
> = {
  pending: {
    succeeded: 'delivered',
    failed: 'pending',
    exhausted: 'dead',
    gone: 'dead',
    endpoint_disabled: 'dead',
    endpoint_removed: 'canceled',
    dropped: 'canceled',
    replayed: 'stays',
    expired: 'stays',
  },
  dead: {
    succeeded: 'stays',
    failed: 'stays',
    exhausted: 'stays',
    gone: 'stays',
    endpoint_disabled: 'stays',
    endpoint_removed: 'stays',
    dropped: 'stays',
    replayed: 'pending',
    expired: 'deleted',
  },
  canceled: {
    succeeded: 'stays',
    failed: 'stays',
    exhausted: 'stays',
    gone: 'stays',
    endpoint_disabled: 'stays',
    endpoint_removed: 'stays',
    dropped: 'stays',
    replayed: 'stays',
    expired: 'deleted',
  },
};

interface RetryDecision {
  readonly event: DeliveryEvent;
  /** From the end of the attempt; for `failed`. */
  readonly delayMs: number;
}

/**
 * The retry policy. Delays count from the end of the failed attempt. Jitter only adds, so no retry is early.
 * `Retry-After` of a 429 or 503 may postpone the next attempt, up to twice the scheduled delay.
 * @param tries earlier attempts since the delivery was created or replayed @param random 0 to 1
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
    const isKnown = failingSinceMs === undefined && endedAtMs <= (stats.lastSuccessAtMs ?? 0);
    if (isKnown && stats.failuresInRow === 0) return stats;
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
