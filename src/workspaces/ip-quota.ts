/**
 * The quota of clients without a valid key: a bucket of Free's size per IPv4 address or IPv6 /64
 * (what one subscriber gets). In memory only, and bounded: beyond it the bucket that was begun first
 * is forgotten, which can only let somebody ask again.
 */
import { addressGroup } from '../model/address.ts';
import type { Clock } from '../model/clock.ts';
import { planLimits } from '../model/workspace.ts';
import { QuotaWindows, type QuotaAnswer } from './window-count.ts';

/** About 400 bytes each: 26 MB at most. */
const bucketsMax = 65_536;

export class IpQuota {
  readonly #clock: Clock;
  readonly #buckets = new Map<string, QuotaWindows>();
  readonly #bucketsMax: number;

  constructor(clock: Clock, maximum = bucketsMax) {
    this.#clock = clock;
    this.#bucketsMax = maximum;
  }

  /** Counts a request of the client at `address` (IPv4 or IPv6 text). */
  take(address: string): QuotaAnswer {
    return this.#of(addressGroup(address)).take(planLimits.free, this.#clock.now());
  }

  /** The state without counting. */
  look(address: string): QuotaAnswer {
    return this.#of(addressGroup(address)).look(planLimits.free, this.#clock.now());
  }

  #of(group: string): QuotaWindows {
    const known = this.#buckets.get(group);
    if (known !== undefined) return known;
    if (this.#buckets.size >= this.#bucketsMax) {
      const [oldest] = this.#buckets.keys();
      if (oldest !== undefined) this.#buckets.delete(oldest);
    }
    const fresh = new QuotaWindows();
    this.#buckets.set(group, fresh);
    return fresh;
  }
}
