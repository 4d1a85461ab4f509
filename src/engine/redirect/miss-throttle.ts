/**
 * Limits how many unknown codes an address may request, so that codes cannot be guessed; existing codes are never refused.
 *
 * All redirect threads share a table with a 32-bit cell per bucket of addresses: the minute in the upper half, its misses
 * in the lower. Two addresses share a bucket with a chance of 1 in 65,536.
 */
const buckets = 65_536;
const minuteMs = 60_000;
const countMask = 0xffff;
/** Misses of one address in a minute: no person mistypes more. */
export const unknownPerMinuteMax = 300;

export class MissThrottle {
  readonly memory: SharedArrayBuffer;
  readonly #cells: Int32Array;
  readonly #seed: number;

  /** @param seed random per process, so that buckets cannot be predicted */
  constructor(
    seed: number,
    memory = new SharedArrayBuffer(buckets * Int32Array.BYTES_PER_ELEMENT),
  ) {
    this.memory = memory;
    this.#cells = new Int32Array(memory);
    this.#seed = seed;
  }

  /** Counts a miss; true when the address is over its limit. */
  isOver(address: Uint8Array, nowMs: number): boolean {
    const minute = Math.floor(nowMs / minuteMs) & countMask;
    const cells = this.#cells;
    const at = this.#bucket(address);
    for (;;) {
      const cell = Atomics.load(cells, at);
      const misses = cell >>> 16 === minute ? cell & countMask : 0;
      if (misses >= unknownPerMinuteMax) return true;
      const next = (minute << 16) | (misses + 1);
      if (Atomics.compareExchange(cells, at, cell, next) === cell) return false;
    }
  }

  retryAfterSeconds(nowMs: number): number {
    return Math.max(1, Math.ceil((minuteMs - (nowMs % minuteMs)) / 1_000));
  }

  #bucket(address: Uint8Array): number {
    // An IPv6 household is a /64.
    const length = address.length === 16 ? 8 : address.length;
    let hash = this.#seed ^ 0x811c9dc5;
    for (let i = 0; i < length; i++) hash = Math.imul(hash ^ address[i]!, 0x01000193);
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
    return (hash ^ (hash >>> 13)) & (buckets - 1);
  }
}
