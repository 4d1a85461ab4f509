/**
 * Addresses that a webhook may not reach: everything that is not the public internet, so that an
 * endpoint's URL cannot be used to talk to this machine, its neighbours or a cloud's metadata service.
 *
 *   IPv4  denied where listed (IANA's special-purpose registry, and Azure's metadata address)
 *   IPv6  allowed in 2000::/3 alone (global unicast), minus the parts of it that are listed
 *   IPv4 inside IPv6: mapped (::ffff:0:0/96), NAT64 (64:ff9b::/96) and 6to4 (2002::/16) reach what is
 *     inside, so that is judged too; 6to4 is denied as a whole besides, as is 64:ff9b:1::/48, which
 *     lies outside 2000::/3
 *
 * `allowNetworks` opens blocks in spite of that. It never opens what an address holds inside: 2002::/16
 * opened still refuses 2002:7f00:1::, which is 127.0.0.1.
 */
import { BlockList, isIP, isIPv4 } from 'node:net';

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
const globalIpv6 = ['2000::/3'];
const deniedIpv6 = [
  '2001::/23', // protocol assignments, Teredo
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '3fff::/20', // documentation
];

export class AddressGuard {
  readonly #allowed: BlockList;
  readonly #denied = listOf([...deniedIpv4, ...deniedIpv6]);
  readonly #global = listOf(globalIpv6);

  /** @param allowNetworks CIDR blocks, validated by config */
  constructor(allowNetworks: readonly string[]) {
    this.#allowed = listOf(allowNetworks);
  }

  /** Whether `address` (text, no brackets) may not be connected to; true for what is no address. */
  isDenied(address: string): boolean {
    const family = isIP(address);
    if (family === 4) {
      return !this.#allowed.check(address, 'ipv4') && this.#denied.check(address, 'ipv4');
    }
    // A zone (`fe80::1%eth0`) is for link-local addresses alone.
    if (family === 0 || address.includes('%')) return true;
    const inner = innerIpv4(address);
    if (inner !== undefined && this.isDenied(inner.address)) return true;
    if (inner?.isWhole === true) return false;
    if (this.#allowed.check(address, 'ipv6')) return false;
    return !this.#global.check(address, 'ipv6') || this.#denied.check(address, 'ipv6');
  }
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    list.addSubnet(address, Number(bits), isIPv4(address) ? 'ipv4' : 'ipv6');
  }
  return list;
}

/** The IPv4 address that an IPv6 address stands for; `isWhole` when it says nothing beyond that. */
function innerIpv4(address: string): { address: string; isWhole: boolean } | undefined {
  const groups = groupsOf(address);
  const [first = 0, second = 0, third = 0] = groups;
  if (first === 0x2002) return { address: dotted(second, third), isWhole: false };
  const [high = 0, low = 0] = groups.slice(6);
  const isZero = (from: number, to: number) => groups.slice(from, to).every((group) => group === 0);
  const isMapped = isZero(0, 5) && groups[5] === 0xffff;
  const isNat64 = first === 0x64 && second === 0xff9b && isZero(2, 6);
  return isMapped || isNat64 ? { address: dotted(high, low), isWhole: true } : undefined;
}

const dotted = (high: number, low: number): string =>
  [high >> 8, high & 255, low >> 8, low & 255].join('.');

/** The eight groups of a valid IPv6 address, `::` and a dotted end written out. */
function groupsOf(address: string): number[] {
  const [head = '', tail] = address.split('::');
  const front = partOf(head);
  if (tail === undefined) return front;
  const back = partOf(tail);
  return [...front, ...Array<number>(8 - front.length - back.length).fill(0), ...back];
}

function partOf(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}
