/**
 * A shard's position in every journal. A journal opens when it has a tail, and stays open while it is not in place.
 *
 *   follow   tails -> how far this cycle reads         read       [position, seen) -> visitor
 *   committed   position -> shared memory: the control thread compares it with the tails
 *
 * One read takes `bytesMax` of all journals together; the next one starts with the journals left out. An unreadable journal
 * (folder moved away, bad disk) is retried each cycle and does not stop the others.
 */
import { type FrameVisitor, JournalReader, readSpace } from './reader.ts';
import { DisplacedError, type FileIdentity } from './file-identity.ts';
import type { JournalPositions } from './positions.ts';
import { journalFolder } from './segments.ts';

export interface JournalConsumersOptions {
  readonly root: FileIdentity;
  readonly tails: JournalPositions;
  readonly consumed: JournalPositions;
  /** A read ends after so many bytes, and takes no more from one journal. */
  readonly bytesMax: number;
  /** For a journal, by partition: the position below which its scans are in blocks. */
  readonly watermarksOf: (journal: number) => Float64Array;
  /** Reads journals from their start, below the watermarks too. */
  readonly isReadAgain?: boolean;
}

export interface JournalConsumer {
  readonly journal: number;
  readonly reader: JournalReader;
  /** By partition: the position below which its scans are in blocks. */
  readonly watermarks: Float64Array;
  position: number;
  /** Below it every scan is committed; `position` is ahead while a commit waits. */
  committed: number;
  /** The journal's end when the cycle began; later scans go into the next window. */
  seen: number;
  fault: string | undefined;
}

export class JournalConsumers implements Iterable<JournalConsumer> {
  readonly #options: JournalConsumersOptions;
  /** Ascending. */
  #consumers: ReadonlyMap<number, JournalConsumer> = new Map();
  /** The same in reading order, which changes. */
  #queue: JournalConsumer[] = [];
  /** Below these positions no journal is read again, even where a block is damaged. */
  saved: ReadonlyArray<{ readonly journal: number; readonly position: number }> = [];
  /** Shared by all readers, which read in turn. */
  readonly #space: Buffer;

  constructor(options: JournalConsumersOptions) {
    this.#options = options;
    this.#space = readSpace(options.bytesMax);
    this.follow();
  }

  [Symbol.iterator](): Iterator<JournalConsumer> {
    return this.#consumers.values();
  }

  /** Starts a cycle: it reads what is written by now, also in new journals. */
  follow(): void {
    const { tails } = this.#options;
    for (const journal of tails.journals) {
      const tail = tails.position(journal);
      const known = this.#consumers.get(journal);
      if (known !== undefined) known.seen = tail;
      else if (tail > 0) this.#open(journal, tail);
    }
  }

  get hasUnread(): boolean {
    const { tails } = this.#options;
    for (const journal of tails.journals) {
      if (tails.position(journal) > (this.#consumers.get(journal)?.seen ?? 0)) return true;
    }
    return false;
  }

  read(visit: (consumer: JournalConsumer, ...frame: Parameters<FrameVisitor>) => void): boolean {
    let moved = 0;
    let looked = 0;
    for (const consumer of this.#queue) {
      if (moved >= this.#options.bytesMax) break;
      const from = consumer.position;
      consumer.position = readFrom(consumer, (bytes, frameAt, base) =>
        visit(consumer, bytes, frameAt, base),
      );
      moved += consumer.position - from;
      looked++;
    }
    if (looked < this.#queue.length) {
      this.#queue = [...this.#queue.slice(looked), ...this.#queue.slice(0, looked)];
    }
    return moved > 0;
  }

  /** Whether readable journals have more than this cycle took. */
  get hasMore(): boolean {
    const waits = ({ position, seen, fault }: JournalConsumer): boolean =>
      position < seen && fault === undefined;
    return [...this.#consumers.values()].some(waits);
  }

  /** Why a journal cannot be read; undefined = all can. */
  get fault(): string | undefined {
    for (const { fault } of this.#consumers.values()) if (fault !== undefined) return fault;
    return undefined;
  }

  /** Everything read so far is in the store. */
  committed(): void {
    for (const consumer of this.#consumers.values()) {
      consumer.committed = consumer.position;
      this.#options.consumed.publish(consumer.journal, consumer.committed);
    }
  }

  /** Everything committed is in a checkpoint. */
  save(): void {
    this.saved = Array.from(this, ({ journal, committed }) => ({ journal, position: committed }));
  }

  close(): void {
    for (const { reader } of this.#consumers.values()) reader.close();
  }

  #open(journal: number, seen: number): void {
    const { root, consumed, watermarksOf, isReadAgain = false } = this.#options;
    const watermarks = watermarksOf(journal);
    const lowest = watermarks.reduce((low, mark) => Math.min(low, mark));
    const position = isReadAgain ? 0 : lowest;
    const reader = new JournalReader(journalFolder(root.path, journal), this.#space, root);
    consumed.publish(journal, position);
    const fault = undefined;
    const consumer = { journal, reader, watermarks, position, committed: position, seen, fault };
    const consumers = [...this.#consumers, [journal, consumer] as const];
    this.#consumers = new Map(consumers.toSorted(([one], [other]) => one - other));
    this.#queue.push(consumer);
  }
}

/** @returns the position of the next read */
function readFrom(consumer: JournalConsumer, visit: FrameVisitor): number {
  try {
    const to = consumer.reader.read(consumer.position, consumer.seen, visit);
    consumer.fault = undefined;
    return to;
  } catch (error) {
    if (!(error instanceof DisplacedError) && !isSystemError(error)) throw error;
    consumer.fault = error.message;
    consumer.reader.close();
    return consumer.position;
  }
}

const isSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'syscall' in error;
