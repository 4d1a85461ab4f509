/**
 * The quota of clients without a valid key: a bucket of Free's size per IPv4 address or IPv6 /64
 * (what one subscriber gets). In memory only, and bounded: beyond it the bucket that was begun first
 * is forgotten, which can only let somebody ask again.
 */
import { isIPv4, isIPv6 } from 'node:net';
import type { Clock } from '../model/clock.ts';
import { planLimits } from '../model/workspace.ts';
import { QuotaWindows, type QuotaAnswer } from './window-count.ts';

/** About 400 bytes each: 26 MB at most. */
const bucketsMax = 65_536;
const mappedPrefix = /^::ffff:(?=\d+\.)/i;

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

/** The address itself for IPv4 (also mapped into IPv6), the first 64 bits for IPv6. */
export function addressGroup(address: string): string {
  const plain = address.replace(mappedPrefix, '').split('%')[0] ?? '';
  if (isIPv4(plain) || !isIPv6(plain)) return plain;
  const [head = '', tail] = plain.split('::');
  const first = head === '' ? [] : head.split(':');
  const last = tail === undefined || tail === '' ? [] : tail.split(':');
  // An IPv4 tail stands for two groups of 16 bits.
  const lastGroups = last.length + (last.at(-1)?.includes('.') === true ? 1 : 0);
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - first.length - lastGroups);
  const groups = [...first, ...Array<string>(zeros).fill('0'), ...last].slice(0, 4);
  const values = groups.map((group) => Number.parseInt(group, 16));
  const mapped = mappedIPv4([...first, ...Array<string>(zeros).fill('0'), ...last]);
  return mapped ?? `${values.map((value) => value.toString(16)).join(':')}::/64`;
}

/** ::ffff:c000:201 is 192.0.2.1 written in hexadecimal. */
function mappedIPv4(groups: readonly string[]): string | undefined {
  if (groups.length !== 8) return undefined;
  const values = groups.map((group) => Number.parseInt(group, 16));
  const [high = 0, low = 0] = values.slice(6);
  if (values.slice(0, 5).some((value) => value !== 0) || values[5] !== 0xffff) return undefined;
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}
