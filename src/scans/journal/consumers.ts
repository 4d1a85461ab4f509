/**
 * A shard's place in every journal: opened as soon as the journal has a tail, whenever that is, and kept while the
 * journal is not in place.
 *
 *   follow   tails -> how far this cycle reads         read       [position, seen) -> visitor
 *   committed   position -> shared memory: what the control thread takes from the tails to know what is not counted
 *
 * One read takes `bytesMax` of all journals together, so that memory does not grow by their number: where more waits, the
 * next one goes on with the journals that this one has left out.
 *
 * A journal that cannot be read (its folder was moved away, a bad disk) stays where it is, is tried again at each cycle,
 * and keeps no other from being read.
 */
import { type FrameVisitor, JournalReader, readSpace } from './reader.ts';
import { PlaceError, type Place } from './place.ts';
import type { JournalPositions } from './positions.ts';
import { journalFolder } from './segments.ts';

export interface JournalConsumersOptions {
  readonly root: Place;
  readonly tails: JournalPositions;
  readonly consumed: JournalPositions;
  /** After so many bytes a read ends; of one journal it takes no more. */
  readonly bytesMax: number;
  /** What is stored of a journal: by partition, the position below which its scans are in blocks. */
  readonly watermarksOf: (journal: number) => Float64Array;
  /** From where the journals begin, also what is below the watermarks. */
  readonly isReadAgain?: boolean;
}

export interface JournalConsumer {
  readonly journal: number;
  readonly reader: JournalReader;
  /** Position below which a partition's scans are in blocks; only while catching up they differ. */
  readonly watermarks: Float64Array;
  position: number;
  /** Position below which every scan is committed: while a commit waits, `position` is ahead of it. */
  committed: number;
  /** The journal's end when the cycle began: what came since is for the next window. */
  seen: number;
  /** Why the last read failed. */
  fault: string | undefined;
}

export class JournalConsumers implements Iterable<JournalConsumer> {
  readonly #options: JournalConsumersOptions;
  /** Ascending. */
  #consumers: ReadonlyMap<number, JournalConsumer> = new Map();
  /** The same, in the order in which they are read, which is of this machine and changes. */
  #queue: JournalConsumer[] = [];
  /** Below these positions a journal is not read again, also where a block is damaged. */
  saved: ReadonlyArray<{ readonly journal: number; readonly position: number }> = [];
  /** Of all readers: what one has read is taken up before the next one reads. */
  readonly #space: Buffer;

  constructor(options: JournalConsumersOptions) {
    this.#options = options;
    this.#space = readSpace(options.bytesMax);
    this.follow();
  }

  [Symbol.iterator](): Iterator<JournalConsumer> {
    return this.#consumers.values();
  }

  /** A cycle begins: it reads what is written by now, also of a journal that is new. */
  follow(): void {
    const { tails } = this.#options;
    for (const journal of tails.journals) {
      const tail = tails.position(journal);
      const known = this.#consumers.get(journal);
      if (known !== undefined) known.seen = tail;
      else if (tail > 0) this.#open(journal, tail);
    }
  }

  /** Whether anything was written since the cycle began. */
  get hasUnread(): boolean {
    const { tails } = this.#options;
    for (const journal of tails.journals) {
      if (tails.position(journal) > (this.#consumers.get(journal)?.seen ?? 0)) return true;
    }
    return false;
  }

  /** @returns whether there was anything */
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

  /** Whether more waits, of what can be read, than this cycle took. */
  get hasMore(): boolean {
    const waits = ({ position, seen, fault }: JournalConsumer): boolean =>
      position < seen && fault === undefined;
    return [...this.#consumers.values()].some(waits);
  }

  /** Why a journal cannot be read, while one cannot. */
  get fault(): string | undefined {
    for (const { fault } of this.#consumers.values()) if (fault !== undefined) return fault;
    return undefined;
  }

  /** What was read is in the store, and need not be read again. */
  committed(): void {
    for (const consumer of this.#consumers.values()) {
      consumer.committed = consumer.position;
      this.#options.consumed.publish(consumer.journal, consumer.committed);
    }
  }

  /** All that is committed is in a checkpoint. */
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

/** @returns where the next read goes on */
function readFrom(consumer: JournalConsumer, visit: FrameVisitor): number {
  try {
    const to = consumer.reader.read(consumer.position, consumer.seen, visit);
    consumer.fault = undefined;
    return to;
  } catch (error) {
    if (!(error instanceof PlaceError) && !isSystemError(error)) throw error;
    consumer.fault = error.message;
    consumer.reader.close();
    return consumer.position;
  }
}

const isSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'syscall' in error;
