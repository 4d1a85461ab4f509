/**
 * The life of a delivery: one state, one table, every cell decided.
 *
 *   (created) --> pending --succeeded--> delivered --expired--> (deleted)
 *               |  ^ |
 *         failed+--+ +--exhausted, gone, endpoint_disabled--> dead --expired--> (deleted)
 *               |  ^                                           |
 *               |  +-------------------replayed----------------+
 *               +--endpoint_removed, dropped--> canceled --expired--> (deleted)
 *
 * Only a pending delivery has attempts to come: a result that arrives late (an attempt that ends after its
 * endpoint was removed) changes nothing.
 */
import type { DeliveryState } from '../../model/webhook.ts';

export const deliveryEvents = [
  /** An attempt ended with a 2xx. */
  'succeeded',
  /** An attempt failed, and there is another. */
  'failed',
  /** The last attempt failed. */
  'exhausted',
  /** The receiver answered 410. */
  'gone',
  'endpoint_disabled',
  'endpoint_removed',
  /** A test event that failed: it is not retried. */
  'dropped',
  /** A person sends a dead letter again. */
  'replayed',
  /** Its time in the store is over. */
  'expired',
] as const;
export type DeliveryEvent = (typeof deliveryEvents)[number];

export type NextState = DeliveryState | 'deleted' | 'stays';

export const deliveryTransitions: Readonly<
  Record<DeliveryState, Readonly<Record<DeliveryEvent, NextState>>>
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
  delivered: {
    succeeded: 'stays',
    failed: 'stays',
    exhausted: 'stays',
    gone: 'stays',
    endpoint_disabled: 'stays',
    endpoint_removed: 'deleted',
    dropped: 'stays',
    replayed: 'stays',
    expired: 'deleted',
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
