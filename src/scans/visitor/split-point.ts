/**
 * Where a visitor stands in the splits of a code: a keyed hash of address and user agent, so that the same visitor gets
 * the same variant on every machine and after every start, without a cookie. The key is the code's own.
 *
 *     SipHash(seed of the code, 8 address bytes ‖ hash of the agent)             addresses as in visitor-id.ts
 */
import { SipHash, word } from './sip-hash.ts';
import { isMappedIpv4 } from './visitor-id.ts';

const hash = new SipHash(new Uint8Array(16));

/**
 * @param words of the key begin at `seed`
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
  hash.useKey(words, seed);
  hash.hashWords(word(address, from), word(address, from + 4), low, high);
  return hash.lo;
}
