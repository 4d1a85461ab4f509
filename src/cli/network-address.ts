/** Addresses at which other devices may reach this machine. */
import type { networkInterfaces } from 'node:os';
import { CidrSet, parseAddress } from '../model/address.ts';

export type Interfaces = ReturnType<typeof networkInterfaces>;

/**
 * Most likely first: home and office networks, other private ones, public ones; IPv4 before IPv6, which is
 * longer to type and in a code. Link-local addresses need a zone, which no web address has.
 */
const preferred = [
  '192.168.0.0/16',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '0.0.0.0/0',
  'fc00::/7',
  '::/0',
].map((network) => new CidrSet([network]));
const linkLocal = new CidrSet(['169.254.0.0/16', 'fe80::/10']);
/** Networks between programs of this machine. */
const virtual = /^(docker|br-|veth|virbr|vmnet|cni|flannel|podman)/;

/** As the host of a web address, `192.168.1.20` or `[2001:db8::1]`, the best one first. */
export function networkHosts(interfaces: Interfaces): string[] {
  return Object.entries(interfaces)
    .filter(([name]) => !virtual.test(name))
    .flatMap(([, addresses = []]) => addresses)
    .flatMap(({ internal, address, family }) => {
      const parsed = parseAddress(address);
      if (internal || parsed === undefined || linkLocal.has(parsed)) return [];
      const host = family === 'IPv6' ? `[${address}]` : address;
      return [{ host, rank: preferred.findIndex((network) => network.has(parsed)) }];
    })
    .sort((a, b) => a.rank - b.rank)
    .map(({ host }) => host);
}
