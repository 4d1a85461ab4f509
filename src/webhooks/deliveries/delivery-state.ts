/**
 * The life of a delivery: one state, one table, every cell decided.
 *
 *   (made) --> pending --succeeded--> delivered --expired--> (forgotten)
 *               |  ^ |
 *         failed+--+ +--exhausted, gone, endpoint_disabled--> dead --expired--> (forgotten)
 *               |  ^                                           |
 *               |  +-------------------replayed----------------+
 *               +--endpoint_removed, dropped--> canceled --expired--> (forgotten)
 *
 * Whatever is not pending is a fact of the past: news that comes late (an attempt that ends after its
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
  /** A test event that failed: nobody waits for it. */
  'dropped',
  /** A person sends a dead letter again. */
  'replayed',
  /** It was kept as long as it should be. */
  'expired',
] as const;
export type DeliveryEvent = (typeof deliveryEvents)[number];

export type NextState = DeliveryState | 'forgotten' | 'stays';

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
    endpoint_removed: 'forgotten',
    dropped: 'stays',
    replayed: 'stays',
    expired: 'forgotten',
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
    expired: 'forgotten',
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
    expired: 'forgotten',
  },
};
