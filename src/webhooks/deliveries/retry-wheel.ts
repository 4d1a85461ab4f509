/**
 * The retry wheel: which endpoints have something due, by time. It turns with a tick; what it says is in
 * the store, so it stands where it stood after a `kill -9`.
 *
 *   wheel   [bucket, endpointNo]            bucket = dueMs / 100
 *   queue   [endpointNo, dueMs, delivery]   what exactly
 *
 * The law that keeps a delivery from being forgotten: an entry of the queue has a wheel entry of its
 * endpoint in its own bucket or an earlier one. A bucket is walked when it is wholly past. The entry an
 * endpoint is woken by stays as its anchor until its queue holds nothing that is due, so after a crash
 * the walk from the beginning wakes it again; later entries of an endpoint that is awake are dropped, for
 * the anchor covers them. A busy endpoint therefore costs no wheel entry per delivery, and its wheel
 * entries never pile up.
 *
 * `cover`, `walk` and `rest` are for a transaction of the delivery environment. What they keep in memory
 * may run ahead of a commit that fails; then an entry is put twice or walked twice, never missed.
 */
import type { DeliveryTables } from '../../store/delivery/delivery.ts';

/** A retry leaves at most this and a tick after its time: 2 % of the shortest delay (5 s). */
export const bucketMs = 100;

const bucketOf = (timeMs: number): number => Math.floor(timeMs / bucketMs);

export class RetryWheel {
  readonly #store: DeliveryTables;
  /** Endpoints that are awake, with the bucket of their anchor. */
  readonly #anchors = new Map<number, number>();
  /** Where the next walk begins; an entry of this bucket or an earlier one is nobody's to find. */
  #next: [bucket: number, endpointNo: number] = [0, 0];

  constructor(store: DeliveryTables) {
    this.#store = store;
  }

  /**
   * Keeps a queue entry from being forgotten.
   * @returns whether its endpoint is to be woken now: nobody will walk by and do it
   */
  cover(endpointNo: number, dueMs: number): boolean {
    const bucket = bucketOf(dueMs);
    if (bucket < this.#next[0] || (bucket === this.#next[0] && this.#next[1] > 0)) {
      this.anchor(endpointNo, dueMs);
      return true;
    }
    const { wheel } = this.#store;
    if (!wheel.has([bucket, endpointNo])) wheel.put([bucket, endpointNo], 1);
    return false;
  }

  /** The same for an entry that is due and whose endpoint will be woken: at most one wheel entry for all. */
  anchor(endpointNo: number, dueMs: number): void {
    const { wheel } = this.#store;
    const bucket = bucketOf(dueMs);
    const known = this.#anchors.get(endpointNo);
    const isThere = known !== undefined && wheel.has([known, endpointNo]);
    if (isThere && known <= bucket) return;
    if (isThere) wheel.remove([known, endpointNo]);
    this.#anchors.set(endpointNo, bucket);
    wheel.put([bucket, endpointNo], 1);
  }

  /** How long the first entry that was not walked is wholly past; 0 = none is. Needs no transaction. */
  behindMs(nowMs: number): number {
    for (const [bucket] of this.#store.wheel.keys({ ...this.#range(nowMs), limit: 1 })) {
      return Math.max(1, nowMs - (bucket + 1) * bucketMs);
    }
    return 0;
  }

  /**
   * Walks the buckets that are wholly past, at most `limit` entries.
   * @returns the endpoints to wake
   */
  walk(nowMs: number, limit: number): Set<number> {
    const { wheel } = this.#store;
    const found = [...wheel.keys({ ...this.#range(nowMs), limit })];
    const woken = new Set<number>();
    for (const [bucket, endpointNo] of found) {
      woken.add(endpointNo);
      const anchor = this.#anchors.get(endpointNo);
      const isAwake = anchor !== undefined && wheel.has([anchor, endpointNo]);
      if (isAwake && anchor < bucket) {
        wheel.remove([bucket, endpointNo]);
        continue;
      }
      if (isAwake && anchor > bucket) wheel.remove([anchor, endpointNo]);
      this.#anchors.set(endpointNo, bucket);
    }
    const last = found.at(-1);
    const isCut = found.length === limit && last !== undefined;
    this.#next = isCut ? [last[0], last[1] + 1] : [bucketOf(nowMs), 0];
    return woken;
  }

  /**
   * Lets an endpoint sleep until its next bucket when nothing of it is due.
   * @returns whether it sleeps
   */
  rest(endpointNo: number, nowMs: number): boolean {
    const { queue, wheel } = this.#store;
    const anchor = this.#anchors.get(endpointNo);
    // Its own bucket may hold something that falls due in a moment; it sleeps when that is past.
    if (anchor !== undefined && anchor >= bucketOf(nowMs)) return false;
    const due = queue.keys({
      start: [endpointNo, 0, 0],
      end: [endpointNo, nowMs + 1, 0],
      limit: 1,
    });
    for (const _ of due) return false;
    if (anchor === undefined) return true;
    this.#anchors.delete(endpointNo);
    wheel.remove([anchor, endpointNo]);
    return true;
  }

  #range(nowMs: number): { start: [number, number]; end: [number, number] } {
    return { start: [...this.#next], end: [bucketOf(nowMs), 0] };
  }
}
