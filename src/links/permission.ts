/**
 * Until when this node may redirect by its link table, for all its redirect threads: one word in shared memory.
 *
 * Only where `cluster.staleLinks` is `refuse` (cluster/nodes/link-contact.ts grants it, and says why). The time is that of
 * the machine's monotonic clock, which is the same in every thread and goes on while the process is stopped: a thread that
 * wakes up with a permission of long ago sees that it is over.
 */
export class LinkPermission {
  readonly memory: SharedArrayBuffer;
  readonly #until: BigInt64Array<SharedArrayBuffer>;
  readonly #nanoseconds: () => bigint;

  /** Over at first. @param nanoseconds of the machine's monotonic clock */
  constructor(
    nanoseconds: () => bigint,
    memory = new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT),
  ) {
    this.memory = memory;
    this.#until = new BigInt64Array(memory);
    this.#nanoseconds = nanoseconds;
  }

  /** A load and a reading of the clock, 46 ns. */
  get isOver(): boolean {
    return this.#nanoseconds() >= Atomics.load(this.#until, 0);
  }

  /** One that ends later stays. @param until nanoseconds, of the same clock */
  grant(until: bigint): void {
    if (until > Atomics.load(this.#until, 0)) Atomics.store(this.#until, 0, until);
  }

  revoke(): void {
    Atomics.store(this.#until, 0, 0n);
  }
}
