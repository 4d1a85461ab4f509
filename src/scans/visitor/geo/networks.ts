/** What a table is made of: all networks of one family, in the order of their addresses. */
import { messageOf } from '../../../model/failure.ts';

/** Bits with which all addresses of a family begin, ::/96 and 2000::/3, and how many. */
export const families = {
  4: { first: 0, bits: 96 },
  6: { first: 0x2000_0000, bits: 3 },
} as const;

export type Family = keyof typeof families;

/** A file of networks. */
export interface GeoSource {
  readonly holdsIpv6: boolean;
  /** @param numberOf number of the place that a record says; called once for each record */
  networks(family: Family, numberOf: (record: unknown) => number): Networks;
  close(): void;
}

/** A file cannot be read, or has more networks than a table takes. */
export class SourceError extends Error {
  override readonly name = 'SourceError';
  readonly source: GeoSource;

  constructor(source: GeoSource, cause: unknown) {
    super(messageOf(cause), { cause });
    this.source = source;
  }
}

/** A walk over them, first to last, without gaps. */
export interface Networks {
  /** The last address of the network, as four words. */
  readonly last: Uint32Array;
  /** Number of its place. */
  readonly place: number;
  /** Flags of table-layout.ts: networks that were left out, because they hold those of IPv4. */
  readonly aliases: number;
  /** Goes on to the next network; false behind the last. @throws SourceError */
  next(): boolean;
}

/** Where there is no file: one network of which nothing is known. */
export class NoNetworks implements Networks {
  readonly last: Uint32Array;
  readonly place = 0;
  readonly aliases = 0;
  #isOver = false;

  constructor(family: Family) {
    this.last = new Uint32Array(4).fill(0xffff_ffff);
    if (family === 4) this.last.fill(0, 0, 3);
    else this.last[0] = 0x3fff_ffff;
  }

  next(): boolean {
    const isFirst = !this.#isOver;
    this.#isOver = true;
    return isFirst;
  }
}

/** Of four words each: below 0 when the first comes before the other. */
export function compareAddresses(one: Uint32Array, other: Uint32Array): number {
  for (let word = 0; word < 4; word++) {
    if (one[word] !== other[word]) return one[word]! - other[word]!;
  }
  return 0;
}
