/**
 * Leader election: one machine leads an epoch and writes, the others stand by.
 *
 *   standby ── nothing counted for a lease, the log is read to its end ──> candidate: appends `lead`
 *      ^  ^                                                                  │
 *      │  └── another's entry counted, or its own did not within 2 s ────────┤
 *      │                                                                     v
 *      └────────────── another's `lead` counted ────────────────────────── leader
 *
 * While a leader holds the lease it answers reads without asking the log. Its lease runs from the moment at which its
 * newest entry that counted was sent; a standby counts from when it read that entry, and a little longer: so two
 * machines never hold it.
 * A leader whose lease has lapsed writes nothing new, and goes on sending beats: the next that counts renews it. When
 * none has counted for one more lease, it sends beats only while it reads the log to its end: a leader whose beats
 * arrive, but that reads them late or never, would keep the others from leading.
 * The lease does not keep two leaders' writes apart: the rules of the applier do.
 */
import { Failure } from '../../model/failure.ts';
import { Signal } from '../../model/signal.ts';
import type { Timers } from '../../model/clock.ts';
import type { LogPosition } from './applier.ts';
import { encodeEntry, type Leader } from './entry.ts';

/**
 * Share of a lease by which a standby waits longer than the leader: clocks differ in speed, monotonic ones too while
 * they are being adjusted.
 */
const marginShare = 0.05;
/** Each standby waits up to this much more, at random, so that one of them is first. */
const spreadMs = 450;
/** A `lead` that was not read back by then is given up; the machine tries again after another wait. */
const candidateMs = 2_000;
/** The newest beats that are remembered until they are read back; an older one renews nothing. */
const awaitedBeatsMax = 20;
/** Before the log is asked again whether it was read to its end. */
const askAgainMs = 200;

export type LeadState = 'standby' | 'candidate' | 'leader' | 'stopped';

export interface LeadOptions {
  readonly self: Leader;
  readonly timers: Timers;
  /** From 0 up to 1. */
  readonly random: () => number;
  readonly leaseMs: number;
  readonly beatMs: number;
  readonly position: () => LogPosition;
  /** Whether everything in the log was read and stored. Rejects when the log does not answer. */
  readonly isAtEnd: () => Promise<boolean>;
  /** Never rejects. */
  readonly append: (body: Uint8Array) => void;
  /** This process leads from now on: all earlier entries are applied, and the lease of the former leader has ended. */
  readonly onLeading: () => void;
  /** It led, and another `lead` counted. */
  readonly onDeposed: () => void;
}

export class Lead {
  readonly #options: LeadOptions;
  #state: LeadState = 'standby';
  /** The newest `lead` that counted, in this run or an earlier one: a standby knows its leader from the start. */
  #leader: Leader | undefined;
  /** When an entry counted last; a start counts as one. */
  #countedMs: number;
  /** The same, of the former leader. */
  #formerMs = 0;
  /** When the `lead` of this epoch was first sent from here. */
  #claim = { epoch: 0, sentMs: 0 };
  /** Beats that may still come back, by their count. */
  readonly #beats = new Map<number, number>();
  #beatCount = 0;
  /** When the newest of this leader's entries that counted was sent. */
  #sentMs = -Infinity;
  /** When the last lease that was held ended or will end; at first, when this machine began to lead. */
  #heldToMs = 0;
  /** The lease of the former leader has ended by then. */
  #heldFromMs = 0;
  #cancelWait: () => void = () => undefined;
  #cancelBeat: () => void = () => undefined;
  #cancelLapse: () => void = () => undefined;
  /** Fired when `check` begins to throw. */
  readonly lapsed = new Signal();

  constructor(options: LeadOptions) {
    this.#options = options;
    this.#leader = options.position().leader;
    this.#countedMs = options.timers.monotonicMs();
  }

  get state(): LeadState {
    return this.#state;
  }

  get leader(): Leader | undefined {
    return this.#leader;
  }

  /** This machine leads, and no other can yet. */
  get isHeld(): boolean {
    const nowMs = this.#options.timers.monotonicMs();
    return this.#state === 'leader' && nowMs >= this.#heldFromMs && this.#leftMs() > 0;
  }

  /** @throws Failure not_active */
  check(): void {
    if (this.isHeld) return;
    const isSelf = this.#leader?.owner === this.#options.self.owner;
    throw notActive(isSelf ? undefined : this.#leader);
  }

  start(): void {
    this.#wait(this.#silenceMs());
  }

  /** Ends all waits: this machine never leads again. */
  stop(): void {
    this.#state = 'stopped';
    this.#cancelWait();
    this.#cancelBeat();
    this.#cancelLapse();
    this.lapsed.fire();
  }

  /** An entry counted. @param sentMs when it was first sent; undefined for one of another machine */
  counted(sentMs: number | undefined): void {
    this.#countedMs = this.#options.timers.monotonicMs();
    if (this.#state === 'leader') {
      if (sentMs !== undefined) this.#renew(sentMs);
    } else if (this.#state === 'candidate') {
      this.#becomeStandby();
    }
  }

  countedBeat(count: number): void {
    const sentMs = this.#state === 'leader' ? this.#beats.get(count) : undefined;
    for (const older of this.#beats.keys()) if (older <= count) this.#beats.delete(older);
    this.counted(sentMs);
  }

  /** A former leader is deposed at once; the new one stands by until its `lead` is stored. */
  countedLead(leader: Leader): void {
    if (this.#state === 'stopped') return;
    const wasLeading = this.#state === 'leader';
    this.#formerMs = this.#countedMs;
    this.#leader = leader;
    this.#countedMs = this.#options.timers.monotonicMs();
    this.#becomeStandby();
    if (!wasLeading) return;
    this.lapsed.fire();
    this.#options.onDeposed();
  }

  /** The newest `lead` is stored, and all that counted before it. */
  storedLead(leader: Leader, epoch: number): void {
    if (this.#state === 'stopped') return;
    const isOwn = leader.owner === this.#options.self.owner && this.#claim.epoch === epoch;
    if (isOwn) this.#becomeLeader();
  }

  #becomeStandby(): void {
    this.#state = 'standby';
    this.#cancelBeat();
    this.#cancelLapse();
    this.#wait(this.#silenceMs());
  }

  #becomeLeader(): void {
    const { timers, leaseMs, onLeading } = this.#options;
    this.#state = 'leader';
    this.#cancelWait();
    this.#beats.clear();
    this.#sentMs = -Infinity;
    this.#heldToMs = timers.monotonicMs();
    this.#renew(this.#claim.sentMs);
    this.#beatLater();
    // An entry of the former leader that came between its silence and this lead has renewed its lease.
    this.#heldFromMs = this.#formerMs + leaseMs * (1 + marginShare);
    const waitMs = this.#heldFromMs - timers.monotonicMs();
    if (waitMs > 0) this.#cancelWait = timers.after(waitMs, onLeading);
    else onLeading();
  }

  #renew(sentMs: number): void {
    this.#sentMs = Math.max(this.#sentMs, sentMs);
    if (this.#leftMs() > 0) this.#heldToMs = this.#sentMs + this.#options.leaseMs;
    this.#cancelLapse();
    this.#cancelLapse = this.#options.timers.after(Math.max(0, this.#leftMs()), () => {
      this.lapsed.fire();
    });
  }

  #leftMs(): number {
    return this.#sentMs + this.#options.leaseMs - this.#options.timers.monotonicMs();
  }

  #silenceMs(): number {
    const { leaseMs, random } = this.#options;
    return leaseMs * (1 + marginShare) + random() * spreadMs;
  }

  /** Tries to lead after this long without an entry that counted. */
  #wait(silenceMs: number): void {
    this.#cancelWait();
    const leftMs = this.#countedMs + silenceMs - this.#options.timers.monotonicMs();
    this.#cancelWait = this.#options.timers.after(Math.max(0, leftMs), () => {
      if (this.#countedMs + silenceMs <= this.#options.timers.monotonicMs()) this.#ask(silenceMs);
      else this.#wait(silenceMs);
    });
  }

  /** Only a machine that has stored everything may lead; while the log does not answer, none can. */
  #ask(silenceMs: number): void {
    const { isAtEnd, timers } = this.#options;
    const answered = (atEnd: boolean): void => {
      if (this.#state !== 'standby') return;
      // A lead that counted since the question has begun a wait of its own.
      this.#cancelWait();
      const isSilent = this.#countedMs + silenceMs <= timers.monotonicMs();
      if (atEnd && isSilent) this.#claimEpoch();
      else this.#cancelWait = timers.after(askAgainMs, () => this.#wait(silenceMs));
    };
    isAtEnd().then(answered, () => answered(false));
  }

  #claimEpoch(): void {
    const { self, timers, position, append } = this.#options;
    const { epoch: last, n: after, chain } = position();
    const epoch = last + 1;
    if (this.#claim.epoch !== epoch) this.#claim = { epoch, sentMs: timers.monotonicMs() };
    this.#state = 'candidate';
    this.#cancelWait = timers.after(candidateMs, () => this.#becomeStandby());
    append(encodeEntry({ epoch, n: 0, chain, kind: 'lead', leader: self, after }));
  }

  #beatLater(): void {
    const { timers, beatMs } = this.#options;
    const leftMs = this.#sentMs + beatMs - timers.monotonicMs();
    this.#cancelBeat = timers.after(leftMs > 0 ? leftMs : beatMs, () => {
      if (this.#sentMs + beatMs <= timers.monotonicMs()) this.#beatIfReading();
      this.#beatLater();
    });
  }

  #beatIfReading(): void {
    const { isAtEnd, leaseMs, timers } = this.#options;
    if (timers.monotonicMs() < this.#heldToMs + leaseMs) {
      this.#beat();
      return;
    }
    const beatAtEnd = (atEnd: boolean): void => {
      if (atEnd && this.#state === 'leader') this.#beat();
    };
    // Where the log does not answer, no beat arrives.
    isAtEnd().then(beatAtEnd, () => undefined);
  }

  #beat(): void {
    const { timers, position, append } = this.#options;
    const { epoch, n, chain } = position();
    const count = ++this.#beatCount;
    this.#beats.set(count, timers.monotonicMs());
    this.#beats.delete(count - awaitedBeatsMax);
    append(encodeEntry({ epoch, n, chain, kind: 'beat', count }));
  }
}

function notActive(leader: Leader | undefined): Failure {
  const detail = leader === undefined ? 'no machine leads now' : `${leader.url} leads`;
  return new Failure('not_active', `Cannot change anything here: ${detail}`, {
    retryAfterSeconds: 1,
  });
}
