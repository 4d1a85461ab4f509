/**
 * FairScheduler: who may send now. One lane per endpoint that has work, in memory; what waits is in the queue of
 * the store, so memory holds what is in flight and nothing else.
 *
 *   wake --> ready (nothing in flight) ----+
 *            ready (something in flight) --+--> take from the queue --> flying --> settling --> gone
 *
 *   flying    on the wire; counts against the endpoint's width, and against all
 *   settling  ended, its result not yet committed: still in the queue, so it must not be taken again
 *
 * Fair by construction: an endpoint sends at most `endpointMax` at once, and one after five failures in a
 * row; lanes take turns, those with nothing in flight first; and the last quarter of the whole is for
 * those alone, so endpoints that hang cannot keep a healthy one from its first attempt.
 */

/** After this many failures in a row an endpoint sends one at a time, until a success. */
const failuresMax = 5;
/** Beyond this share of `inFlightMax`, a lane starts one only when it has nothing in flight. */
const crowdedShare = 0.75;

const start: Place = [0, 0];

export interface SchedulerLimits {
  /** Attempts in flight to one endpoint. */
  readonly endpointMax: number;
  /** Attempts in flight to all, and as many that are not settled. */
  readonly inFlightMax: number;
  /** Bytes of bodies in flight or not settled. */
  readonly bytesMax: number;
}

export interface Sendable {
  readonly no: number;
  readonly endpointNo: number;
  readonly body: Uint8Array;
}

/** Where a walk of an endpoint's queue begins. */
export type Place = readonly [dueMs: number, no: number];

export interface Wanted {
  readonly count: number;
  readonly isBusy: (no: number) => boolean;
  readonly from: Place;
}

export interface Taken<D> {
  readonly taken: readonly D[];
  /** Behind what was looked at. */
  readonly next: Place;
}

/** What the lanes ask of the store. */
export interface QueueSource<D extends Sendable> {
  /** Deliveries of an endpoint that are due, oldest due first, but for those that `isBusy`. */
  take(endpointNo: number, wanted: Wanted): Taken<D>;
  failuresInRow(endpointNo: number): number;
}

interface Lane {
  readonly endpointNo: number;
  readonly flying: Set<number>;
  readonly settling: Set<number>;
  /** The queue may hold something due that is not in flight. */
  hasMore: boolean;
  /** Before this there is nothing to take: all that comes there wakes the lane. */
  from: Place;
  failuresInRow: number;
  /** Looks at it without work, in a row. */
  idleLooks: number;
}

export class FairScheduler<D extends Sendable> {
  readonly #limits: SchedulerLimits;
  readonly #source: QueueSource<D>;
  readonly #lanes = new Map<number, Lane>();
  /** FairScheduler that have more and room for it, in turn. */
  readonly #resting = new Set<Lane>();
  readonly #working = new Set<Lane>();
  #flying = 0;
  #settling = 0;
  /** Of what flies and of what is not settled. */
  #bytes = 0;
  #isHeld = false;

  constructor(limits: SchedulerLimits, source: QueueSource<D>) {
    this.#limits = limits;
    this.#source = source;
  }

  /** Attempts in flight now. */
  get flying(): number {
    return this.#flying;
  }

  /** Nothing starts while it is held: results cannot be stored, or the service stops. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
  }

  /** The endpoint's queue may hold something due. */
  wake(endpointNo: number): void {
    this.#wake(this.#lane(endpointNo), start);
  }

  isBusy({ endpointNo, no }: Pick<D, 'endpointNo' | 'no'>): boolean {
    const lane = this.#lanes.get(endpointNo);
    return lane !== undefined && (lane.flying.has(no) || lane.settling.has(no));
  }

  /** Starts a delivery that was just made, straight from memory; else it waits in the queue. */
  offer(delivery: D): boolean {
    const lane = this.#lane(delivery.endpointNo);
    if (lane.flying.has(delivery.no) || lane.settling.has(delivery.no)) return false;
    if (lane.hasMore || !this.#hasRoom() || lane.flying.size >= this.#width(lane)) {
      // The newest of all: it is not before the place of the walk.
      this.#wake(lane, lane.from);
      return false;
    }
    this.#start(lane, delivery);
    return true;
  }

  /** All that may start now, taken from the queue. */
  next(): D[] {
    const started: D[] = [];
    while (this.#hasRoom()) {
      const lane = this.#pick();
      if (lane === undefined) break;
      const free = this.#width(lane) - lane.flying.size;
      if (free <= 0) continue;
      const waiting = this.#resting.size + this.#working.size + 1;
      const share = Math.max(1, Math.floor((this.#limits.inFlightMax - this.#flying) / waiting));
      const count = Math.min(free, share);
      const { taken, next } = this.#source.take(lane.endpointNo, {
        count,
        isBusy: (no) => lane.flying.has(no) || lane.settling.has(no),
        from: lane.from,
      });
      lane.hasMore = taken.length === count;
      lane.from = next;
      for (const delivery of taken) {
        this.#start(lane, delivery);
        started.push(delivery);
      }
      this.#enlist(lane);
    }
    return started;
  }

  /** An attempt ended; until `settled` its delivery is not taken again. */
  ended(delivery: D, outcome: 'succeeded' | 'failed'): void {
    const lane = this.#land(delivery);
    lane.settling.add(delivery.no);
    this.#settling += 1;
    lane.failuresInRow = outcome === 'succeeded' ? 0 : lane.failuresInRow + 1;
    this.#enlist(lane);
  }

  /** Its result is committed. */
  settled({ endpointNo, no, body }: D): void {
    if (this.#lanes.get(endpointNo)?.settling.delete(no) !== true) return;
    this.#settling -= 1;
    this.#bytes -= body.length;
  }

  /** It was not sent after all, as far as anybody knows: it is in the queue as before. */
  undone(delivery: D): void {
    const wasFlying = this.#lanes.get(delivery.endpointNo)?.flying.has(delivery.no) === true;
    if (wasFlying) this.#bytes -= delivery.body.length;
    this.#wake(this.#land(delivery), start);
  }

  /** Endpoints without work for the last `looks` calls. */
  idle(looks: number): number[] {
    const found: number[] = [];
    for (const lane of this.#lanes.values()) {
      lane.idleLooks = isIdle(lane) ? lane.idleLooks + 1 : 0;
      if (lane.idleLooks > looks) found.push(lane.endpointNo);
    }
    return found;
  }

  /** The endpoint sleeps: its lane is forgotten unless it got work meanwhile. */
  rested(endpointNo: number): void {
    const lane = this.#lanes.get(endpointNo);
    if (lane !== undefined && isIdle(lane)) this.#lanes.delete(endpointNo);
  }

  #wake(lane: Lane, from: Place): void {
    lane.hasMore = true;
    lane.from = from;
    this.#enlist(lane);
  }

  #lane(endpointNo: number): Lane {
    let lane = this.#lanes.get(endpointNo);
    if (lane === undefined) {
      lane = {
        endpointNo,
        flying: new Set(),
        settling: new Set(),
        hasMore: false,
        from: start,
        failuresInRow: this.#source.failuresInRow(endpointNo),
        idleLooks: 0,
      };
      this.#lanes.set(endpointNo, lane);
    }
    return lane;
  }

  #start(lane: Lane, { no, body }: D): void {
    lane.flying.add(no);
    this.#flying += 1;
    this.#bytes += body.length;
  }

  #land({ endpointNo, no }: D): Lane {
    const lane = this.#lane(endpointNo);
    if (lane.flying.delete(no)) this.#flying -= 1;
    return lane;
  }

  #enlist(lane: Lane): void {
    if (!lane.hasMore) return;
    this.#resting.delete(lane);
    this.#working.delete(lane);
    if (lane.flying.size === 0) this.#resting.add(lane);
    else if (lane.flying.size < this.#ownWidth(lane)) this.#working.add(lane);
  }

  #pick(): Lane | undefined {
    for (const lanes of [this.#resting, this.#working]) {
      if (lanes === this.#working && this.#isCrowded()) return undefined;
      for (const lane of lanes) {
        lanes.delete(lane);
        return lane;
      }
    }
    return undefined;
  }

  #width(lane: Lane): number {
    return this.#isCrowded() ? 1 : this.#ownWidth(lane);
  }

  #ownWidth({ failuresInRow }: Lane): number {
    return failuresInRow >= failuresMax ? 1 : this.#limits.endpointMax;
  }

  #isCrowded(): boolean {
    return this.#flying >= this.#limits.inFlightMax * crowdedShare;
  }

  #hasRoom(): boolean {
    const { inFlightMax, bytesMax } = this.#limits;
    const isBehind = this.#settling >= inFlightMax;
    return !this.#isHeld && !isBehind && this.#flying < inFlightMax && this.#bytes < bytesMax;
  }
}

const isIdle = ({ hasMore, flying, settling }: Lane): boolean =>
  !hasMore && flying.size === 0 && settling.size === 0;
