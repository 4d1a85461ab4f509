/**
 * The journals of all edges on a core: pieces from the log are written where they belong, and the shards read them as
 * they read the journals of a single machine.
 *
 *   piece [from, to)   to <= tail          known: dropped
 *                      after <= tail < to  what is behind the tail is written, at its position
 *                      after > tail        one is missing: the edge is asked to go back to the tail
 *
 * The tail is the high-water mark of what counts: no piece counts twice, whatever the log does with it.
 * How far the log was read is saved only when everything before it is on the disk. What a machine that lost
 * power has lost is read again.
 */
import { messageOf } from '../../model/failure.ts';
import type { Timers } from '../../model/clock.ts';
import { LogConsumer } from '../log/log-consumer.ts';
import type { LogBounds, OrderedLog } from '../log/ordered-log.ts';
import { readScanMessage, type ScanMessage } from './scan-message.ts';

const saveMs = 1_000;
/** Of one journal: the pieces that are under way come before the answer. */
const askAgainMs = 1_000;
const refusedMs = 1_000;

/** The journals on a core's disk. */
export interface JournalSink {
  /** How far a journal is written; 0 where it is new. */
  tail(journal: number): number;
  /**
   * Appends whole frames at `position`, which is the tail, or behind it where the journal has a hole.
   * @throws Error of the system: nothing counts of it
   */
  write(journal: number, position: number, bytes: Uint8Array): void;
  /** Everything written so far has reached the disk. */
  sync(): Promise<void>;
}

export interface ScanReceiverOptions {
  readonly log: OrderedLog;
  readonly timers: Timers;
  readonly sink: JournalSink;
  /** Up to which entry the log was read and is on the disk; 0 at first. */
  readonly saved: () => number;
  readonly save: (seq: number) => Promise<void>;
  /** Whether this run of an edge writes this journal. */
  readonly isOwner: (journal: number, run: number) => boolean;
  /** Asks the edge of a journal to send it again from this position. */
  readonly rewind: (journal: number, position: number) => void;
  /** The log has removed what this core has not read: where, and up to where. */
  readonly onMissed: (from: number, to: number) => void;
}

export class ScanReceiver {
  readonly #options: ScanReceiverOptions;
  readonly #consumer: LogConsumer;
  /** The newest entry that was dealt with. */
  #read: number;
  #saved: number;
  /** When an edge was last asked to go back, by journal. */
  readonly #asked = new Map<number, number>();
  #cancel: () => void = () => undefined;
  #isStopped = false;
  /** Pieces that were dropped: of another run, or no pieces. */
  dropped = 0;
  #readFault: string | undefined;
  #saveFault: string | undefined;

  constructor(options: ScanReceiverOptions) {
    this.#options = options;
    const { log, timers, saved } = options;
    this.#saved = saved();
    this.#read = this.#saved;
    this.#consumer = new LogConsumer({
      log,
      timers,
      from: (bounds) => this.#from(bounds),
      entry: (seq, body) => this.#entry(seq, body),
    });
  }

  get fault(): string | undefined {
    return this.#readFault ?? this.#saveFault;
  }

  start(): void {
    this.#consumer.start();
    this.#saveLater();
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
    this.#consumer.stop();
  }

  /** Edges send again what is missing: their marks say so. */
  #from({ first, last }: LogBounds): number {
    if (first > this.#read + 1) {
      this.#options.onMissed(this.#read + 1, first - 1);
      this.#read = first - 1;
    }
    // The brokers have lost what was read: edges send it again behind their end.
    if (last < this.#read) this.#read = last;
    return this.#read + 1;
  }

  #entry(seq: number, body: Uint8Array): void {
    try {
      this.#receive(readScanMessage(body));
      this.#readFault = undefined;
      this.#read = seq;
    } catch (error) {
      this.#readFault = messageOf(error);
      this.#consumer.restart(refusedMs);
    }
  }

  #receive(message: ScanMessage | undefined): void {
    const { sink, isOwner } = this.#options;
    if (message === undefined || !isOwner(message.journal, message.run)) {
      this.dropped++;
      return;
    }
    const { journal, after, from, bytes } = message;
    const tail = sink.tail(journal);
    if (from + bytes.length <= tail) return;
    if (after > tail) this.#ask(journal, tail);
    else if (from >= tail) sink.write(journal, from, bytes);
    else sink.write(journal, tail, bytes.subarray(tail - from));
  }

  #ask(journal: number, tail: number): void {
    const nowMs = this.#options.timers.monotonicMs();
    const askedMs = this.#asked.get(journal);
    if (askedMs !== undefined && askedMs + askAgainMs > nowMs) return;
    this.#asked.set(journal, nowMs);
    this.#options.rewind(journal, tail);
  }

  #saveLater(): void {
    this.#cancel = this.#options.timers.after(saveMs, () => void this.#save());
  }

  async #save(): Promise<void> {
    const read = this.#read;
    try {
      if (read !== this.#saved) {
        await this.#options.sink.sync();
        if (this.#isStopped) return;
        await this.#options.save(read);
        this.#saved = read;
      }
      this.#saveFault = undefined;
    } catch (error) {
      this.#saveFault = messageOf(error);
    }
    if (!this.#isStopped) this.#saveLater();
  }
}
