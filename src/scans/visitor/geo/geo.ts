/**
 * Country and city of the 16 address bytes that a scan record carries, IPv4 as ::ffff:a.b.c.d.
 *
 * A look-up never fails: what no file knows, what is not routed, and whatever a broken file yields is the country `ZZ`
 * and no city. It keeps no addresses: once its unit was read (table-units.ts) one takes 0.1 to 0.2 µs.
 */
import { isMappedIpv4 } from '../visitor-id.ts';
import { GeoTable } from './geo-table.ts';
import { nowhere, type Place } from './place.ts';
import type { OpenTable } from './table-units.ts';

/** Look-ups of one thread. */
export class Geo {
  readonly #table: GeoTable | undefined;

  /** @param table undefined: every place is unknown */
  constructor(table: OpenTable | undefined) {
    this.#table = table && new GeoTable(table);
  }

  /** Place of the 16 address bytes at `at`. */
  lookup(address: Uint8Array, at: number): Place {
    if (this.#table === undefined) return nowhere;
    if (isMappedIpv4(address, at)) {
      if (isUnroutedIpv4(address, at + 12)) return nowhere;
      return this.#table.ofIpv4(address, at + 12);
    }
    return isUnroutedIpv6(address, at) ? nowhere : this.#table.ofIpv6(address, at);
  }
}

/** This network, private use, shared (100.64/10), loopback, link-local, and 224/3, which no visitor has. */
function isUnroutedIpv4(address: Uint8Array, at: number): boolean {
  const first = address[at]!;
  const second = address[at + 1]!;
  if (first === 10 || first === 127 || first === 0 || first >= 224) return true;
  if (first === 172) return (second & 0xf0) === 16;
  if (first === 192) return second === 168;
  if (first === 169) return second === 254;
  return first === 100 && (second & 0xc0) === 64;
}

/** All but global unicast, 2000::/3: loopback, unique local, link-local, multicast. */
const isUnroutedIpv6 = (address: Uint8Array, at: number): boolean => (address[at]! & 0xe0) !== 0x20;
