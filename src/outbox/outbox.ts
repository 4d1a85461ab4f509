/**
 * The outbox of the management environment: an event is appended in the transaction of the change
 * that caused it, so neither exists without the other. Its body is serialised here, once; every
 * delivery attempt and every list sends these bytes.
 *
 * Readers follow by sequence number (from 1, without gaps, in commit order). Events are trimmed by
 * age, oldest first, and never beyond the cursor of whoever still has to deliver them.
 */
import type { Clock } from '../model/clock.ts';
import type { EventData, EventEnvelope, EventKind } from '../model/event.ts';
import { dayMs, isoTime } from '../model/day.ts';
import type { IdSource } from '../model/ids.ts';
import type { Management, StoredEvent } from '../store/management/management.ts';

/** Events older than this are trimmed: a month to look back at. */
const eventRetentionMs = 30 * dayMs;
/** Events one trim transaction removes: about 10 ms of the writer's time. */
const trimBatchMax = 1_000;

export interface OutboxEvent extends StoredEvent {
  readonly sequence: number;
}

export class Outbox {
  readonly #store: Management;
  readonly #ids: IdSource;
  readonly #clock: Clock;

  constructor(store: Management, ids: IdSource, clock: Clock) {
    this.#store = store;
    this.#ids = ids;
    this.#clock = clock;
  }

  /**
   * Appends an event. Only inside the management transaction of its cause.
   * @param createdAtMs of QR code events: goes into the envelope as `createdAt`
   */
  append(kind: EventKind, workspaceNo: number, data: EventData, createdAtMs?: number): OutboxEvent {
    const id = this.#ids.newId('evt');
    const envelope: EventEnvelope = {
      id,
      event: kind,
      ...(createdAtMs === undefined ? {} : { createdAt: isoTime(createdAtMs) }),
      data,
    };
    const stored: StoredEvent = {
      id,
      kind,
      workspaceNo,
      createdAtMs: createdAtMs ?? this.#clock.now(),
      body: JSON.stringify(envelope),
    };
    const sequence = this.#store.next('event');
    this.#store.events.put(sequence, stored);
    this.#store.workspaceEvents.put([workspaceNo, sequence], 1);
    return { sequence, ...stored };
  }

  /** The sequence number of the newest event, 0 when there was none. */
  get lastSequence(): number {
    return this.#store.last('event');
  }

  /** Events after `sequence`, oldest first. */
  after(sequence: number, limit: number): OutboxEvent[] {
    const found: OutboxEvent[] = [];
    for (const { key, value } of this.#store.events.range({ start: sequence + 1, limit })) {
      found.push({ sequence: key, ...value });
    }
    return found;
  }

  /** A workspace's events before `beforeSequence` (undefined = from the newest), newest first. */
  newest(workspaceNo: number, beforeSequence: number | undefined, limit: number): OutboxEvent[] {
    const keys = this.#store.workspaceEvents.keys({
      start: [workspaceNo, (beforeSequence ?? Number.MAX_SAFE_INTEGER) - 1],
      end: [workspaceNo, 0],
      reverse: true,
      limit,
    });
    const found: OutboxEvent[] = [];
    for (const [, sequence] of keys) {
      const event = this.#store.events.get(sequence);
      if (event !== undefined) found.push({ sequence, ...event });
    }
    return found;
  }

  /**
   * Removes events older than the retention, at most one batch.
   * @param deliveredSequence nothing after it is removed: the dispatcher's cursor
   * @returns how many were removed; a full batch means that more may wait
   */
  async trim(
    deliveredSequence = Number.MAX_SAFE_INTEGER,
    batch = trimBatchMax,
    retentionMs = eventRetentionMs,
  ): Promise<number> {
    const oldestMs = this.#clock.now() - retentionMs;
    return await this.#store.environment.transaction(() => {
      const old: Array<[number, number]> = [];
      let expired = 0;
      for (const { key, value } of this.#store.events.range({ limit: batch })) {
        if (key > deliveredSequence) break;
        old.push([value.workspaceNo, key]);
        // An event dated by a clock that ran ahead goes with the first one after it that is expired.
        if (value.createdAtMs < oldestMs) expired = old.length;
      }
      for (const key of old.slice(0, expired)) {
        this.#store.events.remove(key[1]);
        this.#store.workspaceEvents.remove(key);
      }
      return expired;
    });
  }
}
