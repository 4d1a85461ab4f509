/**
 * Pages of deliveries: lists that may be long and are read from their newest end. A cursor goes on from where a
 * page ended, at constant cost; a page by its number reads what lies above it, so numbers go so deep only.
 */
import { Failure } from '../../model/failure.ts';
import type { EndpointRecord } from '../../model/webhook.ts';
import type { DeliveryPage } from '../../webhooks/deliveries/dead-letters.ts';
import type { Delivery } from '../../webhooks/deliveries/delivery-transaction.ts';
import { jsonResult, type Result } from '../route.ts';
import type { Webhooks } from '../services.ts';
import type { ShownDelivery } from './webhook-schemas.ts';

/** Deliveries above a page that is asked for by number: about 10 ms of reading. */
const skippedMax = 1_000;
const cursorPattern = /^\d{1,15}(\.\d{1,15})?$/;

interface Query {
  readonly page: number;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/**
 * @param read the page of `limit` that begins after `before`
 * @throws Failure validation_failed for a cursor of another list, and for a number that is too deep
 */
export function deliveryPageResult(
  { page, limit, cursor }: Query,
  total: number,
  read: (place: { before?: string; limit: number }) => DeliveryPage,
  view: (delivery: Delivery) => unknown,
): Result {
  const place =
    cursor === undefined ? placeOf(page, limit, total, read) : { before: parseCursor(cursor) };
  const found: DeliveryPage = place === undefined ? { data: [] } : read({ ...place, limit });
  return jsonResult(200, {
    data: found.data.map(view),
    page,
    total,
    limit,
    ...(found.before === undefined ? {} : { nextCursor: found.before }),
  });
}

/** Where a numbered page begins; undefined = past the end. */
function placeOf(
  page: number,
  limit: number,
  total: number,
  read: (place: { limit: number }) => DeliveryPage,
): { before?: string } | undefined {
  const skipped = (page - 1) * limit;
  if (skipped === 0) return {};
  if (skipped >= total) return undefined;
  if (skipped > skippedMax) {
    const message = `Expected a page within the newest ${skippedMax}; walk further by nextCursor`;
    const faults = [{ path: 'page', code: 'too_deep', message }];
    throw new Failure('validation_failed', message, { faults });
  }
  const { before } = read({ limit: skipped });
  return before === undefined ? undefined : { before };
}

function parseCursor(cursor: string): string {
  if (cursorPattern.test(cursor)) return cursor;
  const message = 'Expected nextCursor of the page before';
  const faults = [{ path: 'cursor', code: 'invalid_cursor', message }];
  throw new Failure('validation_failed', message, { faults });
}

/** With what its endpoint and the wheel say. */
export function shown({ endpoints, deliveries }: Webhooks, delivery: Delivery): ShownDelivery {
  const endpoint: EndpointRecord | undefined = endpoints.byNo(delivery.endpointNo);
  const nextAttemptAtMs = deliveries.nextAttemptAtMs(delivery);
  return { delivery, endpointId: endpoint?.id, nextAttemptAtMs };
}
