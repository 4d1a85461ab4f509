/**
 * The journals of all edges on a core: pieces from the log are written where they belong, and the shards read them as
 * they read the journals of a single machine.
 *
 *   piece [from, to)   to <= tail          known: dropped
 *                      after <= tail < to  what is behind the tail is written, at its position
 *                      after > tail        one is missing: the edge is asked to go back to the tail
 *
 * The tail is the high-water mark of what counts: no piece counts twice, whatever the log does with it.
 * How far the log was read is saved only when everything before it is on the disk, and with it where each journal ended
 * then. A machine that lost power may have holes behind that, below pieces that reached the disk: it cuts its journals
 * back to there (recoverJournal), and reads the rest again.
 */
import { messageOf } from '../../model/failure.ts';
import type { Timers } from '../../model/clock.ts';
import { LogConsumer } from '../log/log-consumer.ts';
import type { LogBounds, OrderedLog } from '../log/ordered-log.ts';
import { readScanMessage, type ScanMessage } from './scan-messages.ts';

const saveMs = 1_000;
/** Of one journal: what its edge sends for an answer takes so long. */
const askAgainMs = 1_000;
const refusedMs = 1_000;

/** The journals on a core's disk. */
export interface JournalSink {
  /** How far each journal is written that anything was written to. */
  tails(): Iterable<readonly [journal: number, tail: number]>;
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

export interface ReadPosition {
  /** Up to which entry the log was read, and is on the disk; 0 at first. */
  readonly seq: number;
  /** By journal: the position below which all that was received is on the disk. */
  readonly tails: ReadonlyMap<number, number>;
}

export interface ScanReceiverOptions {
  readonly log: OrderedLog;
  readonly timers: Timers;
  readonly sink: JournalSink;
  readonly saved: () => ReadPosition;
  /** Resolves when it survives a loss of power. */
  readonly save: (position: ReadPosition) => Promise<void>;
  /** A journal of this machine, which has it already. */
  readonly isOwn: (journal: number) => boolean;
  /**
   * Whether this run of an edge writes this journal, and the piece came by the subject of that edge: the brokers
   * permit subjects, so no node writes in the journal of another.
   */
  readonly isOwner: (journal: number, run: number, subject: string | undefined) => boolean;
  /** Zeroes what may not count of bytes that are to be written. @param atMs when the log took them @returns frames refused */
  readonly wipe: (bytes: Uint8Array, atMs: number) => number;
  readonly onRefused: (journal: number, frames: number) => void;
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
  /** The same, when the end of the log was last looked at: entries may come while the brokers answer. */
  #looked: number;
  #saved: ReadPosition;
  /** The end of the log, when it was last looked at. */
  #last = 0;
  /** By journal: when its edge was last asked to go back, and where the log ended then: its answer comes after that. */
  readonly #asked = new Map<number, { readonly atMs: number; readonly last: number }>();
  #cancel: () => void = () => undefined;
  #isStopped = false;
  #readFault: string | undefined;
  #saveFault: string | undefined;

  constructor(options: ScanReceiverOptions) {
    this.#options = options;
    const { log, timers, saved } = options;
    this.#saved = saved();
    this.#read = this.#saved.seq;
    this.#looked = this.#read;
    this.#consumer = new LogConsumer({
      log,
      timers,
      from: (bounds) => this.#from(bounds),
      entry: (seq, body, _, atMs, subject) => this.#entry(seq, body, atMs, subject),
    });
  }

  get readSeq(): number {
    return this.#read;
  }

  get savedSeq(): number {
    return this.#saved.seq;
  }

  /** Entries that the log had and this core had not read, when it last looked. */
  get behind(): number {
    return Math.max(0, this.#last - this.#read);
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
    this.#last = last;
    if (first > this.#read + 1) {
      this.#options.onMissed(this.#read + 1, first - 1);
      this.#read = first - 1;
    }
    // The brokers have lost what was read before they were asked: what is there counts by its positions.
    if (last < this.#looked) this.#read = first - 1;
    this.#looked = this.#read;
    return this.#read + 1;
  }

  #entry(seq: number, body: Uint8Array, atMs: number, subject: string | undefined): void {
    try {
      this.#receive(readScanMessage(body), seq, atMs, subject);
      this.#readFault = undefined;
      this.#read = seq;
    } catch (error) {
      this.#readFault = messageOf(error);
      this.#consumer.restart(refusedMs);
    }
  }

  #receive(message: ScanMessage | undefined, seq: number, atMs: number, subject?: string): void {
    const { sink, isOwn, isOwner, wipe, onRefused } = this.#options;
    if (message === undefined || isOwn(message.journal)) return;
    const { journal, run, after, from, bytes } = message;
    if (!isOwner(journal, run, subject)) return;
    const tail = sink.tail(journal);
    if (from + bytes.length <= tail) return;
    if (after > tail) return this.#ask(journal, tail, seq);
    const start = Math.max(from, tail);
    const fresh = bytes.subarray(start - from);
    const refused = wipe(fresh, atMs);
    sink.write(journal, start, fresh);
    if (refused > 0) onRefused(journal, refused);
  }

  /** A core that reads old entries meets many pieces before the answer, which is at the end of the log. */
  #ask(journal: number, tail: number, seq: number): void {
    const nowMs = this.#options.timers.monotonicMs();
    const asked = this.#asked.get(journal);
    if (asked !== undefined && (asked.last >= seq || asked.atMs + askAgainMs > nowMs)) return;
    this.#asked.set(journal, { atMs: nowMs, last: Math.max(seq, this.#last) });
    this.#options.rewind(journal, tail);
  }

  #saveLater(): void {
    this.#cancel = this.#options.timers.after(saveMs, () => void this.#save());
  }

  async #save(): Promise<void> {
    const { sink, save } = this.#options;
    const seq = this.#read;
    try {
      if (seq !== this.#saved.seq) {
        // As they are now: what is written while others are synced need not be on the disk.
        const tails = new Map([...this.#saved.tails, ...sink.tails()]);
        await sink.sync();
        if (this.#isStopped) return;
        await save({ seq, tails });
        this.#saved = { seq, tails };
      }
      this.#saveFault = undefined;
    } catch (error) {
      this.#saveFault = messageOf(error);
    }
    if (!this.#isStopped) this.#saveLater();
  }
}
