/**
 * What the leading core has confirmed to nodes that refuse scans without contact (link-contact.ts says why it holds): a
 * change is answered when each of them has it, or has no permission to redirect any more.
 *
 * A node that sends beats and does not follow is not confirmed any more once a change has waited for `graceMs`: so a
 * change waits for 0.5 + 2.2 s at most, and the ones after it not at all. Until then it is, although it lacks the change: on
 * a slow line under many changes every node lacks the newest.
 */
import type { Timers } from '../../model/clock.ts';
import type { NatsConnection } from '../nats/nats-connection.ts';
import { type Beat, beatSubject, coreBeats, edgeBeats, readBeat } from './beat-message.ts';
import { encodeContactAnswer } from './contact-message.ts';
import { permittedMs } from './link-contact.ts';

/** A permission is over this long after its beat was received: 10 % for clocks that differ in speed. */
const overMs = permittedMs * 1.1;
/** A change that waits for longer keeps those that lack it from being confirmed. */
const graceMs = 500;

export interface ConfirmationsOptions {
  readonly connection: Pick<NatsConnection, 'answer'>;
  readonly timers: Timers;
  /** `cluster.staleLinks` here; where it is `serve`, every beat is confirmed and no change waits. */
  readonly refuses: boolean;
  /** The epoch that this core leads, while it holds the lease. */
  readonly epoch: () => number | undefined;
  /** The last change of a link that this core has applied. */
  readonly lastLink: () => number;
}

/** Of one start of a node. */
interface Confirmed {
  /** Of the newest beat. */
  readonly number: number;
  readonly sentMs: number;
  /** When the last one that was confirmed came; -Infinity = none was. */
  readonly receivedMs: number;
}

interface Waiter {
  readonly number: number;
  readonly sinceMs: number;
  readonly resolve: () => void;
}

export class Confirmations {
  readonly #options: ConfirmationsOptions;
  /** By name and start. */
  readonly #nodes = new Map<string, Confirmed>();
  readonly #waiters = new Set<Waiter>();
  readonly #ends: ReadonlyArray<() => void>;
  #epoch: number | undefined;
  /** What a leader before this one confirmed is over 2.2 s after this. */
  #beganMs: number | undefined;
  /** No answered change is above it. */
  #answered = 0;
  #cancel: () => void = () => undefined;

  constructor(options: ConfirmationsOptions) {
    this.#options = options;
    const answer = async (bytes: Uint8Array, subject: string): Promise<Uint8Array | undefined> =>
      this.#receive(bytes, subject);
    this.#ends = [coreBeats, edgeBeats].map((subject) =>
      options.connection.answer(subject, answer),
    );
  }

  /** Resolves when no node that refuses redirects without the changes up to `number`; after 3 s at most. */
  followed(number: number): Promise<void> {
    const { refuses, timers } = this.#options;
    if (!refuses) return Promise.resolve();
    this.#holdsLease();
    const sinceMs = timers.monotonicMs();
    // The change was written under a lease that began before.
    this.#beganMs ??= sinceMs;
    return new Promise((resolve) => {
      this.#waiters.add({ number, sinceMs, resolve });
      this.#check();
    });
  }

  /** Who waits is never answered. */
  close(): void {
    this.#cancel();
    for (const end of this.#ends) end();
    this.#waiters.clear();
  }

  /** In one go: what is confirmed here is noted before any change is looked at again. */
  #receive(bytes: Uint8Array, subject: string): Uint8Array | undefined {
    const beat = readBeat(bytes);
    if (beat === undefined || beat.refuses !== true || !beat.redirects) return undefined;
    if (subject !== beatSubject(beat)) return undefined;
    const { refuses } = this.#options;
    const isLeading = this.#holdsLease();
    const isFollowed = !refuses || beat.linkNumber >= this.#required();
    const isConfirmed = isLeading && isFollowed && !beat.isLast;
    // One that comes by another way than those after it says what was.
    if (!this.#note(beat, isConfirmed)) return undefined;
    this.#check();
    return isLeading ? encodeContactAnswer({ isConfirmed, refuses }) : undefined;
  }

  /** @returns false for a beat that is older than another of its start */
  #note({ name, instance, linkNumber, sentMs = 0, isLast }: Beat, isConfirmed: boolean): boolean {
    const start = `${name} ${instance}`;
    const known = this.#nodes.get(start);
    if (known !== undefined && sentMs < known.sentMs) return false;
    const nowMs = this.#options.timers.monotonicMs();
    const receivedMs = isConfirmed ? nowMs : (known?.receivedMs ?? -Infinity);
    // It redirects no more.
    if (isLast) this.#nodes.delete(start);
    else this.#nodes.set(start, { number: linkNumber, sentMs, receivedMs });
    return true;
  }

  /** Whether this core holds the lease now; a lease of another epoch than before has begun by then. */
  #holdsLease(): boolean {
    const { epoch, lastLink, timers } = this.#options;
    const leads = epoch();
    if (leads === undefined) return false;
    if (leads === this.#epoch) return true;
    this.#epoch = leads;
    this.#beganMs = timers.monotonicMs();
    this.#answered = Math.max(this.#answered, lastLink());
    return true;
  }

  /** What a node must have to be confirmed. */
  #required(): number {
    const dueMs = this.#options.timers.monotonicMs() - graceMs;
    let required = this.#answered;
    for (const { number, sinceMs } of this.#waiters) {
      if (sinceMs <= dueMs) required = Math.max(required, number);
    }
    return required;
  }

  #check(): void {
    const { timers } = this.#options;
    const nowMs = timers.monotonicMs();
    for (const [start, { receivedMs }] of this.#nodes) {
      if (receivedMs + overMs <= nowMs) this.#nodes.delete(start);
    }
    let againMs = Infinity;
    for (const waiter of this.#waiters) {
      const leftMs = this.#leftMs(waiter.number, nowMs);
      if (leftMs > 0) {
        againMs = Math.min(againMs, leftMs);
        continue;
      }
      this.#waiters.delete(waiter);
      this.#answered = Math.max(this.#answered, waiter.number);
      waiter.resolve();
    }
    this.#cancel();
    if (againMs < Infinity) this.#cancel = timers.after(againMs, () => this.#check());
  }

  /** Until the change may be answered where no beat comes any more. */
  #leftMs(number: number, nowMs: number): number {
    let leftMs = (this.#beganMs ?? nowMs) + overMs - nowMs;
    for (const node of this.#nodes.values()) {
      if (node.number < number) leftMs = Math.max(leftMs, node.receivedMs + overMs - nowMs);
    }
    return leftMs;
  }
}
