/**
 * A position of each journal in shared memory: how far it is written (its tail, stored by the one writer after its
 * write returned), or how far a shard has counted it. This is all that passes between those threads, and it stays
 * where it is when a thread dies.
 *
 *   0        the highest journal published + 1      i64 each
 *   1 …      position of journal 0, 1, …            0 = nothing was ever written there
 *   last     1 = threads sleep until the next one is published (the low 32 bits)
 *
 * A thread that has read everything sleeps (`sleep`), and the next writer wakes it. To publish costs one load more
 * while nobody sleeps. No publish is slept through: the writer stores its position, then looks whether a thread
 * sleeps; the sleeper says that it does, then looks at the positions again. All four are sequentially consistent, so
 * one of the two sees the other. The word is set by each sleeper and cleared by the first writer, which wakes all: the
 * death of a sleeper costs one wake-up of nobody. A writer that dies between clearing and waking wakes nobody, so a
 * sleeper also looks now and then by itself.
 */
export const journalsMax = 4_096;
const endAt = 0;
const wordBytes = 8;
const sleepBytesAt = (journalsMax + 1) * wordBytes;
const memoryBytes = sleepBytesAt + wordBytes;
const awake = 0;
const asleep = 1;

export class JournalPositions {
  readonly memory: SharedArrayBuffer;
  readonly #positions: BigInt64Array<SharedArrayBuffer>;
  readonly #sleep: Int32Array<SharedArrayBuffer>;
  #isWaiting = false;
  /** The end that this thread has seen: a writer looks no further at each of its writes. */
  #knownEnd = 0;

  constructor(memory = new SharedArrayBuffer(memoryBytes)) {
    this.memory = memory;
    this.#positions = new BigInt64Array(memory);
    this.#sleep = new Int32Array(memory, sleepBytesAt, 1);
  }
  publish(journal: number, position: number): void {
    Atomics.store(this.#positions, journal + 1, BigInt(position));
    if (journal >= this.#knownEnd) this.#extend(journal + 1);
    if (Atomics.load(this.#sleep, 0) !== awake) this.#wake();
  }
  position(journal: number): number {
    return Number(Atomics.load(this.#positions, journal + 1));
  }
  /** Journals from here up were never published. */
  get end(): number {
    return Number(Atomics.load(this.#positions, endAt));
  }
  /** A thread sleeps until the next publish. */
  get isAwaited(): boolean {
    return Atomics.load(this.#sleep, 0) !== awake;
  }
  /**
   * Has `wake` called once after the next publish of any thread; again while it waits, it goes on waiting.
   * @param hasUnread whether anything was published that the caller has not seen
   * @returns false when there is something unread already: nothing is called then, or for an earlier call
   */
  sleep(hasUnread: () => boolean, wake: () => void): boolean {
    if (this.#isWaiting) return !hasUnread();
    Atomics.store(this.#sleep, 0, asleep);
    if (hasUnread()) return false;
    const waiting = Atomics.waitAsync(this.#sleep, 0, asleep);
    if (!waiting.async) return false;
    this.#isWaiting = true;
    void this.#wait(waiting.value, wake);
    return true;
  }
  async #wait(published: Promise<unknown>, wake: () => void): Promise<void> {
    await published;
    this.#isWaiting = false;
    wake();
  }
  #wake(): void {
    Atomics.store(this.#sleep, 0, awake);
    Atomics.notify(this.#sleep, 0);
  }
  #extend(end: number): void {
    const wanted = BigInt(end);
    let found = Atomics.load(this.#positions, endAt);
    while (found < wanted) {
      const before = Atomics.compareExchange(this.#positions, endAt, found, wanted);
      if (before === found) break;
      found = before;
    }
    this.#knownEnd = this.end;
  }
}
