/**
 * How far each journal is written: positions in shared memory, stored by the one writer of a journal
 * after its write returned, loaded by every shard. This is all that passes between those threads.
 */
const journalsMax = 4_096;

export class JournalTails {
  readonly memory: SharedArrayBuffer;
  readonly #positions: BigInt64Array<SharedArrayBuffer>;

  constructor(memory = new SharedArrayBuffer(journalsMax * 8)) {
    this.memory = memory;
    this.#positions = new BigInt64Array(memory);
  }
  publish(journal: number, position: number): void {
    Atomics.store(this.#positions, journal, BigInt(position));
  }
  position(journal: number): number {
    return Number(Atomics.load(this.#positions, journal));
  }
}
