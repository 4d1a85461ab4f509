/**
 * How many unknown codes an address may ask for: an enumerator meets 429 instead of an oracle.
 *
 * One table of counters in shared memory for all redirect threads, one 32-bit cell per bucket of
 * addresses: the minute in the upper half, the misses in it in the lower. Constant memory whatever comes;
 * two addresses share a bucket with a chance of 1 in 65,536 each, and a throttled visitor still gets
 * every code that exists.
 */
const buckets = 65_536;
const minuteMs = 60_000;
const countMask = 0xffff;

export class MissThrottle {
  readonly memory: SharedArrayBuffer;
  readonly #cells: Int32Array;
  readonly #perMinuteMax: number;
  readonly #seed: number;

  /** @param perMinuteMax 0 = no throttle @param seed random per process: buckets cannot be aimed at */
  constructor(
    perMinuteMax: number,
    seed: number,
    memory = new SharedArrayBuffer(buckets * Int32Array.BYTES_PER_ELEMENT),
  ) {
    this.memory = memory;
    this.#cells = new Int32Array(memory);
    this.#perMinuteMax = Math.min(perMinuteMax, countMask - 1);
    this.#seed = seed;
  }

  /** Counts a miss; true when this address has had its share of the minute. */
  isOver(address: Uint8Array, nowMs: number): boolean {
    if (this.#perMinuteMax === 0) return false;
    const minute = Math.floor(nowMs / minuteMs) & countMask;
    const cells = this.#cells;
    const at = this.#bucket(address);
    for (;;) {
      const cell = Atomics.load(cells, at);
      const misses = cell >>> 16 === minute ? cell & countMask : 0;
      if (misses >= this.#perMinuteMax) return true;
      const next = (minute << 16) | (misses + 1);
      if (Atomics.compareExchange(cells, at, cell, next) === cell) return false;
    }
  }

  /** Seconds until the minute ends, at least 1. */
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
