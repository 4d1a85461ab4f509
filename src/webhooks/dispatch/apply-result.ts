/** How an attempt that ended changes its delivery and its endpoint, inside the transaction that stores it. */
import type { EndpointNo } from '../../model/numbers.ts';
import type { DisabledReason } from '../../model/webhook.ts';
import { toWheelMs } from '../../model/wheel-time.ts';
import type { DeliveryTransaction } from '../deliveries/delivery-transaction.ts';
import { decide, shouldDisable, statsAfter } from '../deliveries/delivery.ts';
import type { Endpoints } from '../endpoints/endpoints.ts';
import type { EndedAttempt } from './result-batcher.ts';

export type EndpointsToDisable = Map<EndpointNo, DisabledReason>;

export interface ApplyOptions {
  readonly endpoints: Endpoints;
  readonly retryDelaysMs: readonly number[];
}

/** @param toDisable gets the endpoints that are to be disabled after the commit */
export function applyResult(
  tx: DeliveryTransaction,
  { delivery, attempt, wheelMs, random }: EndedAttempt,
  { endpoints, retryDelaysMs }: ApplyOptions,
  toDisable: EndpointsToDisable,
): void {
  const { endpointNo } = delivery;
  const status = endpoints.byNo(endpointNo)?.status ?? 'deleted';
  const { event, delayMs } = decide(attempt, delivery.tries, retryDelaysMs, random);
  const stats = statsAfter(tx.stats(endpointNo), attempt, wheelMs);
  tx.setStats(endpointNo, stats);
  if (event === 'gone') toDisable.set(endpointNo, 'gone');
  else if (shouldDisable(stats, wheelMs)) toDisable.set(endpointNo, 'failing');
  if (event === 'failed' && status === 'deleted') {
    tx.move(delivery, 'endpoint_removed', { attempt });
  } else if (event === 'failed' && status === 'disabled') {
    tx.move(delivery, 'endpoint_disabled', { attempt, deadReason: 'endpoint_disabled' });
  } else {
    const deadReason = event === 'gone' ? 'gone' : 'exhausted';
    const dueMs = event === 'failed' ? toWheelMs(wheelMs + 1 + delayMs) : delivery.dueMs;
    const moved = tx.move(delivery, event, { attempt, deadReason, dueMs });
    if (status === 'deleted') tx.move(moved, 'endpoint_removed');
  }
}
