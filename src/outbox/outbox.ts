/**
 * The outbox of the management environment: an event is appended in the transaction of the change
 * that caused it, so neither exists without the other. Its body is serialised here, once; every
 * delivery attempt and every list sends these bytes.
 *
 * Consumers read by sequence number (from 1, without gaps, in commit order). Events expire by age,
 * oldest first, and never beyond the cursor of the webhook consumer. A damaged event is passed over by all of them.
 */
import type { Clock } from '../model/clock.ts';
import type { EventData, EventEnvelope, EventKind } from '../model/event.ts';
import { dayMs, isoTime } from '../model/day.ts';
import { type IdSource, idTimeMs } from '../model/ids.ts';
import { firstReached } from '../store/sequence-search.ts';
import type { Management, StoredEvent } from '../store/management/management.ts';
import type { WorkspaceNo } from '../model/numbers.ts';

/** Events older than this expire: a month of history. */
const eventRetentionMs = 30 * dayMs;
/** Events that one transaction expires: about 10 ms of the writer's time. */
const expireBatchMax = 1_000;
/** Processes make ids apart, so that neighbours in the log may be a little out of order. */
const foundWithinMs = 50;
/** Events that looking for one reads. */
const lookedAtMax = 500;

const noWorkspace = 0;
const passOver = (): void => undefined;

export interface OutboxEvent extends StoredEvent {
  readonly sequence: number;
}

export class Outbox {
  readonly #management: Management;
  readonly #ids: IdSource;
  readonly #clock: Clock;

  constructor(management: Management, ids: IdSource, clock: Clock) {
    this.#management = management;
    this.#ids = ids;
    this.#clock = clock;
  }

  /**
   * Appends an event. Only inside the management transaction of its cause.
   * @param createdAtMs of a QR code event: becomes `createdAt` of the envelope
   */
  append(
    kind: EventKind,
    workspaceNo: WorkspaceNo,
    data: EventData,
    createdAtMs?: number,
  ): OutboxEvent {
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
    const sequence = this.#management.next('event');
    this.#management.events.put(sequence, stored);
    this.#management.workspaceEvents.put([workspaceNo, sequence], 1);
    return { sequence, ...stored };
  }

  /** The sequence number of the newest event, 0 when there was none. */
  get lastSequence(): number {
    return this.#management.last('event');
  }

  /**
   * Sequence of the first event at this time or later, by the times in their ids; behind the newest when there is
   * none. Exact while the clock does not step back.
   */
  sequenceAt(timeMs: number): number {
    const { events } = this.#management;
    const [oldest] = events.keys({ limit: 1 });
    const range = { from: oldest ?? 1, to: this.lastSequence + 1 };
    return firstReached(events, range, ({ id }) => idTimeMs(id) >= timeMs);
  }

  /** Sequence of a workspace's event; undefined for an unknown id. */
  find(workspaceNo: WorkspaceNo, id: string): number | undefined {
    const start = this.sequenceAt(idTimeMs(id) - foundWithinMs);
    const range = { start, limit: lookedAtMax };
    for (const { key, value } of this.#management.events.range(range, passOver)) {
      if (value.id === id) return value.workspaceNo === workspaceNo ? key : undefined;
    }
    return undefined;
  }

  /** Events after `sequence`, oldest first. */
  after(sequence: number, limit: number): OutboxEvent[] {
    const found: OutboxEvent[] = [];
    const range = { start: sequence + 1 };
    for (const { key, value } of this.#management.events.range(range, passOver)) {
      found.push({ sequence: key, ...value });
      if (found.length === limit) break;
    }
    return found;
  }

  /** A workspace's events before `beforeSequence` (undefined = from the newest), newest first. */
  newest(
    workspaceNo: WorkspaceNo,
    beforeSequence: number | undefined,
    limit: number,
  ): OutboxEvent[] {
    const keys = this.#management.workspaceEvents.keys({
      start: [workspaceNo, (beforeSequence ?? Number.MAX_SAFE_INTEGER) - 1],
      end: [workspaceNo, 0],
      reverse: true,
      limit,
    });
    const found: OutboxEvent[] = [];
    for (const [, sequence] of keys) {
      const event = this.#management.events.get(sequence, () => undefined);
      if (event !== undefined) found.push({ sequence, ...event });
    }
    return found;
  }

  /**
   * Expires events older than the retention, at most one batch.
   * @param deliveredSequence the webhook consumer's cursor: nothing after it expires
   * @returns how many expired; a full batch means that there may be more
   */
  async expire(deliveredSequence: number): Promise<number> {
    const oldestMs = this.#clock.now() - eventRetentionMs;
    const { environment, events, workspaceEvents } = this.#management;
    return await environment.transaction(() => {
      const keys: Array<[number, number]> = [];
      let expired = 0;
      // Whose it was is not known: its place among the workspace's events leads nowhere.
      const damaged = (key: number): void => void keys.push([noWorkspace, key]);
      for (const { key, value } of events.range({ limit: expireBatchMax }, damaged)) {
        if (key > deliveredSequence) break;
        keys.push([value.workspaceNo, key]);
        // One that is damaged, or dated by a clock that ran ahead, goes with the first one after it that has expired.
        if (value.createdAtMs < oldestMs) expired = keys.length;
      }
      for (const key of keys.slice(0, expired)) {
        events.remove(key[1]);
        workspaceEvents.remove(key);
      }
      return expired;
    });
  }
}
