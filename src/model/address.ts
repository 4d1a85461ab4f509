/**
 * The only parser of IP addresses and networks. An address has 128 bits, IPv4 as `::ffff:a.b.c.d`, so it is the same from a
 * dual-stack socket, a proxy or a configuration.
 *
 * `node:net` decides which texts are valid: ipaddr.js alone reads 0x7f.1 as 127.0.0.1, and `::1.2.3.4`, which a socket
 * takes for ::102:304, as 1.2.3.4.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv6;

const prefixBits = 96;
const mappedPrefix = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
const mappedNetwork = ipaddr.IPv6.parse('::ffff:0:0');

/** Drops a zone (`fe80::1%eth0`); undefined for other texts. */
export function parseAddress(text: string): Address | undefined {
  const family = isIP(text);
  if (family === 0) return undefined;
  if (family === 4) return new ipaddr.IPv6([...mappedPrefix, ...text.split('.').map(Number)]);
  const [plain = ''] = text.split('%');
  return ipaddr.IPv6.parse(plain.replace(/^::(?=\d+\.)/, '0::'));
}

export function isIpv4(address: Address): boolean {
  return address.match(mappedNetwork, prefixBits);
}

/** The IPv4 address in the 32 bits from the 16-bit group `group`. */
export function ipv4Inside(address: Address, group: number): Address {
  const [high = 0, low = 0] = address.parts.slice(group);
  return new ipaddr.IPv6([0, 0, 0, 0, 0, 0xffff, high, low]);
}

export function addressBytes(address: Address): Uint8Array {
  const bytes = Uint8Array.from(address.toByteArray());
  return isIpv4(address) ? bytes.subarray(12) : bytes;
}

/** IPv4 mapped into IPv6 becomes `a.b.c.d`; other texts become lower case. */
export function normaliseAddress(text: string): string {
  if (!text.includes(':')) return text;
  const lower = text.toLowerCase();
  const address = lower.includes('ffff:') ? parseAddress(lower) : undefined;
  return address !== undefined && isIpv4(address) ? addressBytes(address).join('.') : lower;
}

/** The network of one subscriber: the address for IPv4, its /64 for IPv6. */
export function addressGroup(text: string): string {
  const address = parseAddress(text);
  if (address === undefined) return text;
  if (isIpv4(address)) return addressBytes(address).join('.');
  const groups = address.parts.slice(0, 4).map((part) => part.toString(16));
  return `${groups.join(':')}::/64`;
}

export function isLoopback(text: string): boolean {
  const address = parseAddress(text);
  return address !== undefined && loopback.has(address);
}

/** Whether a URL leads to the machine that opens it: `localhost`, loopback, `0.0.0.0`. */
export function isLocalUrl(url: string): boolean {
  const host = new URL(url).hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  if (host === 'localhost' || host.endsWith('.localhost')) return true;
  const address = parseAddress(host);
  return address !== undefined && (loopback.has(address) || unspecified.has(address));
}

export class CidrSet {
  readonly #networks: ReadonlyArray<{ readonly address: Address; readonly bits: number }>;

  /** @param networks `10.0.0.0/8`, `2001:db8::/32`, `192.0.2.1` */
  constructor(networks: readonly string[]) {
    this.#networks = networks.map((text) => {
      const [plain = '', bits] = text.split('/');
      const address = parseAddress(plain);
      if (address === undefined) throw new Error(`Cannot use the network ${text}: no address`);
      const width = isIP(plain) === 4 ? prefixBits : 0;
      return { address, bits: bits === undefined ? 128 : width + Number(bits) };
    });
  }

  has(address: Address): boolean {
    return this.#networks.some((network) => address.match(network.address, network.bits));
  }
}

const loopback = new CidrSet(['127.0.0.0/8', '::1']);
const unspecified = new CidrSet(['0.0.0.0', '::']);
