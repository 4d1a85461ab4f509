/**
 * The client of a request: the socket's peer or, when the peer is a trusted proxy, the client that the proxy names by
 * the PROXY protocol or X-Forwarded-For.
 *
 * Each trusted proxy appends the address it saw to X-Forwarded-For, so the client is the first untrusted address from the
 * right; the client itself may have sent the entries to its left. Reading stops at an invalid entry.
 */
import { isIP } from 'node:net';
import { CidrSet, normaliseAddress, parseAddress } from '../../model/address.ts';

/** Only clients make longer chains. */
const hopsMax = 16;
const peersMax = 1_024;

/** An address from uWS. */
export const addressText = (address: ArrayBuffer): string =>
  Buffer.from(address).toString('latin1');

export class ClientAddresses {
  readonly #trusted: CidrSet;
  /** Cache: redirect threads ask for every request. */
  readonly #peers = new Map<string, boolean>();
  readonly hasProxies: boolean;

  constructor(trustedProxies: readonly string[]) {
    this.#trusted = new CidrSet(trustedProxies);
    this.hasProxies = trustedProxies.length > 0;
  }

  /** Whether an address, as a socket writes it, belongs to a trusted proxy. */
  isTrusted(address: string): boolean {
    return this.hasProxies && this.#isTrusted(normaliseAddress(address));
  }

  /**
   * @param peer the socket's address
   * @param proxied the PROXY protocol's address, or empty
   * @param forwardedFor the X-Forwarded-For header, or empty
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

/** The address of `1.2.3.4`, `1.2.3.4:80`, `::1`, `[::1]:80`; undefined for other texts. */
function parseHop(text: string): string | undefined {
  const trimmed = text.trim();
  const bracketed = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(trimmed)?.[1];
  const bare = bracketed ?? /^([\d.]+):\d{1,5}$/.exec(trimmed)?.[1] ?? trimmed;
  return isIP(bare) === 0 ? undefined : normaliseAddress(bare);
}
