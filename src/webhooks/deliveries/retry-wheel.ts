/**
 * The retry wheel and its clock: which endpoints have something due, by time. It is stored and read with every tick,
 * so it survives a `kill -9`.
 *
 *   wheel   [bucket, endpointNo]            bucket = dueMs / 100
 *   due     [endpointNo, dueMs, id]         the deliveries
 *
 * Invariant: every entry of `due` has a wheel entry of its endpoint in its own or an earlier bucket. A bucket expires
 * when it has passed; its endpoints become active. The wheel entry that activated an endpoint stays as its pin until
 * nothing in its queue is due, so a crash loses no activation. Later entries of an active endpoint are removed,
 * because the pin covers them: a busy endpoint needs one wheel entry, not one per delivery.
 *
 * `schedule`, `pin`, `expire` and `unschedule` run in a transaction of the delivery environment. Their memory may be
 * ahead of a commit that fails; then an entry is put or read twice, never missed.
 */
import type { DeliveryTables, WheelMark } from '../../store/delivery/delivery.ts';
import { toWheelMs, type WheelMs } from '../../model/wheel-time.ts';
import type { EndpointNo } from '../../model/numbers.ts';
import type { Clock, SteadyClock } from '../../model/clock.ts';

/**
 * The clock of due times. It reads like the wall clock but never steps, so a step of the wall clock neither hastens
 * nor delays a retry. It follows the time since boot, across restarts of the service. After a reboot it continues
 * from the later of the wall clock and its last stored mark, because the time off counts too. Bound: a wall clock
 * that is wrong at boot moves it forward once (retries come early, none is lost), never backward.
 */
export class WheelClock {
  readonly #wall: Clock;
  readonly #steady: SteadyClock;
  readonly #originMs: number;

  /** @param mark the newest stored one; undefined at the first start */
  constructor(wall: Clock, steady: SteadyClock, mark: WheelMark | undefined) {
    this.#wall = wall;
    this.#steady = steady;
    this.#originMs = startMs(wall, steady, mark) - steady.sinceBootMs();
  }

  /** Whole milliseconds, rounded down, so nothing is sent early. */
  now(): WheelMs {
    return toWheelMs(Math.floor(this.#originMs + this.#steady.sinceBootMs()));
  }

  /** Stored regularly: after a reboot the clock continues from the newest. */
  mark(): WheelMark {
    const sinceBootMs = this.#steady.sinceBootMs();
    return { wheelMs: this.#originMs + sinceBootMs, bootId: this.#steady.bootId, sinceBootMs };
  }

  /** Converts a time of this clock to the current wall clock. */
  wallMs(wheelMs: WheelMs): number {
    return wheelMs - this.now() + this.#wall.now();
  }
}

function startMs(wall: Clock, steady: SteadyClock, mark: WheelMark | undefined): number {
  if (mark === undefined) return wall.now();
  if (mark.bootId === steady.bootId && steady.bootId !== '') {
    return mark.wheelMs + Math.max(0, steady.sinceBootMs() - mark.sinceBootMs);
  }
  return Math.max(wall.now(), mark.wheelMs);
}

/** A retry is late by at most this plus a tick: 2 % of the shortest delay (5 s). */
export const bucketMs = 100;

const bucketOf = (timeMs: number): number => Math.floor(timeMs / bucketMs);

export class RetryWheel {
  readonly #tables: DeliveryTables;
  readonly #pins = new Map<number, number>();
  /** The start of the next `expire`: earlier entries are never read again. */
  #next: [bucket: number, endpointNo: EndpointNo] = [0, 0];

  constructor(tables: DeliveryTables) {
    this.#tables = tables;
  }

  /** Adds a queue entry. @returns whether its bucket has expired already: the caller activates the endpoint */
  schedule(endpointNo: EndpointNo, dueMs: WheelMs): boolean {
    const bucket = bucketOf(dueMs);
    if (bucket < this.#next[0] || (bucket === this.#next[0] && this.#next[1] > 0)) {
      this.pin(endpointNo, dueMs);
      return true;
    }
    const { wheel } = this.#tables;
    if (!wheel.has([bucket, endpointNo])) wheel.put([bucket, endpointNo], 1);
    return false;
  }

  /** The same for an entry that is due and whose endpoint is active: one wheel entry, the earliest. */
  pin(endpointNo: EndpointNo, dueMs: WheelMs): void {
    const { wheel } = this.#tables;
    const bucket = bucketOf(dueMs);
    const known = this.#pins.get(endpointNo);
    const isStored = known !== undefined && wheel.has([known, endpointNo]);
    if (isStored && known <= bucket) return;
    if (isStored) wheel.remove([known, endpointNo]);
    this.#pins.set(endpointNo, bucket);
    wheel.put([bucket, endpointNo], 1);
  }

  /** How long the bucket of the first unread entry has passed; 0 = all are read. Needs no transaction. */
  lagMs(nowMs: WheelMs): number {
    for (const [bucket] of this.#tables.wheel.keys({ ...this.#range(nowMs), limit: 1 })) {
      return Math.max(1, nowMs - (bucket + 1) * bucketMs);
    }
    return 0;
  }

  /** Milliseconds until the bucket of an unread entry has passed; Infinity without one. */
  untilDueMs(nowMs: WheelMs): number {
    for (const [bucket] of this.#tables.wheel.keys({ start: [...this.#next], limit: 1 })) {
      return Math.max(0, (bucket + 1) * bucketMs - nowMs);
    }
    return Infinity;
  }

  /** Expires buckets that have passed, at most `limit` entries. @returns the endpoints to activate */
  expire(nowMs: WheelMs, limit: number): Set<number> {
    const { wheel } = this.#tables;
    const found = [...wheel.keys({ ...this.#range(nowMs), limit })];
    const active = new Set<number>();
    for (const [bucket, endpointNo] of found) {
      active.add(endpointNo);
      const pin = this.#pins.get(endpointNo);
      const isPinned = pin !== undefined && wheel.has([pin, endpointNo]);
      if (isPinned && pin < bucket) {
        wheel.remove([bucket, endpointNo]);
        continue;
      }
      if (isPinned && pin > bucket) wheel.remove([pin, endpointNo]);
      this.#pins.set(endpointNo, bucket);
    }
    const last = found.at(-1);
    const isCut = found.length === limit && last !== undefined;
    this.#next = isCut ? [last[0], last[1] + 1] : [bucketOf(nowMs), 0];
    return active;
  }

  /** Removes the pin of an endpoint with nothing due. @returns whether it is inactive until its next bucket expires */
  unschedule(endpointNo: EndpointNo, nowMs: WheelMs): boolean {
    const { due: queue, wheel } = this.#tables;
    const pin = this.#pins.get(endpointNo);
    // The current bucket may contain something that is due in a moment; wait until it has passed.
    if (pin !== undefined && pin >= bucketOf(nowMs)) return false;
    const due = queue.keys({
      start: [endpointNo, 0, ''],
      end: [endpointNo, nowMs + 1, ''],
      limit: 1,
    });
    for (const _ of due) return false;
    if (pin === undefined) return true;
    this.#pins.delete(endpointNo);
    wheel.remove([pin, endpointNo]);
    return true;
  }

  #range(nowMs: WheelMs): { start: [number, number]; end: [number, number] } {
    return { start: [...this.#next], end: [bucketOf(nowMs), 0] };
  }
}
