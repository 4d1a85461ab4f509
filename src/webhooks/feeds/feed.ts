/**
 * The deliveries of one outbox that one endpoint has not settled.
 *
 *   ... settled | in flight | returned | ring: read, not started | not read ...
 *               ^ open                 ^ to                      ^ readTo, if it lags
 *
 * First attempts start in outbox order, so only `to` and the few open deliveries are stored. The router fills the feed
 * of an endpoint that keeps up. If the ring is full, or scans wait for a second, the endpoint lags: the router continues
 * without it, and it reads its own backlog, a page whenever its ring is empty.
 */
import type { Backlog, DeliveryRef, OutboxName, Position } from '../../store/delivery/delivery.ts';
import type { Delivery } from '../deliveries/delivery.ts';
import { comparePositions, endOf, firstPosition } from './outbox-reader.ts';

const ringMax = 8_192;
const ringBytesMax = 8_388_608;
/** The array is sliced after so many starts. */
const sliceAt = 1_024;
/** Bytes of a delivery in memory, without its body. */
const overheadBytes = 512;

export interface RingBytes {
  all: number;
}

export class Feed {
  readonly outbox: OutboxName;
  readonly #bytes: RingBytes;
  /** In flight, or ended and not committed, in start order. */
  readonly #open = new Set<Delivery>();
  #returned: Delivery[] = [];
  #ring: Delivery[] = [];
  #at = 0;
  #ringBytes = 0;
  #to: Position;
  #readTo: Position = firstPosition;
  #isLagging = false;
  #notRead = 0;
  #started: Delivery | undefined;

  /** @param to everything up to here is settled */
  constructor(outbox: OutboxName, to: Position, bytes: RingBytes) {
    this.outbox = outbox;
    this.#bytes = bytes;
    this.#to = to;
  }

  /** Unsettled deliveries; an estimate while it lags. */
  get count(): number {
    return this.#open.size + this.unsent;
  }

  /** Deliveries that have not started; an estimate while it lags. */
  get unsent(): number {
    return this.#returned.length + this.#ring.length - this.#at + this.#notRead;
  }

  get isFull(): boolean {
    return this.#ring.length - this.#at >= ringMax || this.#ringBytes >= ringBytesMax;
  }

  get isLagging(): boolean {
    return this.#isLagging;
  }

  /** While it lags: the ring holds everything up to here. */
  get readTo(): Position {
    return this.#readTo;
  }

  add(delivery: Delivery): void {
    this.#ring.push(delivery);
    this.#count(delivery.body.length + overheadBytes);
  }

  #count(bytes: number): void {
    this.#ringBytes += bytes;
    this.#bytes.all += bytes;
  }

  /** Stops filling the ring: later entries are read from the outbox. */
  fallBehind(): void {
    this.#isLagging = true;
    this.#readTo = this.#end;
  }

  /** Whether single scans have waited in the ring since before `dueMs`: lists would be faster. */
  isSlowSince(dueMs: number): boolean {
    const next = this.#ring[this.#at];
    const waits =
      next?.outboxRef !== undefined && next.dueMs < dueMs && this.#ring.length - this.#at > 1;
    return waits && next.outboxRef.outbox === 'scans' && next.outboxRef.ref[3] === 'one';
  }

  /** Drops deliveries that have not started; they are read again with the backlog. */
  rewind(): void {
    for (const { eventIds } of this.#ring.slice(this.#at)) this.#notRead += eventIds.length;
    this.free();
    this.fallBehind();
  }

  skip(count: number): void {
    this.#notRead += count;
  }

  /** Notes an added page up to `position` with `count` events. @param routed the end of the backlog */
  read(position: Position, count: number, routed: Position): void {
    this.#readTo = position;
    this.#isLagging = comparePositions(position, routed) < 0;
    this.#notRead = this.#isLagging ? Math.max(0, this.#notRead - count) : 0;
  }

  restore({ to, waiting }: Backlog, open: readonly Delivery[]): void {
    this.#to = to;
    this.#readTo = to;
    this.#isLagging = true;
    this.#notRead = waiting;
    this.#returned = [...open];
  }

  /** Everything up to here has started. */
  get to(): Position {
    return this.#to;
  }

  /** Adds deliveries that the last process had started, up to `position`. */
  reopen(deliveries: readonly Delivery[], position: Position): void {
    this.#returned.push(...deliveries);
    this.#to = position;
    if (comparePositions(this.#readTo, position) < 0) this.#readTo = position;
  }

  /**
   * Puts a delivery in flight in place of the returned ones that it overlaps: the scans of them that it lacks stay returned.
   * @param at reads a delivery @returns whether it overlaps any
   */
  startAgain(delivery: Delivery, at: (ref: DeliveryRef) => Delivery | undefined): boolean {
    if (!this.#returned.some((one) => overlaps(one, delivery))) return false;
    this.#returned = this.#returned.flatMap((one) =>
      overlaps(one, delivery) ? restsOf(one, delivery).flatMap((ref) => at(ref) ?? []) : [one],
    );
    this.#open.add(delivery);
    return true;
  }

  get #end(): Position {
    const last = this.#ring.at(-1)?.outboxRef;
    return last === undefined || this.#at === this.#ring.length
      ? this.#to
      : endOf(this.outbox, last.ref);
  }

  has(end: Position): boolean {
    return comparePositions(end, this.#end) <= 0;
  }

  get first(): Delivery | undefined {
    return this.#returned[0] ?? this.#ring[this.#at];
  }

  /** The delivery that has waited longest for its start; while lagging perhaps the last started one. */
  get oldest(): Delivery | undefined {
    return this.first ?? (this.#isLagging ? this.#started : undefined);
  }

  start(): void {
    const returned = this.#returned.shift();
    const delivery = returned ?? this.#ring[this.#at];
    if (delivery?.outboxRef === undefined) return;
    this.#open.add(delivery);
    this.#started = delivery;
    if (returned !== undefined) return;
    this.#to = endOf(this.outbox, delivery.outboxRef.ref);
    this.#count(-delivery.body.length - overheadBytes);
    this.#at += 1;
    if (this.#at < sliceAt && this.#at < this.#ring.length) return;
    this.#ring = this.#ring.slice(this.#at);
    this.#at = 0;
  }

  giveBack(delivery: Delivery): void {
    if (!this.#open.delete(delivery)) return;
    this.#returned = [...this.#returned, delivery].toSorted(byRef);
  }

  settle(delivery: Delivery): void {
    this.#open.delete(delivery);
  }

  *known(): Generator<Delivery> {
    yield* this.#open;
    yield* this.#returned;
    yield* this.#ring.slice(this.#at);
  }

  /** @param settled by the same transaction @returns undefined if nothing is left to store */
  backlog(routed: Position, settled: ReadonlySet<Delivery>): Backlog | undefined {
    const open = [...this.#open, ...this.#returned].filter((one) => !settled.has(one));
    const isClean = open.length === 0 && this.unsent === 0 && !this.#isLagging;
    if (isClean && comparePositions(this.#to, routed) <= 0) return undefined;
    const refs = open.flatMap(({ outboxRef }) => (outboxRef === undefined ? [] : [outboxRef.ref]));
    return { to: this.#to, open: refs, waiting: this.unsent - this.#returned.length };
  }

  free(): void {
    this.#count(-this.#ringBytes);
    this.#ring = [];
    this.#at = 0;
  }
}

const byRef = ({ outboxRef: one }: Delivery, { outboxRef: other }: Delivery): number =>
  one === undefined || other === undefined
    ? 0
    : one.ref[0] - other.ref[0] || one.ref[1] - other.ref[1];

const overlaps = ({ outboxRef: one }: Delivery, { outboxRef: other }: Delivery): boolean =>
  one !== undefined &&
  other !== undefined &&
  one.ref[0] === other.ref[0] &&
  one.ref[1] <= other.ref[2] &&
  one.ref[2] >= other.ref[1];

/** The parts of a delivery before and after another one, which it overlaps. */
function restsOf({ outboxRef: one }: Delivery, { outboxRef: other }: Delivery): DeliveryRef[] {
  if (one === undefined || other === undefined) return [];
  const [block, first, last, form] = one.ref;
  const rests: DeliveryRef[] = [
    [block, first, other.ref[1] - 1, form],
    [block, other.ref[2] + 1, last, form],
  ];
  return rests.filter(([, from, to]) => from <= to);
}
