/**
 * What one endpoint has not settled of one outbox.
 *
 *   ... settled | in flight | returned | ring: read, not started | not read ...
 *               ^ open                 ^ to                      ^ readTo, where it lags
 *
 * First attempts start in the order of the outbox, so everything up to `to` was started: it is settled, or one of the few
 * that are open. That, a place and a short list, is all that is stored of an endpoint.
 *
 * An endpoint that takes its deliveries as they come gets them from the router. One whose ring is full, or whose scans wait
 * for a second, lags: the router continues without it, and it reads its own backlog, a page whenever its ring is empty.
 */
import type { Backlog, OutboxName, Position } from '../../store/delivery/delivery.ts';
import type { Delivery } from '../deliveries/delivery.ts';
import { comparePositions, endOf, firstPosition } from './outbox-reader.ts';

/** Deliveries in a ring, and their bytes. */
const ringMax = 8_192;
const ringBytesMax = 8_388_608;
/** After so many starts the array is cut. */
const sliceAt = 1_024;
/** A delivery in memory, without its body. */
const overheadBytes = 512;

/** Bytes of the bodies in all rings. */
export interface RingBytes {
  all: number;
}

export class Feed {
  readonly outbox: OutboxName;
  readonly #bytes: RingBytes;
  /** In flight, or ended and not committed, in the order of their starts. */
  readonly #open = new Set<Delivery>();
  /** Given back without a result: started again before anything else. */
  #returned: Delivery[] = [];
  #ring: Delivery[] = [];
  #at = 0;
  #ringBytes = 0;
  #to: Position;
  #readTo: Position = firstPosition;
  #isLagging = false;
  #notRead = 0;
  #started: Delivery | undefined;

  /** @param to nothing up to here is outstanding */
  constructor(outbox: OutboxName, to: Position, bytes: RingBytes) {
    this.outbox = outbox;
    this.#bytes = bytes;
    this.#to = to;
  }

  /** Deliveries that are not settled; an estimate while it lags. */
  get count(): number {
    return this.#open.size + this.unsent;
  }

  /** Deliveries that were not started; an estimate while it lags. */
  get unsent(): number {
    return this.#returned.length + this.#ring.length - this.#at + this.#notRead;
  }

  get isFull(): boolean {
    return this.#ring.length - this.#at >= ringMax || this.#ringBytes >= ringBytesMax;
  }

  /** It reads its own backlog. */
  get isLagging(): boolean {
    return this.#isLagging;
  }

  /** While it lags: the ring holds everything up to here. */
  get readTo(): Position {
    return this.#readTo;
  }

  /** Adds the next delivery of the outbox. */
  add(delivery: Delivery): void {
    this.#ring.push(delivery);
    this.#count(delivery.body.length + overheadBytes);
  }

  #count(bytes: number): void {
    this.#ringBytes += bytes;
    this.#bytes.all += bytes;
  }

  /** The ring takes no more: what comes from here on is read later. */
  lag(): void {
    this.#isLagging = true;
    this.#readTo = this.#end;
  }

  /** Single deliveries of scans wait in the ring since before a time: lists would be faster. */
  isSlowSince(dueMs: number): boolean {
    const next = this.#ring[this.#at];
    const waits =
      next?.place !== undefined && next.dueMs < dueMs && this.#ring.length - this.#at > 1;
    return waits && next.place.outbox === 'scans' && next.place.place[3] === 'one';
  }

  /** Drops what was not started: it is read again, as the backlog is. */
  rewind(): void {
    for (const { eventIds } of this.#ring.slice(this.#at)) this.#notRead += eventIds.length;
    this.free();
    this.lag();
  }

  /** Counts events that it will read later. */
  pass(count: number): void {
    this.#notRead += count;
  }

  /** A page up to `position` was added. @param count its events @param routed up to here there is something to read */
  read(position: Position, count: number, routed: Position): void {
    this.#readTo = position;
    this.#isLagging = comparePositions(position, routed) < 0;
    this.#notRead = this.#isLagging ? Math.max(0, this.#notRead - count) : 0;
  }

  /** Continues where a process stopped. @param open what was in flight then */
  restore({ to, waiting }: Backlog, open: readonly Delivery[]): void {
    this.#to = to;
    this.#readTo = to;
    this.#isLagging = true;
    this.#notRead = waiting;
    this.#returned = [...open];
  }

  /** Everything up to here was started. */
  get to(): Position {
    return this.#to;
  }

  /** The last process had started the next deliveries, up to `position`. */
  reopen(deliveries: readonly Delivery[], position: Position): void {
    this.#returned.push(...deliveries);
    this.#to = position;
    if (comparePositions(this.#readTo, position) < 0) this.#readTo = position;
  }

  /** Puts what the last process had sent in flight again, in place of the returned ones that it has. @returns whether it has any */
  startAgain(delivery: Delivery): boolean {
    const left = this.#returned.filter((one) => !isWithin(one, delivery));
    if (left.length === this.#returned.length) return false;
    this.#returned = left;
    this.#open.add(delivery);
    return true;
  }

  /** The end of what was started or is in the ring. */
  get #end(): Position {
    const last = this.#ring.at(-1)?.place;
    return last === undefined || this.#at === this.#ring.length
      ? this.#to
      : endOf(this.outbox, last.place);
  }

  /** Whether an entry was started, or is in the ring. */
  has(end: Position): boolean {
    return comparePositions(end, this.#end) <= 0;
  }

  /** The next to start. */
  get first(): Delivery | undefined {
    return this.#returned[0] ?? this.#ring[this.#at];
  }

  /** What has waited longest for its start; of one that lags perhaps the last that was started. */
  get oldest(): Delivery | undefined {
    return this.first ?? (this.#isLagging ? this.#started : undefined);
  }

  /** Takes the first: it is in flight. */
  start(): void {
    const returned = this.#returned.shift();
    const delivery = returned ?? this.#ring[this.#at];
    if (delivery?.place === undefined) return;
    this.#open.add(delivery);
    this.#started = delivery;
    if (returned !== undefined) return;
    this.#to = endOf(this.outbox, delivery.place.place);
    this.#count(-delivery.body.length - overheadBytes);
    this.#at += 1;
    if (this.#at < sliceAt && this.#at < this.#ring.length) return;
    this.#ring = this.#ring.slice(this.#at);
    this.#at = 0;
  }

  /** Its attempt has no result: it is started again. */
  giveBack(delivery: Delivery): void {
    if (!this.#open.delete(delivery)) return;
    this.#returned = [...this.#returned, delivery].toSorted(byPlace);
  }

  /** Its result is committed. */
  settle(delivery: Delivery): void {
    this.#open.delete(delivery);
  }

  /** All deliveries in memory. */
  *known(): Generator<Delivery> {
    yield* this.#open;
    yield* this.#returned;
    yield* this.#ring.slice(this.#at);
  }

  /** What is stored of it. @param settled by the same transaction. @returns undefined when nothing is left */
  backlog(routed: Position, settled: ReadonlySet<Delivery>): Backlog | undefined {
    const open = [...this.#open, ...this.#returned].filter((one) => !settled.has(one));
    const isClean = open.length === 0 && this.unsent === 0 && !this.#isLagging;
    if (isClean && comparePositions(this.#to, routed) <= 0) return undefined;
    const places = open.flatMap(({ place }) => (place === undefined ? [] : [place.place]));
    return { to: this.#to, open: places, waiting: this.unsent - this.#returned.length };
  }

  /** Frees the memory of what was not started. */
  free(): void {
    this.#count(-this.#ringBytes);
    this.#ring = [];
    this.#at = 0;
  }
}

/** As they stand in the outbox. */
const byPlace = ({ place: one }: Delivery, { place: other }: Delivery): number =>
  one === undefined || other === undefined
    ? 0
    : one.place[0] - other.place[0] || one.place[1] - other.place[1];

const isWithin = ({ place: one }: Delivery, { place: whole }: Delivery): boolean =>
  one !== undefined &&
  whole !== undefined &&
  one.place[0] === whole.place[0] &&
  one.place[1] >= whole.place[1] &&
  one.place[2] <= whole.place[2];
