/**
 * One machine's side of a replicated store: it applies the log, and writes to it while it leads.
 *
 *      transactions ──> commit ──> append ──────────> the log ──> applied by the others
 *                          ^                             │
 *                          └── answered <── applied <── read back
 *
 * A write is done when its own entry was read back and counted, never by the log's answer to the append. Until then its
 * bytes are sent again, for as long as this machine leads: nothing else is written in their place, so that whatever
 * arrives late is the same entry. What a leader had not read back when another's `lead` counts will never count.
 * One batch is under way at a time: the next one runs when it is done.
 *
 * It stops for good, and says why, where the log is not the one it has applied (`diverged`), no longer has the next entry
 * that it needs (`behind`), has entries of a newer program (`newer`), or where a leader cannot apply what counts
 * (`unapplied`); a standby tries again, because no caller waits for it.
 */
import { Failure, messageOf } from '../../model/failure.ts';
import type { Signal } from '../../model/signal.ts';
import type { Timers } from '../../model/clock.ts';
import type { Replicator, StoredWrite } from '../../store/replicated-transactions.ts';
import { ApplyQueue, type ReplicatedStore } from './apply-queue.ts';
import { Applier, type LogPosition, type Decision } from './applier.ts';
import { encodeEntry, encodeWrites, type EntryContent, type Leader } from './entry.ts';
import { Lead, type LeadState } from './lead.ts';
import { LogConsumer, type ReadingProgress } from './log-consumer.ts';
import type { LogBounds, OrderedLog } from './ordered-log.ts';

/** An entry that was not read back is sent again after this, then after twice as long, and so on: a slow line may still bring it. */
const resendMsMin = 1_000;
const resendMsMax = 4_000;
/** An entry that the log refused is sent again after this. */
const refusedMs = 100;
/** A standby that cannot apply an entry tries again after this. */
const applyAgainMs = 1_000;
/**
 * A log that ends before what was applied has lost entries if it answers so for this long, and so often. A broker that is cut
 * off from the others, or was just elected, answers with an old end for about 10 s.
 */
const shortMsMax = 15_000;
const shortAnswersMin = 3;

export interface Stop {
  readonly reason: 'diverged' | 'behind' | 'newer' | 'unapplied';
  /** A sentence for the operator. */
  readonly detail: string;
}

export interface LogReplicatorOptions {
  readonly log: OrderedLog;
  readonly store: ReplicatedStore;
  readonly self: Leader;
  readonly timers: Timers;
  /** From 0 up to 1. */
  readonly random: () => number;
  readonly leaseMs: number;
  readonly beatMs: number;
  /** Writes in one entry; default partBytesMax. */
  readonly partBytes?: number;
  /** Absent = always. */
  readonly mayLead?: (() => boolean) | undefined;
  readonly onLeading: () => void;
  readonly onDeposed: () => void;
  /** Called once; the process must end, or be a standby that others do not wait for. */
  readonly onStopped: (stop: Stop) => void;
}

export interface ReplicatorStatus extends ReadingProgress {
  readonly state: LeadState;
  readonly leader: Leader | undefined;
  readonly position: LogPosition;
  /** Entries that did not count. */
  readonly ignored: number;
  /** Why what counts cannot be stored, while it cannot: it is tried again. */
  readonly fault: string | undefined;
  /** Why and for how long the log has refused appends; undefined after an append that it took. */
  readonly refusal: { readonly detail: string; readonly ms: number } | undefined;
  readonly stop: Stop | undefined;
}

/** An entry that was sent and not read back. */
interface Pending {
  readonly epoch: number;
  readonly n: number;
  readonly body: Uint8Array;
  readonly sentMs: number;
  readonly placed: () => void;
  readonly reject: (error: unknown) => void;
  /** Until it is sent again. */
  resendMs: number;
  cancel: () => void;
}

export class LogReplicator implements Replicator {
  readonly #options: LogReplicatorOptions;
  readonly #lead: Lead;
  readonly #consumer: LogConsumer;
  #applier: Applier;
  readonly #queue: ApplyQueue;
  #pending: Pending | undefined;
  /** It counted, and is not stored yet. */
  #unstored: Pending | undefined;
  /** Settles when no entry of a batch is under way. */
  #placing: Promise<unknown> = Promise.resolve();
  /** This machine gives the lead away; resolved when it has none any more. */
  #releasing: PromiseWithResolvers<void> | undefined;
  #stop: Stop | undefined;
  #short = { answers: 0, sinceMs: 0 };
  #ignored = 0;
  #fault: string | undefined;
  #refused: { readonly detail: string; readonly sinceMs: number } | undefined;

  constructor(options: LogReplicatorOptions) {
    this.#options = options;
    const { log, timers, store } = options;
    this.#queue = new ApplyQueue({
      store,
      onFailed: (error) => this.#failed(error),
      onFull: () => this.#consumer.pause(),
      onDrained: () => this.#consumer.restart(0),
    });
    this.#applier = new Applier(store.position());
    this.#consumer = new LogConsumer({
      log,
      timers,
      from: (bounds) => this.#from(bounds),
      entry: (seq, body, isNew) => this.#entry(seq, body, isNew),
    });
    this.#lead = new Lead({
      ...options,
      position: () => this.#applier.position,
      isAtEnd: async () =>
        options.mayLead?.() !== false &&
        (await this.#consumer.isAtEnd(this.#applier.position.seq)) &&
        this.#queue.isIdle,
      append: (body) => this.#append(body, () => undefined),
      onDeposed: () => this.#deposed(),
    });
  }

  get lapsed(): Signal {
    return this.#lead.lapsed;
  }

  /** This machine leads, and no other can yet. */
  get isHeld(): boolean {
    return this.#lead.isHeld;
  }

  /** This machine has the newest entries of the log, as far as it knows, and can store them. */
  get isCurrent(): boolean {
    return this.#lead.isCurrent && this.#fault === undefined;
  }

  get status(): ReplicatorStatus {
    const nowMs = this.#options.timers.monotonicMs();
    return {
      state: this.#lead.state,
      leader: this.#lead.leader,
      position: this.#applier.position,
      ignored: this.#ignored,
      ...this.#consumer.progress,
      fault: this.#fault,
      refusal: this.#refused && { detail: this.#refused.detail, ms: nowMs - this.#refused.sinceMs },
      stop: this.#stop,
    };
  }

  start(): void {
    this.#consumer.start();
    this.#lead.start();
  }

  /** Reads and writes nothing more. What is under way is never answered: it is not known here whether it counts. */
  close(): void {
    this.#pending?.cancel();
    this.#pending = undefined;
    this.#lead.stop();
    this.#consumer.stop();
    this.#releasing?.resolve();
  }

  /**
   * A leader gives the lead away: it writes nothing new from here on, and lets another lead once what is under way counts.
   * Resolves when this machine does not lead any more; that may take as long as the brokers are away.
   * @param to who shall lead next, its owner; empty = any
   */
  release(to = ''): Promise<void> {
    if (this.#lead.state !== 'leader') return Promise.resolve();
    if (this.#releasing === undefined) {
      this.#releasing = Promise.withResolvers();
      this.#lead.renounce();
      const placed = (): void => this.#lead.release(to);
      this.#placing.then(placed, placed);
    }
    return this.#releasing.promise;
  }

  check(): void {
    this.#lead.check();
  }

  async commit(writes: readonly StoredWrite[]): Promise<void> {
    this.check();
    this.#placing = this.#placeAll(encodeWrites(writes, this.#options.partBytes));
    await this.#placing;
  }

  async #placeAll(parts: readonly Uint8Array[]): Promise<void> {
    for (const [part, bytes] of parts.entries()) {
      await this.#place({ kind: 'tx', part, parts: parts.length, bytes });
    }
  }

  /**
   * Resolves when the entry was read back and counted; the last part of a batch, when that is applied.
   * @throws Failure not_active: it never will
   */
  #place(content: EntryContent): Promise<void> {
    // Of another machine's epoch as soon as its lead counts.
    if (this.#lead.state !== 'leader') return Promise.reject(deposedFailure());
    const { epoch, n: before, chain } = this.#applier.position;
    const n = before + 1;
    const body = encodeEntry({ epoch, n, chain, ...content });
    return new Promise((resolve, reject) => {
      const sentMs = this.#options.timers.monotonicMs();
      const cancel = (): void => undefined;
      this.#pending = {
        epoch,
        n,
        body,
        sentMs,
        placed: resolve,
        reject,
        resendMs: resendMsMin,
        cancel,
      };
      this.#send(this.#pending);
    });
  }

  #send(pending: Pending): void {
    const resendAfter = (ms: number): void => {
      if (this.#pending !== pending) return;
      pending.cancel();
      pending.cancel = this.#options.timers.after(ms, () => this.#send(pending));
    };
    resendAfter(pending.resendMs);
    pending.resendMs = Math.min(2 * pending.resendMs, resendMsMax);
    this.#append(pending.body, () => resendAfter(refusedMs));
  }

  #append(body: Uint8Array, refused: () => void): void {
    const { log, timers } = this.#options;
    const { seq: applied } = this.#applier.position;
    const nowMs = timers.monotonicMs();
    const placed = (seq: number): void => {
      this.#refused = undefined;
      if (seq > applied || this.#lead.state === 'stopped') return;
      this.#end(
        'diverged',
        `the log appended a new entry at ${seq}, and ${applied} is applied here`,
      );
    };
    log.append(body).then(placed, (error: unknown) => {
      this.#refused = { detail: messageOf(error), sinceMs: this.#refused?.sinceMs ?? nowMs };
      refused();
    });
  }

  #from({ first, last }: LogBounds): number | undefined {
    const { seq } = this.#applier.position;
    if (this.#isShort(last < seq)) {
      this.#end('diverged', `the log ends at ${last}, and ${seq} is applied here`);
    } else if (first > seq + 1) {
      this.#end('behind', `the log begins at ${first}, and only ${seq} is applied here`);
    }
    if (this.#stop !== undefined) return undefined;
    return Math.max(seq, Math.min(first, seq + 1), 1);
  }

  /** @returns whether the log has lost what was applied */
  #isShort(endsBefore: boolean): boolean {
    const nowMs = this.#options.timers.monotonicMs();
    if (!endsBefore) this.#short = { answers: 0, sinceMs: nowMs };
    else if (this.#short.answers++ === 0) this.#short.sinceMs = nowMs;
    const { answers, sinceMs } = this.#short;
    return answers >= shortAnswersMin && nowMs - sinceMs >= shortMsMax;
  }

  #entry(seq: number, body: Uint8Array, isNew: boolean): void {
    if (this.#stop !== undefined) return;
    const decision = this.#applier.accept(seq, body);
    switch (decision.kind) {
      case 'known':
        return;
      case 'ignored':
        if (isNew) this.#ignored++;
        return;
      case 'diverged':
        this.#end('diverged', decision.why);
        return;
      case 'newer':
        this.#end(
          'newer',
          `an entry has version ${decision.version}, which this program does not know`,
        );
        return;
      default:
        this.#counted(decision, isNew);
    }
  }

  #counted(
    decision: Decision & { kind: 'beat' | 'release' | 'lead' | 'part' | 'writes' },
    isNew: boolean,
  ): void {
    if (decision.kind === 'lead') {
      this.#led(decision);
    } else if (decision.kind === 'beat') {
      if (isNew) this.#lead.countedBeat(decision.count);
    } else if (decision.kind === 'release') {
      this.#lead.countedRelease(decision.to);
    } else {
      const own = this.#takeOwn();
      if (isNew) this.#lead.counted(own?.sentMs);
      if (decision.kind === 'part') own?.placed();
      else this.#addWrites(decision, own);
    }
  }

  #led({ leader, position }: Decision & { kind: 'lead' }): void {
    this.#lead.countedLead(leader);
    this.#add([], position, () => {
      const isNewest = this.#applier.position.epoch === position.epoch;
      if (isNewest) this.#lead.storedLead(leader, position.epoch);
    });
  }

  /** The entry that counts is the one that is under way from here. */
  #takeOwn(): Pending | undefined {
    const { epoch, n } = this.#applier.position;
    const pending = this.#pending;
    if (pending?.epoch !== epoch || pending.n !== n) return undefined;
    pending.cancel();
    this.#pending = undefined;
    return pending;
  }

  /** What could not be stored is read again, when another machine leads: its caller waits all the same. */
  #addWrites({ parts, position }: Decision & { kind: 'writes' }, own: Pending | undefined): void {
    if (own !== undefined) this.#unstored = own;
    this.#add(parts, position, () => {
      const unstored = this.#unstored;
      if (unstored?.epoch !== position.epoch || unstored.n !== position.n) return;
      this.#unstored = undefined;
      unstored.placed();
    });
  }

  #add(parts: readonly Uint8Array[], position: LogPosition, stored: () => void): void {
    this.#queue.add(parts, position, () => {
      this.#fault = undefined;
      stored();
    });
  }

  #failed(error: unknown): void {
    const detail = messageOf(error);
    this.#fault = detail;
    if (this.#lead.state === 'leader') {
      this.#end('unapplied', `an entry that counts cannot be applied: ${detail}`);
    } else if (this.#lead.state !== 'stopped') {
      this.#applier = new Applier(this.#options.store.position());
      this.#consumer.restart(applyAgainMs);
    }
  }

  #deposed(): void {
    const pending = this.#pending;
    this.#pending = undefined;
    pending?.cancel();
    pending?.reject(deposedFailure());
    this.#releasing?.resolve();
    this.#releasing = undefined;
    this.#options.onDeposed();
  }

  #end(reason: Stop['reason'], detail: string): void {
    if (this.#stop !== undefined) return;
    this.#stop = { reason, detail };
    this.close();
    this.#options.onStopped(this.#stop);
  }
}

const deposedFailure = (): Failure =>
  new Failure('not_active', 'Cannot change anything here: another machine leads now', {
    retryAfterSeconds: 1,
  });
