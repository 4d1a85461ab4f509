/**
 * Quotas that live in memory only, one bucket a key. Bounded: the bucket that was used longest ago goes first,
 * which can only let its owner ask again.
 *
 *   clients without a valid key   one a IPv4 address or IPv6 /64 (what one subscriber gets), of Free's size
 *   people in the dashboard       one a user, whatever the session and the workspace: a small plan is for
 *                                 programs, and its dashboard stays usable
 */
import { LRUCache } from 'lru-cache';
import { addressGroup } from '../../model/address.ts';
import type { Clock } from '../../model/clock.ts';
import { planLimits, type PlanLimits } from '../../model/workspace.ts';
import { QuotaWindows, type QuotaAnswer } from './window-count.ts';

/** About 400 bytes each: 26 MB at most. */
const bucketsMax = 65_536;
/** Ten a second: more than a person clicks, too little for automation. */
export const sessionLimits: PlanLimits = { perMinute: 600, perDay: undefined };

export class MemoryQuota {
  readonly #clock: Clock;
  readonly #limits: PlanLimits;
  readonly #buckets: LRUCache<string, QuotaWindows>;
  readonly #groupOf: (key: string) => string;

  /** @param groupOf keys of one group share a bucket */
  constructor(clock: Clock, limits: PlanLimits, groupOf = (key: string) => key, max = bucketsMax) {
    this.#clock = clock;
    this.#limits = limits;
    this.#groupOf = groupOf;
    // With `max` the library allocates for that many at once: 1.3 MB.
    this.#buckets = new LRUCache({ maxSize: max, sizeCalculation: () => 1 });
  }

  /** Counts a request when the limits allow it. */
  take(key: string): QuotaAnswer {
    return this.#bucketOf(key).take(this.#limits, this.#clock.now());
  }

  /** The state without counting. */
  peek(key: string): QuotaAnswer {
    return this.#bucketOf(key).peek(this.#limits, this.#clock.now());
  }

  #bucketOf(key: string): QuotaWindows {
    const group = this.#groupOf(key);
    const known = this.#buckets.get(group);
    if (known !== undefined) return known;
    const fresh = new QuotaWindows();
    this.#buckets.set(group, fresh);
    return fresh;
  }
}

/** Keys are client addresses, IPv4 or IPv6 text. */
export const addressQuota = (clock: Clock, max?: number): MemoryQuota =>
  new MemoryQuota(clock, planLimits.free, addressGroup, max);
