/**
 * A position of each journal in shared memory: how far it is written (its tail, stored by the one writer after its
 * write returned), or how far a shard has counted it. This is all that passes between those threads, and it stays
 * where it is when a thread dies.
 *
 *   0    the highest journal published + 1      i64 each
 *   1 …  position of journal 0, 1, …            0 = nothing was ever written there
 */
const journalsMax = 4_096;
const endAt = 0;

export class JournalPositions {
  readonly memory: SharedArrayBuffer;
  readonly #positions: BigInt64Array<SharedArrayBuffer>;
  /** The end that this thread has seen: a writer looks no further at each of its writes. */
  #knownEnd = 0;

  constructor(memory = new SharedArrayBuffer((journalsMax + 1) * 8)) {
    this.memory = memory;
    this.#positions = new BigInt64Array(memory);
  }
  publish(journal: number, position: number): void {
    Atomics.store(this.#positions, journal + 1, BigInt(position));
    if (journal >= this.#knownEnd) this.#extend(journal + 1);
  }
  position(journal: number): number {
    return Number(Atomics.load(this.#positions, journal + 1));
  }
  /** Journals from here up were never published. */
  get end(): number {
    return Number(Atomics.load(this.#positions, endAt));
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
