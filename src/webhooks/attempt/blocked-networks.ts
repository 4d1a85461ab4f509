/**
 * Addresses that a webhook may not reach: everything that is not the public internet, so that an
 * endpoint's URL cannot be used to talk to this machine, its neighbours or a cloud's metadata service.
 *
 *   IPv4  denied where listed (IANA's special-purpose registry, and Azure's metadata address)
 *   IPv6  allowed in 2000::/3 alone (global unicast), minus the parts of it that are listed
 *   IPv4 inside IPv6: mapped (::ffff:0:0/96), NAT64 (64:ff9b::/96) and 6to4 (2002::/16) reach what is
 *     inside, so that is checked too; 6to4 is denied as a whole besides, as is 64:ff9b:1::/48, which
 *     lies outside 2000::/3
 *
 * `allowNetworks` opens blocks in spite of that. It never opens what an address holds inside: 2002::/16
 * opened still refuses 2002:7f00:1::, which is 127.0.0.1.
 */
import { type Address, ipv4Inside, isIpv4, Networks, parseAddress } from '../../model/address.ts';

const deniedIpv4 = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // carrier-grade NAT
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // Azure's platform, from inside its machines
  '169.254.0.0/16', // link-local, metadata services
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
];
const deniedIpv6 = [
  '2001::/23', // protocol assignments, Teredo
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '3fff::/20', // documentation
];

const denied = new Networks([...deniedIpv4, ...deniedIpv6]);
const globalIpv6 = new Networks(['2000::/3']);
const sixToFour = new Networks(['2002::/16']);
const nat64 = new Networks(['64:ff9b::/96']);

export class AddressGuard {
  readonly #allowed: Networks;

  /** @param allowNetworks CIDR blocks, validated by config */
  constructor(allowNetworks: readonly string[]) {
    this.#allowed = new Networks(allowNetworks);
  }

  /** Whether `text` (no brackets) may not be connected to; true for what is no address. */
  isDenied(text: string): boolean {
    const address = parseAddress(text);
    // A zone (`fe80::1%eth0`) is for link-local addresses alone.
    return address === undefined || text.includes('%') || this.#isDenied(address);
  }

  #isDenied(address: Address): boolean {
    if (nat64.has(address)) return this.#isDenied(ipv4Inside(address, 6));
    if (sixToFour.has(address) && this.#isDenied(ipv4Inside(address, 1))) return true;
    if (this.#allowed.has(address)) return false;
    return denied.has(address) || !(isIpv4(address) || globalIpv6.has(address));
  }
}
