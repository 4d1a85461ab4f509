/** Made-up visitor hashes: visitor `index` of a seed always has the same one, different ones differ. */
export interface VisitorHashes {
  hi: number;
  lo: number;
  /** Puts the hash of a visitor into `hi` and `lo`. */
  make(index: number): void;
}

/**
 * A four-round Feistel network over (index, seed): a permutation of 64 bits, so distinct visitors never
 * share a hash, with a multiply-xorshift round function that mixes every bit.
 */
export function visitorHashes(seed: number): VisitorHashes {
  return {
    hi: 0,
    lo: 0,
    make(index) {
      let left = index >>> 0;
      let right = seed >>> 0;
      for (let round = 1; round <= 4; round++) {
        let mixed = Math.imul(right ^ Math.imul(round, 0x9e3779b1), 0x85ebca6b);
        mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
        mixed = Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39);
        const next = (left ^ mixed ^ (mixed >>> 15)) >>> 0;
        left = right;
        right = next;
      }
      this.hi = left;
      this.lo = right;
    },
  };
}
