/**
 * The way of one journal from its edge to the cores.
 *
 *   written ──> on the disk, read ──> append ──> acknowledged: the next piece
 *                      ^                │
 *                      └── refused, or a core asks to go back
 *
 * Nothing is sent before it is on the disk. So a machine that loses power comes back with all that any core may have
 * of its journal, and gives none of those positions out again: it need not ask them.
 *
 * One piece is under way at a time: 64 KB, or what was written within 10 ms. A piece whose answer was lost is read and
 * sent again, perhaps longer by then. The redirect path knows nothing of this: while the brokers are away the journal grows on
 * the disk, and is sent from where it stopped.
 */
import { messageOf } from '../../model/failure.ts';
import type { Timers } from '../../model/clock.ts';
import type { OrderedLog } from '../log/ordered-log.ts';
import { encodeScanMessage } from './scan-messages.ts';

/**
 * Of a piece; one frame alone may be larger: a batch has at most twice as much (batchBytesMax). A message of NATS has at
 * most 1 MB, with its subject and headers.
 */
const pieceBytesMax = 262_144;
/** So much is sent at once. */
const enoughBytes = 65_536;
/** Less than that is sent after this time. */
const lingerMs = 10;
/** Acknowledged, and not arrived for so long: the brokers have lost it, or a core has dropped it. */
const lostMsMin = 5_000;
/** Sent again and still not arrived: a core may be down, and need it later. */
const lostMsMax = 600_000;
const retryMsMin = 50;
const retryMsMax = 2_000;

export interface JournalPiece {
  /** Position of the first byte. */
  readonly from: number;
  /** Whole frames. */
  readonly bytes: Uint8Array;
}

/** A journal on the disk. */
export interface JournalSource {
  /** How far it is written: the end of a frame. */
  tail(): number;
  /**
   * Frames at or behind `from`, a frame's start, up to about `bytesMax`; the piece begins behind it where the journal has
   * a hole there. Resolves when they survive a loss of power; undefined where nothing can be read behind it.
   * @throws Error of the system
   */
  read(from: number, bytesMax: number): Promise<JournalPiece | undefined>;
}

export interface ScanUplinkOptions {
  readonly log: Pick<OrderedLog, 'append'>;
  readonly timers: Timers;
  readonly journal: number;
  readonly run: number;
  readonly source: JournalSource;
  /** What the cores have reported: everything after it is sent. */
  readonly position: number;
}

/** How far the cores are. */
interface Arrival {
  readonly position: number;
  /** Since when they are known to be behind what was acknowledged. */
  laggingSinceMs: number | undefined;
  /** After which it is sent again: twice as long each time without progress. */
  readonly lostMs: number;
}

export class ScanUplink {
  readonly #options: ScanUplinkOptions;
  /** Everything below is acknowledged. */
  #position: number;
  /** Since when something waits. */
  #waitsSinceMs: number | undefined;
  #arrival: Arrival | undefined;
  #isSending = false;
  #retryMs = retryMsMin;
  #cancel: (() => void) | undefined;
  /** Why the last piece was refused, while it is. */
  fault: string | undefined;

  constructor(options: ScanUplinkOptions) {
    this.#options = options;
    this.#position = options.position;
  }

  get position(): number {
    return this.#position;
  }

  /** Bytes that are written and not acknowledged. */
  get backlogBytes(): number {
    return Math.max(0, this.#options.source.tail() - this.#position);
  }

  /** Something was written; cheap when it is called often. */
  written(): void {
    if (this.#isSending || this.fault !== undefined) return;
    const waiting = this.backlogBytes;
    if (waiting === 0) return;
    const nowMs = this.#options.timers.monotonicMs();
    this.#waitsSinceMs ??= nowMs;
    const leftMs = this.#waitsSinceMs + lingerMs - nowMs;
    if (waiting >= enoughBytes || leftMs <= 0) this.#send();
    else this.#cancel ??= this.#options.timers.after(leftMs, () => this.#due());
  }

  /** A core has it only up to here. */
  rewind(position: number): void {
    if (position >= this.#position) return;
    this.#position = position;
    this.#arrival = undefined;
    this.written();
  }

  /**
   * Enough cores have it up to here; called each second. Sends again what was acknowledged and does not arrive, and skips
   * what arrived without an acknowledgment.
   */
  arrived(position: number): void {
    if (this.#arrival?.position !== position) {
      this.#arrival = { position, laggingSinceMs: undefined, lostMs: lostMsMin };
    }
    const arrival = this.#arrival;
    if (position >= this.#position) {
      this.#position = Math.min(position, this.#options.source.tail());
      return;
    }
    const nowMs = this.#options.timers.monotonicMs();
    arrival.laggingSinceMs ??= nowMs;
    if (nowMs - arrival.laggingSinceMs < arrival.lostMs) return;
    this.rewind(position);
    const lostMs = Math.min(2 * arrival.lostMs, lostMsMax);
    this.#arrival = { position, laggingSinceMs: undefined, lostMs };
  }

  #due(): void {
    this.#cancel = undefined;
    this.fault = undefined;
    this.written();
  }

  #send(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#isSending = true;
    const after = this.#position;
    this.#sendAfter(after).then(
      (to) => this.#acknowledged(after, to),
      (error: unknown) => this.#refused(error),
    );
  }

  /** @returns where the piece ended */
  async #sendAfter(after: number): Promise<number> {
    const { log, source, journal, run } = this.#options;
    const piece = await source.read(after, pieceBytesMax);
    if (piece === undefined) throw new Error(`nothing can be read behind ${after}`);
    const { from, bytes } = piece;
    await log.append(encodeScanMessage({ journal, run, after, from, bytes }));
    return from + bytes.length;
  }

  #acknowledged(after: number, to: number): void {
    this.#isSending = false;
    this.#retryMs = retryMsMin;
    this.#waitsSinceMs = undefined;
    // Unless a core has asked to go back meanwhile.
    if (this.#position >= after) this.#position = Math.max(this.#position, to);
    this.written();
  }

  #refused(error: unknown): void {
    this.#isSending = false;
    this.fault = messageOf(error);
    this.#cancel = this.#options.timers.after(this.#retryMs, () => this.#due());
    this.#retryMs = Math.min(2 * this.#retryMs, retryMsMax);
  }
}
