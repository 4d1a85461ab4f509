/**
 * A position of each journal in shared memory: its tail, stored after a write returned, or how far a shard has counted it.
 * These threads share nothing else.
 *
 *   1 word           journals that were ever published    i64
 *   a word each      position of journal 0, 1, …          i64, 0 = nothing was ever written
 *   a bit each       1 = was ever published: in a cluster numbers run high and few of them are here
 *   1 word           1 = threads sleep until the next publish (the low 32 bits)
 *
 * A thread that has read everything sleeps (`sleep`); the next writer wakes it. No publish is missed: the writer stores its
 * position, then checks for a sleeper; the sleeper sets its word, then checks the positions. All four are sequentially
 * consistent, so one of the two sees the other. The first writer clears the word and wakes all. A writer that dies in between
 * wakes no thread, so a sleeper also checks on a timer.
 */
export const journalsMax = 65_536;
/** Each redirect thread of a machine writes one. */
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
  /** The journal that this thread published last: its bit is set. */
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
  /** Journals that were ever published, ascending. */
  get journals(): readonly number[] {
    const count = Number(Atomics.load(this.#count, 0));
    if (count !== this.#journals.length) this.#journals = this.#listed();
    return this.#journals;
  }
  get isAwaited(): boolean {
    return Atomics.load(this.#sleep, 0) !== awake;
  }
  /**
   * Calls `wake` once after the next publish of any thread. Another call while one waits changes nothing.
   * @param hasUnread whether anything was published that the caller has not seen
   * @returns false when something is unread already: this call does not wait
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
