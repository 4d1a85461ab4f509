/**
 * Entries that count, on their way into the store: several transactions are under way at once, and commit in order.
 *
 * After one that fails nothing more is stored until `begin`: each names the position that it follows, and the store
 * refuses it where another is stored.
 */
import type { StoredWrite } from '../../store/replicated-transactions.ts';
import type { LogPosition } from './applier.ts';
import { decodeWrites } from './entry.ts';

/** Bytes of entries that wait to be stored: above it reading should pause. */
const waitingBytesMax = 32 * 1_048_576;

/** The store that every machine has a copy of. */
export interface ReplicatedStore {
  /** Of the newest entry that is stored. */
  position(): LogPosition;
  /**
   * Stores both in one transaction that survives the process. Called again before the last call has resolved; commits
   * in the order of the calls.
   * @param after the position that must be stored by then: rejects, and stores nothing, where it is another
   */
  apply(writes: readonly StoredWrite[], position: LogPosition, after: LogPosition): Promise<void>;
}

export interface ApplyQueueOptions {
  readonly store: ReplicatedStore;
  /** Called for the first failure only, until `begin`. */
  readonly onFailed: (error: unknown) => void;
  /** Called when nothing waits any more after the queue was full. */
  readonly onDrained: () => void;
}

export class ApplyQueue {
  readonly #options: ApplyQueueOptions;
  /** Of the newest that was added, and of the newest that is stored. */
  #added: LogPosition;
  #stored: LogPosition;
  #waitingBytes = 0;
  #wasFull = false;
  /** Grows with each failure: results of what was added before are dropped. */
  #round = 0;

  constructor(options: ApplyQueueOptions) {
    this.#options = options;
    this.#added = options.store.position();
    this.#stored = this.#added;
  }

  get stored(): LogPosition {
    return this.#stored;
  }

  /** All that was added is stored. */
  get isIdle(): boolean {
    return this.#added === this.#stored;
  }

  get isFull(): boolean {
    this.#wasFull ||= this.#waitingBytes > waitingBytesMax;
    return this.#wasFull;
  }

  /** Begins again from what is stored. @returns its position */
  begin(): LogPosition {
    this.#added = this.#options.store.position();
    this.#stored = this.#added;
    // The caller decides when to read on: no `onDrained`.
    this.#wasFull = false;
    return this.#added;
  }

  /** @param stored is called when these writes are stored; never after a failure of earlier ones */
  add(parts: readonly Uint8Array[], position: LogPosition, stored: () => void): void {
    const bytes = parts.reduce((sum, { length }) => sum + length, 0);
    const after = this.#added;
    const round = this.#round;
    this.#added = position;
    this.#waitingBytes += bytes;
    const applied = (): void => {
      if (round === this.#round) {
        this.#stored = position;
        stored();
      }
      this.#left(bytes);
    };
    const failed = (error: unknown): void => {
      if (round === this.#round) {
        this.#round++;
        this.#options.onFailed(error);
      }
      this.#left(bytes);
    };
    this.#apply(parts, position, after).then(applied, failed);
  }

  async #apply(
    parts: readonly Uint8Array[],
    position: LogPosition,
    after: LogPosition,
  ): Promise<void> {
    const writes = parts.length === 0 ? [] : decodeWrites(parts);
    await this.#options.store.apply(writes, position, after);
  }

  #left(bytes: number): void {
    this.#waitingBytes -= bytes;
    if (this.#waitingBytes > 0 || !this.#wasFull) return;
    this.#wasFull = false;
    this.#options.onDrained();
  }
}
