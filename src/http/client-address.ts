/**
 * Whose request it is: the socket's peer, or, only where the peer is a trusted proxy, the client that
 * the proxy names in the PROXY protocol or in X-Forwarded-For.
 *
 * X-Forwarded-For is read from the right: each trusted proxy appended the address it saw, so the first
 * address from the right that is not itself trusted is the client; what stands left of it was sent by
 * the client and proves nothing. An entry that is no address ends the walk at the last good one.
 */
import { BlockList, isIP, isIPv4 } from 'node:net';

/** Hops looked at: longer chains are made by clients, not by proxies. */
const hopsMax = 16;
/** Verdicts kept: peers behind proxies are few, direct ones are not worth keeping. */
const verdictsMax = 1_024;

export class ClientAddresses {
  readonly #trusted = new BlockList();
  readonly #verdicts = new Map<string, boolean>();
  readonly #isAnyTrusted: boolean;

  /** @param trustedProxies addresses and CIDR blocks, validated by config */
  constructor(trustedProxies: readonly string[]) {
    this.#isAnyTrusted = trustedProxies.length > 0;
    for (const entry of trustedProxies) {
      const [address = '', bits] = entry.split('/');
      const family = isIPv4(address) ? 'ipv4' : 'ipv6';
      if (bits === undefined) this.#trusted.addAddress(address, family);
      else this.#trusted.addSubnet(address, Number(bits), family);
    }
  }

  /** False when every client is its own socket's peer. */
  get hasProxies(): boolean {
    return this.#isAnyTrusted;
  }

  /** Whether an address, in the form a socket writes it, is one of the trusted proxies. */
  isTrusted(address: string): boolean {
    return this.#isAnyTrusted && this.#isTrusted(normaliseAddress(address));
  }

  /**
   * @param peer the socket's address as text
   * @param proxied the PROXY protocol's address as text, empty without one
   * @param forwardedFor the X-Forwarded-For header, empty without one
   */
  resolve(peer: string, proxied: string, forwardedFor: string): string {
    const near = normaliseAddress(peer);
    if (!this.#isAnyTrusted || !this.#isTrusted(near)) return near;
    const start = proxied === '' ? near : normaliseAddress(proxied);
    if (forwardedFor === '') return start;
    if (start !== near && !this.#isTrusted(start)) return start;
    return this.#walk(start, forwardedFor);
  }

  #walk(start: string, forwardedFor: string): string {
    let client = start;
    const hops = forwardedFor.split(',');
    const last = Math.max(0, hops.length - hopsMax);
    for (let index = hops.length - 1; index >= last; index -= 1) {
      const address = parseHop(hops[index] ?? '');
      if (address === undefined) return client;
      client = address;
      if (!this.#isTrusted(address)) return client;
    }
    return client;
  }

  #isTrusted(address: string): boolean {
    const known = this.#verdicts.get(address);
    if (known !== undefined) return known;
    const family = isIP(address);
    const verdict = family !== 0 && this.#trusted.check(address, family === 4 ? 'ipv4' : 'ipv6');
    if (this.#verdicts.size >= verdictsMax) this.#verdicts.clear();
    this.#verdicts.set(address, verdict);
    return verdict;
  }
}

/** uWS writes IPv6 in full, without `::`; an IPv4 client of a dual-stack socket appears as mapped. */
const mappedFull = '0000:0000:0000:0000:0000:ffff:';

/** IPv4-mapped IPv6 becomes IPv4, in the forms sockets and proxies write it; the rest is unchanged. */
export function normaliseAddress(address: string): string {
  if (!address.includes(':')) return address;
  const lower = address.toLowerCase();
  if (lower.startsWith('::ffff:') && isIPv4(lower.slice(7))) return lower.slice(7);
  if (!lower.startsWith(mappedFull)) return lower;
  const [high = '', low = ''] = lower.slice(mappedFull.length).split(':');
  const bits = Number.parseInt(high + low, 16);
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join('.');
}

/** `1.2.3.4`, `1.2.3.4:80`, `::1`, `[::1]:80` -> the address; undefined when it is none. */
function parseHop(text: string): string | undefined {
  const trimmed = text.trim();
  const bracketed = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(trimmed)?.[1];
  const bare = bracketed ?? /^([\d.]+):\d{1,5}$/.exec(trimmed)?.[1] ?? trimmed;
  return isIP(bare) === 0 ? undefined : normaliseAddress(bare);
}

/** True for 127.0.0.0/8 and ::1. */
export function isLoopback(address: string): boolean {
  const plain = normaliseAddress(address);
  return (
    plain.startsWith('127.') ||
    plain === '::1' ||
    plain === '0000:0000:0000:0000:0000:0000:0000:0001'
  );
}
