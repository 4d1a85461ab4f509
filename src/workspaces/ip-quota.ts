/**
 * The quota of clients without a valid key: a bucket of Free's size per IPv4 address or IPv6 /64
 * (what one subscriber gets). In memory only, and bounded: the bucket that was used longest ago goes
 * first, which can only let its client ask again.
 */
import { LRUCache } from 'lru-cache';
import { addressGroup } from '../model/address.ts';
import type { Clock } from '../model/clock.ts';
import { planLimits } from '../model/workspace.ts';
import { QuotaWindows, type QuotaAnswer } from './window-count.ts';

/** About 400 bytes each: 26 MB at most. */
const bucketsMax = 65_536;

export class IpQuota {
  readonly #clock: Clock;
  readonly #buckets: LRUCache<string, QuotaWindows>;

  constructor(clock: Clock, max = bucketsMax) {
    this.#clock = clock;
    this.#buckets = new LRUCache({ max });
  }

  /** Counts a request of the client at `address` (IPv4 or IPv6 text). */
  take(address: string): QuotaAnswer {
    return this.#bucketOf(address).take(planLimits.free, this.#clock.now());
  }

  /** The state without counting. */
  peek(address: string): QuotaAnswer {
    return this.#bucketOf(address).peek(planLimits.free, this.#clock.now());
  }

  #bucketOf(address: string): QuotaWindows {
    const group = addressGroup(address);
    const known = this.#buckets.get(group);
    if (known !== undefined) return known;
    const fresh = new QuotaWindows();
    this.#buckets.set(group, fresh);
    return fresh;
  }
}
