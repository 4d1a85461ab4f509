/**
 * Who counts as one scanner: a keyed 64-bit hash of address and user agent, the only form in which addresses leave the journal.
 *
 *     agent hash    SipHash(agent key, user agent bytes)            once per agent, cached with its class
 *     visitor hash  SipHash(visitor key, 8 address bytes ‖ agent hash)            once per scan
 *     split point   SipHash(the code's key, 8 address bytes ‖ unkeyed agent hash)
 *
 * IPv4 uses the last 8 bytes of its mapped form (00 00 ff ff a b c d); IPv6 its /64, the first 8: a phone changes the
 * lower half daily. The two never collide, because 0::/32 is not routed. The first two keys derive from the installation's.
 */
import { SipHash, word } from './sip-hash.ts';

/** Whether the 16 bytes at `at` are an IPv4 address, ::ffff:a.b.c.d. */
export function isMappedIpv4(bytes: Uint8Array, at: number): boolean {
  return word(bytes, at + 8) === mappedWord && word(bytes, at) === 0 && word(bytes, at + 4) === 0;
}

/** 00 00 ff ff, read from the low end. */
const mappedWord = 0xffff << 16;

/** A key for one purpose: two hashes of its label under the installation's key. */
function deriveKey(key: Uint8Array, label: string): Uint8Array {
  const parent = new SipHash(key);
  const words = new Uint32Array(4);
  for (const half of [0, 1]) {
    const text = new TextEncoder().encode(`${label} ${half}`);
    parent.hash(text, 0, text.length);
    words[half * 2] = parent.lo;
    words[half * 2 + 1] = parent.hi;
  }
  return new Uint8Array(words.buffer);
}

/** Creates visitor hashes, one instance per thread. `hi` and `lo` have the last result. */
export class VisitorIds {
  /** Hashes the bytes of user agents. */
  readonly agentHash: SipHash;
  readonly #visitors: SipHash;

  /** @param key 16 secret bytes; uniques are comparable only under one key */
  constructor(key: Uint8Array) {
    this.agentHash = new SipHash(deriveKey(key, 'agent'));
    this.#visitors = new SipHash(deriveKey(key, 'visitor'));
  }

  get hi(): number {
    return this.#visitors.hi;
  }

  get lo(): number {
    return this.#visitors.lo;
  }

  /** Hashes a visitor into `hi` and `lo`. @param address holds 16 bytes at `at`, IPv4 as ::ffff:a.b.c.d */
  hashVisitor(address: Uint8Array, at: number, agentHi: number, agentLo: number): void {
    const from = isMappedIpv4(address, at) ? at + 8 : at;
    this.#visitors.hashWords(word(address, from), word(address, from + 4), agentLo, agentHi);
  }
}

const splitHash = new SipHash(new Uint8Array(16));

/**
 * A visitor's point in the splits of a code: the same variant on every machine and after every start, without a cookie.
 * @param words the code's key begins at `seed`
 * @param address 16 bytes, IPv4 as ::ffff:a.b.c.d
 * @returns 32 bits, unsigned
 */
export function splitPoint(
  words: Int32Array,
  seed: number,
  address: Uint8Array,
  [high, low]: readonly [high: number, low: number],
): number {
  const from = isMappedIpv4(address, 0) ? 8 : 0;
  splitHash.useKey(words, seed);
  splitHash.hashWords(word(address, from), word(address, from + 4), low, high);
  return splitHash.lo;
}
