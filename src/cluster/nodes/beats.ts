/**
 * Which nodes are up, and how far their links are: each reports every 500 ms, and at once when its links have moved.
 *
 *   qz.nodes.<name>       of a core, read by every node
 *   qz.edge.<name>.beat   of an edge, read by the cores
 *   qz.ask.<name>.stop    to an edge, from the cores: [1, instance] is one of two under its name, and must stop
 *
 * A node is connected for 2 s after its last beat, or until its last beat. A change of a link is answered when
 * every connected node that redirects has it (`linksFollowed`), or after 2 s. A change waits for a node that is cut off until
 * it lapses. Only one change waits for a connected node that does not follow. Time without any beat does not count: then this
 * node is the one that is cut off.
 *
 * A beat also reports where the journals of its node end. Code that waits for scans of a node reads its last beat, also
 * while the node is away. Each second a core's beat has its mark (scans/marks.ts); a later mark repairs a lost one.
 *
 * Two processes under one name would write the same journals, as when a data folder was copied. The one that started later
 * stops. A core sees the beats of the other one; an edge does not, so the cores ask it to stop.
 */
import type { Timers } from '../../model/clock.ts';
import { isText, messageFormat } from '../message-fields.ts';
import type { NatsConnection } from '../nats/nats-connection.ts';
import { Marks } from '../scans/marks.ts';
import {
  type Beat,
  beatSubject,
  coreBeats,
  edgeBeats,
  encodeBeat,
  type Journaled,
  type Mark,
  type NodeStart,
  readBeat,
} from './beat-message.ts';
import { doubleDetail } from './node-error.ts';

const beatMs = 500;
/** Four beats: one late or lost beat disconnects no node. */
const connectedMs = 2_000;
/**
 * A core receives at least its own beats this often. Without any, its connection is lost or its broker hangs: the others do
 * not lapse meanwhile.
 */
const receivedMsMax = 750;
/** Between two checks of what a change waits for: whether a node has lapsed. */
const checkMs = 50;
/** Between two beats: moves that come in the same moment are one. */
const movedMs = 1;
/** Beats come at once when links move, and a mark may have 0.8 MB: not each beat has one. */
const markMs = 1_000;
/** Beats of a process that has ended arrive within this. */
export const lateMs = 400;
/** A change is answered after this, followed or not. */
const followMs = 2_000;

const stopFormat = messageFormat<Pick<NodeStart, 'instance'>>({ instance: isText });

export interface BeatsOptions {
  readonly connection: Pick<NatsConnection, 'publish' | 'subscribe'>;
  readonly timers: Timers;
  readonly self: NodeStart;
  /** Names of registered nodes that redirect; absent on an edge, which answers no changes. */
  readonly registered?: (() => readonly string[]) | undefined;
  /** Another process runs under this name, and this one must stop. @param detail a sentence for the operator */
  readonly onDouble: (detail: string) => void;
}

/** What a beat reports of its node. */
export interface NodeProgress {
  /** Changes of links up to it are in this node's link table. */
  readonly linkNumber: () => number;
  readonly journaled: () => Journaled;
  /** Of a core. */
  readonly mark?: () => Mark;
}

interface Seen {
  /** Its last one, also of a node that is away or has ended. */
  readonly beat: Beat;
  /** Of the time in which this node received beats. */
  readonly receivedAtMs: number;
  /** The start before this one, and when this one took its place. */
  readonly former?: { readonly instance: string; readonly untilMs: number };
  /** Its link number when a change waited for it without success: no change waits for it until that has moved. */
  stuckAt?: number | undefined;
}

interface Waiter {
  readonly number: number;
  /** Nodes that have not followed; those that lapsed meanwhile as well. */
  readonly behind: Set<string>;
  readonly untilMs: number;
  readonly resolve: (behind: number) => void;
  cancel: () => void;
}

export class Beats {
  readonly #options: BeatsOptions;
  /** Of all cores. A core sets which are registered; an edge knows them by their marks, without their runs. */
  readonly marks = new Marks();
  #markedMs = -Infinity;
  /** From `start` on. */
  #progress: NodeProgress | undefined;
  /** By name, without this node: one for each that there was since this start. */
  readonly #seen = new Map<string, Seen>();
  readonly #waiters = new Set<Waiter>();
  readonly #ends: readonly (() => void)[];
  #cancelBeat: () => void = () => undefined;
  #isMoved = false;
  #sentMs = -Infinity;
  /** When the last beat was received, and how long expected beats were missing in all. */
  #receivedMs: number;
  #silenceMs = 0;
  /** When another process under this name was first seen. */
  #doubleMs: number | undefined;
  #isClosed = false;

  /** Listens, and sends nothing before `start`. */
  constructor(options: BeatsOptions) {
    this.#options = options;
    this.#receivedMs = options.timers.monotonicMs();
    const { connection, self } = options;
    const isEdge = self.role === 'edge';
    const receive = (bytes: Uint8Array, subject: string): void => this.#receive(bytes, subject);
    this.#ends = [
      connection.subscribe(coreBeats, receive),
      isEdge
        ? connection.subscribe(stopSubject(self.name), (bytes) => this.#askedToStop(bytes))
        : connection.subscribe(edgeBeats, receive),
    ];
  }

  /** The node redirects. */
  start(progress: NodeProgress): void {
    this.#progress = progress;
    this.#beat();
  }

  /** This node's links have moved: it beats at once, once for many moves of a moment. */
  moved(): void {
    this.#check();
    if (this.#isMoved || this.#isClosed || this.#progress === undefined) return;
    const { timers } = this.#options;
    const waitMs = this.#sentMs + movedMs - timers.monotonicMs();
    if (waitMs <= 0) {
      this.#beat();
      return;
    }
    this.#isMoved = true;
    this.#cancelBeat();
    this.#cancelBeat = timers.after(waitMs, () => this.#beat());
  }

  /** Others than this node. */
  connected(): readonly Beat[] {
    return [...this.#seen.values()]
      .filter((seen) => this.#isConnected(seen))
      .map(({ beat }) => beat);
  }

  /** Of this node, as it would be sent now. */
  get own(): Beat {
    const journaled = this.#progress?.journaled() ?? { atMs: 0, tails: [] };
    const { self } = this.#options;
    return { ...self, linkNumber: this.#linkNumber, isLast: this.#isClosed, journaled, mark: null };
  }

  get #linkNumber(): number {
    return this.#progress?.linkNumber() ?? 0;
  }

  /** Of another node: its last beat, also of one that is away or has ended; undefined where none came since this start. */
  last(name: string): Beat | undefined {
    return this.#seen.get(name)?.beat;
  }

  /** Changes of links that a connected core reports and that this node lacks; undefined where no core is connected. */
  get linksBehind(): number | undefined {
    const cores = this.connected().filter(({ role }) => role !== 'edge');
    if (cores.length === 0) return undefined;
    const newest = Math.max(...cores.map(({ linkNumber }) => linkNumber));
    return Math.max(0, newest - this.#linkNumber);
  }

  /** Registered nodes that are not connected, and have not said that they end: they may redirect by old links. */
  away(): string[] {
    return (this.#options.registered?.() ?? []).filter(
      (name) => this.instanceOf(name) === undefined && this.last(name)?.isLast !== true,
    );
  }

  /** Addresses of the APIs of connected cores. */
  coreUrls(): string[] {
    return this.connected().flatMap(({ url }) => (url === '' ? [] : [url]));
  }

  /** The start of a connected node's process; undefined where the name is not connected. This node is. */
  instanceOf(name: string): string | undefined {
    const { self } = this.#options;
    if (name === self.name) return self.instance;
    const seen = this.#seen.get(name);
    return seen !== undefined && this.#isConnected(seen) ? seen.beat.instance : undefined;
  }

  /**
   * Resolves when every connected node that redirects has the changes of links up to `number`; this one too. A node that
   * lapses meanwhile is waited for no longer, one that connects is waited for. @returns how many do not have them by then,
   * or after `waitMs`: those that lapsed among them, and those that are away. A node that did not follow in time is not
   * waited for again until its links have moved: with a full disk it would hold up every change.
   */
  linksFollowed(number: number, waitMs = followMs): Promise<number> {
    const untilMs = this.#options.timers.monotonicMs() + waitMs;
    return new Promise((resolve) => {
      const behind = new Set<string>();
      const waiter: Waiter = { number, behind, untilMs, resolve, cancel: () => undefined };
      this.#waiters.add(waiter);
      this.#checkWaiter(waiter);
    });
  }

  /** This node has stopped redirecting and counting: sends a last beat with its mark, and no change waits for it. */
  end(): void {
    if (this.#isClosed) return;
    if (this.#progress !== undefined) this.#publish(true);
    this.close();
  }

  /** Sends and reads nothing more; waiting changes are answered by the present state. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#cancelBeat();
    for (const end of this.#ends) end();
    for (const waiter of this.#waiters) {
      this.#behind(waiter);
      this.#resolve(waiter);
    }
  }

  #beat(): void {
    const { timers } = this.#options;
    this.#isMoved = false;
    this.#cancelBeat();
    this.#sentMs = timers.monotonicMs();
    this.#publish(false);
    this.#cancelBeat = timers.after(beatMs, () => this.#beat());
  }

  #publish(isLast: boolean): void {
    const { connection, self } = this.#options;
    const beat = { ...this.own, isLast, mark: this.#dueMark(isLast) };
    // NATS may be away.
    this.#takeMark(beat);
    connection.publish(beatSubject(self), encodeBeat(beat));
  }

  #dueMark(isLast: boolean): Mark | null {
    const nowMs = this.#options.timers.monotonicMs();
    if (!isLast && nowMs - this.#markedMs < markMs) return null;
    this.#markedMs = nowMs;
    return this.#progress?.mark?.() ?? null;
  }

  #takeMark({ name, mark }: Pick<Beat, 'name' | 'mark'>): void {
    if (mark === null) return;
    const isEdge = this.#options.self.role === 'edge';
    if (isEdge) this.marks.setCores(new Map(mark.cores.map((core) => [core, 0])));
    this.marks.take(name, mark);
  }

  #receive(bytes: Uint8Array, subject: string): void {
    const beat = readBeat(bytes);
    if (beat === undefined || subject !== beatSubject(beat)) return;
    this.#silenceMs += this.#silentMs();
    this.#receivedMs = this.#options.timers.monotonicMs();
    if (beat.isLast) this.#receiveLast(beat);
    else if (beat.name === this.#options.self.name) this.#receiveOwn(beat);
    else this.#receiveOther(beat);
  }

  #receiveLast(beat: Beat): void {
    const { name, instance } = beat;
    const known = this.last(name);
    if (known !== undefined && known.instance !== instance) return;
    this.#seen.set(name, { beat, receivedAtMs: -Infinity });
    this.#takeMark(beat);
    for (const { behind } of this.#waiters) behind.delete(name);
    this.#check();
  }

  /** NATS also delivers this node's own beats to it. */
  #receiveOwn({ instance, url }: Beat): void {
    const { self, timers } = this.#options;
    if (instance === self.instance) return;
    this.#doubleMs ??= timers.monotonicMs();
    if (timers.monotonicMs() - this.#doubleMs < lateMs || instance > self.instance) return;
    this.#double(url);
  }

  #receiveOther(beat: Beat): void {
    const atMs = this.#options.timers.monotonicMs();
    const last = this.#seen.get(beat.name);
    const isOther = last !== undefined && last.beat.instance !== beat.instance;
    // A start that another has followed, and that beats again.
    const isBack = isOther && last.former?.instance === beat.instance;
    if (isBack) {
      if (atMs - last.former.untilMs < lateMs) return;
      this.#stopLater(last.beat, beat);
    }
    const former = isOther ? { instance: last.beat.instance, untilMs: atMs } : last?.former;
    const stuckAt = last?.stuckAt === beat.linkNumber ? last.stuckAt : undefined;
    const receivedAtMs = this.#receivingMs();
    this.#seen.set(beat.name, { beat, receivedAtMs, stuckAt, ...(former && { former }) });
    this.#takeMark(beat);
    this.#check();
  }

  /** An edge does not see the other one. */
  #stopLater(one: Beat, other: Beat): void {
    if (one.role !== 'edge' || this.#options.self.role === 'edge') return;
    const later = one.instance > other.instance ? one : other;
    this.#options.connection.publish(stopSubject(later.name), stopFormat.encode(later));
  }

  #askedToStop(bytes: Uint8Array): void {
    if (stopFormat.read(bytes)?.instance === this.#options.self.instance) this.#double('');
  }

  #double(url: string): void {
    const { self, onDouble } = this.#options;
    if (!this.#isClosed) onDouble(doubleDetail(self.name, url));
  }

  #isConnected({ receivedAtMs }: Seen): boolean {
    return this.#receivingMs() < receivedAtMs + connectedMs;
  }

  /** Time in which beats were received. */
  #receivingMs(): number {
    return this.#options.timers.monotonicMs() - this.#silenceMs - this.#silentMs();
  }

  /** For how long no beat has been received that should have been. */
  #silentMs(): number {
    return Math.max(0, this.#options.timers.monotonicMs() - this.#receivedMs - receivedMsMax);
  }

  #check(): void {
    for (const waiter of this.#waiters) this.#checkWaiter(waiter);
  }

  #checkWaiter(waiter: Waiter): void {
    const { timers } = this.#options;
    const isAny = this.#behind(waiter);
    const leftMs = waiter.untilMs - timers.monotonicMs();
    waiter.cancel();
    if (isAny && leftMs > 0) {
      const waitMs = Math.min(leftMs, checkMs);
      waiter.cancel = timers.after(waitMs, () => this.#checkWaiter(waiter));
      return;
    }
    for (const name of isAny ? waiter.behind : []) {
      const seen = this.#seen.get(name);
      if (seen !== undefined) seen.stuckAt = seen.beat.linkNumber;
    }
    this.#resolve(waiter);
  }

  #resolve(waiter: Waiter): void {
    waiter.cancel();
    this.#waiters.delete(waiter);
    const { behind, number } = waiter;
    for (const name of this.away()) {
      if ((this.last(name)?.linkNumber ?? -1) < number) behind.add(name);
    }
    waiter.resolve(behind.size);
  }

  /** Whether a connected node is behind that may still follow. */
  #behind({ number, behind }: Waiter): boolean {
    const { self } = this.#options;
    let isAny = false;
    const note = (name: string, state: 'followed' | 'behind' | 'stuck'): void => {
      if (state === 'followed') behind.delete(name);
      else behind.add(name);
      isAny ||= state === 'behind';
    };
    note(self.name, self.redirects && this.#linkNumber < number ? 'behind' : 'followed');
    for (const [name, seen] of this.#seen) {
      // One that has lapsed stays what it was.
      if (!this.#isConnected(seen) || !seen.beat.redirects) continue;
      const { linkNumber: at } = seen.beat;
      note(name, at >= number ? 'followed' : seen.stuckAt === at ? 'stuck' : 'behind');
    }
    return isAny;
  }
}

const stopSubject = (name: string): string => `qz.ask.${name}.stop`;
