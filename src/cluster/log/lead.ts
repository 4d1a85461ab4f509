/**
 * Leader election: one machine leads an epoch and writes, the others stand by.
 *
 *   standby ── nothing counted for a lease, the log is read to its end ──> candidate: appends `lead`
 *      ^  ^     or its leader's `release` counted                            │
 *      │  └── another's entry counted, or its own did not within 2 s ────────┤
 *      │                                                                     v
 *      └────── another's `lead` counted, or its own `release` ──────────── leader
 *
 * While a leader holds the lease it answers reads without asking the log. Its lease runs from the moment at which its
 * newest entry that counted was sent; a standby counts from when it read that entry, and a little longer: so two
 * machines never hold it.
 * A leader whose lease has lapsed writes nothing new, and continues to send beats: the next that counts renews it. When
 * none has counted for one more lease, it sends beats only while it reads the log to its end: a leader whose beats
 * arrive, but that reads them late or never, would keep the others from leading.
 * A leader that gives the lead away drops its lease for the rest of its epoch. Then it sends no beats, and appends `release`
 * until that counts: a machine that has read it waits for no lease. A late `release` has an old epoch; without one, silence
 * decides.
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
const spreadMs = 150;
/** The same after a `release`: another's `lead` comes within milliseconds. */
const releasedSpreadMs = 50;
/** A `lead` that was not read back by then is given up; the machine tries again after another wait. */
const candidateMs = 2_000;
/** The newest beats that are remembered until they are read back; an older one renews nothing. */
const awaitedBeatsMax = 20;
/** Before the log is asked again whether it was read to its end. */
const askAgainMs = 100;
/** The same after a `release`. */
const releasedAskAgainMs = 20;

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
  /** It led, and another `lead` counted, or its own `release`. */
  readonly onDeposed: () => void;
}

export class Lead {
  readonly #options: LeadOptions;
  #state: LeadState = 'standby';
  /** The newest `lead` that counted, in this run or an earlier one: a standby knows its leader from the start. */
  #leader: Leader | undefined;
  /** When an entry counted last; a start counts as one. */
  #countedMs: number;
  /** After this the standby claims, unless an entry counts before. */
  #silenceMs = 0;
  /** The lease of the former leader has ended by then. */
  #formerEndMs = 0;
  /** The `release` of this epoch counted. */
  #isReleased = false;
  /** This leader holds no lease any more. */
  #hasRenounced = false;
  /** When the `lead` of this epoch was first sent from here. */
  #claim = { epoch: 0, sentMs: 0 };
  /** Beats that may still come back, by their count. */
  readonly #beats = new Map<number, number>();
  #beatCount = 0;
  /** When the newest of this leader's entries that counted was sent. */
  #sentMs = -Infinity;
  /** When the last lease that was held ended or will end; at first, when this machine began to lead. */
  #heldToMs = 0;
  /** `#formerEndMs` of this leader. */
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
    if (this.#state !== 'leader' || this.#hasRenounced) return false;
    return nowMs >= this.#heldFromMs && this.#leftMs() > 0;
  }

  /** This machine holds the lead, or has read an entry of the leader within a lease. */
  get isCurrent(): boolean {
    const { timers, leaseMs } = this.#options;
    if (this.#state === 'standby') return timers.monotonicMs() - this.#countedMs < leaseMs;
    return this.isHeld;
  }

  /** @throws Failure not_active */
  check(): void {
    if (this.isHeld) return;
    const isSelf = this.#leader?.owner === this.#options.self.owner;
    throw notActive(isSelf ? undefined : this.#leader);
  }

  start(): void {
    this.#wait(this.#drawSilence());
  }

  /** A leader holds no lease from here on, and writes nothing new. An entry under way may still count. */
  renounce(): void {
    if (this.#state !== 'leader' || this.#hasRenounced) return;
    this.#hasRenounced = true;
    // It may not have opened yet.
    this.#cancelWait();
    this.lapsed.fire();
  }

  /** A leader that has renounced, and has nothing under way, lets another lead. @param to its owner; empty = any */
  release(to: string): void {
    if (this.#state === 'leader' && this.#hasRenounced) this.#release(to);
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
    // A beat that comes after the release of its leader.
    if (this.#isReleased) return;
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

  countedRelease(to: string): void {
    if (this.#state === 'stopped' || this.#isReleased) return;
    this.#isReleased = true;
    this.#countedMs = this.#options.timers.monotonicMs();
    const { self, leaseMs, random, onDeposed } = this.#options;
    if (this.#state === 'leader') {
      // It leads again where no other wants to.
      this.#standBy(this.#drawSilence() + leaseMs);
      onDeposed();
    } else if (this.#state === 'standby') {
      if (to === self.owner) this.#wait(0);
      else this.#wait(to === '' ? random() * releasedSpreadMs : this.#drawSilence());
    }
  }

  /** A former leader is deposed at once; the new one stands by until its `lead` is stored. */
  countedLead(leader: Leader): void {
    if (this.#state === 'stopped') return;
    const wasLeading = this.#state === 'leader';
    const { timers, leaseMs } = this.#options;
    this.#formerEndMs = this.#isReleased ? 0 : this.#countedMs + leaseMs * (1 + marginShare);
    this.#isReleased = false;
    this.#leader = leader;
    this.#countedMs = timers.monotonicMs();
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
    this.#standBy(this.#drawSilence());
  }

  #standBy(silenceMs: number): void {
    this.#state = 'standby';
    this.#cancelBeat();
    this.#cancelLapse();
    this.#wait(silenceMs);
  }

  #becomeLeader(): void {
    const { timers, onLeading } = this.#options;
    this.#state = 'leader';
    this.#hasRenounced = false;
    this.#cancelWait();
    this.#beats.clear();
    this.#sentMs = -Infinity;
    this.#heldToMs = timers.monotonicMs();
    this.#renew(this.#claim.sentMs);
    this.#beatLater();
    // An entry of the former leader that came between its silence and this lead has renewed its lease.
    this.#heldFromMs = this.#formerEndMs;
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

  #drawSilence(): number {
    const { leaseMs, random } = this.#options;
    return leaseMs * (1 + marginShare) + random() * spreadMs;
  }

  /** Tries to lead after this long without an entry that counted. */
  #wait(silenceMs: number): void {
    this.#silenceMs = silenceMs;
    this.#cancelWait();
    const leftMs = Math.max(0, this.#countedMs + silenceMs - this.#options.timers.monotonicMs());
    this.#cancelWait = this.#options.timers.after(leftMs, () => {
      if (this.#isSilent) this.#ask();
      else this.#wait(silenceMs);
    });
  }

  get #isSilent(): boolean {
    return this.#countedMs + this.#silenceMs <= this.#options.timers.monotonicMs();
  }

  /** Only a machine that has stored everything may lead; while the log does not answer, no machine can. */
  #ask(): void {
    const { isAtEnd, timers } = this.#options;
    const againMs = (): number => (this.#isReleased ? releasedAskAgainMs : askAgainMs);
    const answered = (atEnd: boolean): void => {
      if (this.#state !== 'standby') return;
      // An entry that counted since the question may have started another wait.
      this.#cancelWait();
      if (atEnd && this.#isSilent) this.#claimEpoch();
      else this.#cancelWait = timers.after(againMs(), () => this.#wait(this.#silenceMs));
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

  /** Until it counts. */
  #release(to: string): void {
    const { timers, position, append, beatMs } = this.#options;
    const { epoch, n, chain } = position();
    // Before that the lease of the leader before this one may run.
    const leftMs = this.#heldFromMs - timers.monotonicMs();
    if (leftMs > 0) this.#beat();
    else append(encodeEntry({ epoch, n, chain, kind: 'release', to }));
    this.#cancelBeat();
    const againMs = leftMs > 0 ? Math.min(leftMs, beatMs) : beatMs;
    this.#cancelBeat = timers.after(againMs, () => this.#release(to));
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
