/**
 * The client of a request: the socket's peer, or, only where the peer is a trusted proxy, the client that
 * the proxy names in the PROXY protocol or in X-Forwarded-For.
 *
 * X-Forwarded-For is read from the right: each trusted proxy appended the address it saw, so the first
 * address from the right that is not itself trusted is the client; entries left of it were sent by the
 * client and prove nothing. Reading stops at an entry that is no address; the last good one counts.
 */
import { isIP } from 'node:net';
import { Networks, normaliseAddress, parseAddress } from '../model/address.ts';

/** Hops looked at: longer chains are made by clients, not by proxies. */
const hopsMax = 16;
/** Peers remembered: those of proxies are few, all others are not worth it. */
const peersMax = 1_024;

export class ClientAddresses {
  readonly #trusted: Networks;
  /** Whether a peer is trusted. A plain map: the redirect threads ask it for every request. */
  readonly #peers = new Map<string, boolean>();
  /** False when every client is its own socket's peer. */
  readonly hasProxies: boolean;

  /** @param trustedProxies addresses and CIDR blocks, validated by config */
  constructor(trustedProxies: readonly string[]) {
    this.#trusted = new Networks(trustedProxies);
    this.hasProxies = trustedProxies.length > 0;
  }

  /** Whether an address, in the form a socket writes it, is one of the trusted proxies. */
  isTrusted(address: string): boolean {
    return this.hasProxies && this.#isTrusted(normaliseAddress(address));
  }

  /**
   * @param peer the socket's address as text
   * @param proxied the PROXY protocol's address as text, empty without one
   * @param forwardedFor the X-Forwarded-For header, empty without one
   */
  resolve(peer: string, proxied: string, forwardedFor: string): string {
    const near = normaliseAddress(peer);
    if (!this.hasProxies || !this.#isTrusted(near)) return near;
    const start = proxied === '' ? near : normaliseAddress(proxied);
    if (forwardedFor === '') return start;
    if (start !== near && !this.#isTrusted(start)) return start;
    return this.#lastUntrusted(start, forwardedFor);
  }

  #lastUntrusted(start: string, forwardedFor: string): string {
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

  #isTrusted(text: string): boolean {
    const known = this.#peers.get(text);
    if (known !== undefined) return known;
    const address = parseAddress(text);
    const isTrusted = address !== undefined && this.#trusted.has(address);
    if (this.#peers.size >= peersMax) this.#peers.clear();
    this.#peers.set(text, isTrusted);
    return isTrusted;
  }
}

/** `1.2.3.4`, `1.2.3.4:80`, `::1`, `[::1]:80` -> the address; undefined for other texts. */
function parseHop(text: string): string | undefined {
  const trimmed = text.trim();
  const bracketed = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(trimmed)?.[1];
  const bare = bracketed ?? /^([\d.]+):\d{1,5}$/.exec(trimmed)?.[1] ?? trimmed;
  return isIP(bare) === 0 ? undefined : normaliseAddress(bare);
}
