/**
 * Quotas that live in memory only, one bucket a key. Bounded: the bucket that was used longest ago goes first,
 * which can only let its owner ask again.
 *
 *   clients without a valid key   one a IPv4 address or IPv6 /64 (what one subscriber gets), of Free's size
 *   people in the dashboard       one a user, whatever the session and the workspace: a small plan is for
 *                                 programs, and its dashboard stays usable
 */
import { LRUCache } from 'lru-cache';
import { addressGroup } from '../model/address.ts';
import type { Clock } from '../model/clock.ts';
import { planLimits, type PlanLimits } from '../model/workspace.ts';
import { QuotaWindows, type QuotaAnswer } from './window-count.ts';

/** About 400 bytes each: 26 MB at most. */
const bucketsMax = 65_536;
/** Ten a second: more than a person clicks, and no plan's worth of automation. */
export const sessionLimits: PlanLimits = { perMinute: 600, perDay: undefined };

interface MemoryQuotaOptions {
  readonly clock: Clock;
  readonly limits: PlanLimits;
  /** The bucket of what is given to `take`. */
  readonly keyOf: (name: string) => string;
  readonly bucketsMax?: number;
}

export class MemoryQuota {
  readonly #options: MemoryQuotaOptions;
  readonly #buckets: LRUCache<string, QuotaWindows>;

  constructor(options: MemoryQuotaOptions) {
    this.#options = options;
    this.#buckets = new LRUCache({ max: options.bucketsMax ?? bucketsMax });
  }

  /** Counts a request when the limits allow it. */
  take(name: string): QuotaAnswer {
    const { limits, clock } = this.#options;
    return this.#bucketOf(name).take(limits, clock.now());
  }

  /** The state without counting. */
  peek(name: string): QuotaAnswer {
    const { limits, clock } = this.#options;
    return this.#bucketOf(name).peek(limits, clock.now());
  }

  #bucketOf(name: string): QuotaWindows {
    const key = this.#options.keyOf(name);
    const known = this.#buckets.get(key);
    if (known !== undefined) return known;
    const fresh = new QuotaWindows();
    this.#buckets.set(key, fresh);
    return fresh;
  }
}

/** Takes client addresses, IPv4 or IPv6 text. */
export function openAddressQuota(clock: Clock, bucketsMax?: number): MemoryQuota {
  const bound = bucketsMax === undefined ? {} : { bucketsMax };
  return new MemoryQuota({ clock, limits: planLimits.free, keyOf: addressGroup, ...bound });
}

/** Takes users' ids. */
export function openSessionQuota(clock: Clock): MemoryQuota {
  return new MemoryQuota({ clock, limits: sessionLimits, keyOf: (userId) => userId });
}
