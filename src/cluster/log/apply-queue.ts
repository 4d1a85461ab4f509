/**
 * Entries that count, on their way into the store. One transaction is under way at a time, and takes what waits by then.
 *
 * After a failure the queue is empty: the caller reads again from the stored position.
 */
import type { StoredWrite } from '../../store/replicated-transactions.ts';
import type { LogPosition } from './applier.ts';
import { decodeWrites } from './entry.ts';

/** Bytes of entries that wait to be stored: above it reading should pause. */
const waitingBytesMax = 32 * 1_048_576;
/** Entries of a transaction: a longer one keeps the process from what else it does. */
const entriesMax = 64;

/** The store that every machine has a copy of. */
export interface ReplicatedStore {
  /** Of the newest entry that is stored. */
  position(): LogPosition;
  /** Stores both in one transaction that survives the process. One call at a time. */
  apply(writes: readonly StoredWrite[], position: LogPosition): Promise<void>;
}

interface Waiting {
  readonly parts: readonly Uint8Array[];
  readonly position: LogPosition;
  readonly stored: () => void;
}

export interface ApplyQueueOptions {
  readonly store: ReplicatedStore;
  readonly onFailed: (error: unknown) => void;
  readonly onFull: () => void;
  /** Called when a queue that was full is empty. */
  readonly onDrained: () => void;
}

export class ApplyQueue {
  readonly #options: ApplyQueueOptions;
  readonly #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #isStoring = false;
  #isFull = false;

  constructor(options: ApplyQueueOptions) {
    this.#options = options;
  }

  /** All that was added is stored. */
  get isIdle(): boolean {
    return !this.#isStoring;
  }

  /** @param stored is called when these writes are stored; never after a failure of earlier ones */
  add(parts: readonly Uint8Array[], position: LogPosition, stored: () => void): void {
    this.#waiting.push({ parts, position, stored });
    this.#waitingBytes += bytesOf(parts);
    if (!this.#isFull && this.#waitingBytes > waitingBytesMax) {
      this.#isFull = true;
      this.#options.onFull();
    }
    if (!this.#isStoring) void this.#store();
  }

  async #store(): Promise<void> {
    this.#isStoring = true;
    try {
      while (this.#waiting.length > 0) await this.#storeSome();
      this.#isStoring = false;
      const wasFull = this.#isFull;
      this.#isFull = false;
      if (wasFull) this.#options.onDrained();
    } catch (error) {
      this.#waiting.length = 0;
      this.#waitingBytes = 0;
      this.#isStoring = false;
      this.#isFull = false;
      this.#options.onFailed(error);
    }
  }

  async #storeSome(): Promise<void> {
    const entries = this.#waiting.splice(0, entriesMax);
    const writes = entries.flatMap(({ parts }) => (parts.length === 0 ? [] : decodeWrites(parts)));
    await this.#options.store.apply(writes, entries.at(-1)!.position);
    for (const { parts, stored } of entries) {
      this.#waitingBytes -= bytesOf(parts);
      stored();
    }
  }
}

const bytesOf = (parts: readonly Uint8Array[]): number =>
  parts.reduce((sum, { length }) => sum + length, 0);
