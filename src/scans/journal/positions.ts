/**
 * A position of each journal in shared memory: how far it is written (its tail, stored by the one writer after its
 * write returned), or how far a shard has counted it. This is all that passes between those threads, and it stays
 * where it is when a thread dies.
 *
 *   1 word           journals that were ever published    i64
 *   a word each      position of journal 0, 1, …          i64, 0 = nothing was ever written there
 *   a bit each       1 = was ever published: in a cluster numbers run high and few of them are here
 *   1 word           1 = threads sleep until the next one is published (the low 32 bits)
 *
 * A thread that has read everything sleeps (`sleep`), and the next writer wakes it. To publish costs one load more
 * while nobody sleeps. No publish is slept through: the writer stores its position, then looks whether a thread
 * sleeps; the sleeper says that it does, then looks at the positions again. All four are sequentially consistent, so
 * one of the two sees the other. The word is set by each sleeper and cleared by the first writer, which wakes all: the
 * death of a sleeper costs one wake-up of nobody. A writer that dies between clearing and waking wakes nobody, so a
 * sleeper also looks now and then by itself.
 */
export const journalsMax = 65_536;
/** Redirect threads of a machine: each writes a journal. */
export const machineJournalsMax = 64;
const wordBytes = 8;
const bitsPerWord = 32;
const bitWords = journalsMax / bitsPerWord;
const bitsAt = (journalsMax + 1) * wordBytes;
const sleepBytesAt = bitsAt + bitWords * Int32Array.BYTES_PER_ELEMENT;
const memoryBytes = sleepBytesAt + wordBytes;
const awake = 0;
const asleep = 1;

export class JournalPositions {
  readonly memory: SharedArrayBuffer;
  readonly #count: BigInt64Array<SharedArrayBuffer>;
  readonly #positions: BigInt64Array<SharedArrayBuffer>;
  readonly #bits: Int32Array<SharedArrayBuffer>;
  readonly #sleep: Int32Array<SharedArrayBuffer>;
  #isWaiting = false;
  /** What this thread has published last: a writer looks no further at each of its writes. */
  #last = -1;
  #journals: readonly number[] = [];

  constructor(memory = new SharedArrayBuffer(memoryBytes)) {
    this.memory = memory;
    this.#count = new BigInt64Array(memory, 0, 1);
    this.#positions = new BigInt64Array(memory, wordBytes, journalsMax);
    this.#bits = new Int32Array(memory, bitsAt, bitWords);
    this.#sleep = new Int32Array(memory, sleepBytesAt, 1);
  }
  publish(journal: number, position: number): void {
    Atomics.store(this.#positions, journal, BigInt(position));
    if (journal !== this.#last) this.#list(journal);
    if (Atomics.load(this.#sleep, 0) !== awake) this.#wake();
  }
  position(journal: number): number {
    return Number(Atomics.load(this.#positions, journal));
  }
  /** Those that were ever published, ascending: to go through them costs nothing for numbers that are not here. */
  get journals(): readonly number[] {
    const count = Number(Atomics.load(this.#count, 0));
    if (count !== this.#journals.length) this.#journals = this.#listed();
    return this.#journals;
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
  #list(journal: number): void {
    const bit = 1 << (journal % bitsPerWord);
    const before = Atomics.or(this.#bits, Math.floor(journal / bitsPerWord), bit);
    if ((before & bit) === 0) Atomics.add(this.#count, 0, 1n);
    this.#last = journal;
  }
  #listed(): number[] {
    const journals: number[] = [];
    for (let word = 0; word < bitWords; word++) {
      const bits = Atomics.load(this.#bits, word);
      for (let bit = 0; bits >>> bit !== 0 && bit < bitsPerWord; bit++) {
        if (((bits >>> bit) & 1) === 1) journals.push(word * bitsPerWord + bit);
      }
    }
    return journals;
  }
}
