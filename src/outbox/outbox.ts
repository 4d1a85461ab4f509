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
    return this.#firstReached(({ id }) => idTimeMs(id) >= timeMs);
  }

  #firstReached(isReached: (event: StoredEvent) => boolean): number {
    const { events } = this.#management;
    const [oldest] = events.keys({ limit: 1 });
    return firstReached(events, { from: oldest ?? 1, to: this.lastSequence + 1 }, isReached);
  }

  /** Behind all events of this time; the first ones there may be later ones. */
  sequenceAfter(timeMs: number): number {
    return this.sequenceAt(timeMs + foundWithinMs + 1);
  }

  /** Sequence of a workspace's event; undefined for an unknown id. */
  find(workspaceNo: WorkspaceNo, id: string): number | undefined {
    const sequence = this.#sequenceOf(id);
    const event = sequence === undefined ? undefined : this.get(sequence);
    return event?.workspaceNo === workspaceNo ? sequence : undefined;
  }

  #sequenceOf(id: string): number | undefined {
    const { events } = this.#management;
    // Where one process made them all, they are in order.
    const exact = this.#firstReached((event) => event.id >= id);
    if (this.get(exact)?.id === id) return exact;
    const range = { start: this.sequenceAt(idTimeMs(id) - foundWithinMs), limit: lookedAtMax };
    for (const { key, value } of events.range(range, passOver)) if (value.id === id) return key;
    return undefined;
  }

  /** Events after `sequence`, oldest first. */
  after(sequence: number, limit: number): OutboxEvent[] {
    const { events } = this.#management;
    const found: OutboxEvent[] = [];
    let next: number | undefined = sequence + 1;
    while (next !== undefined && found.length < limit) {
      const event = this.get(next);
      if (event !== undefined) found.push(event);
      // Sequences are dense but for what has expired: getting each costs half of walking.
      [next] = event === undefined ? events.keys({ start: next + 1, limit: 1 }) : [next + 1];
    }
    return found;
  }

  /** Makes the next read see what other threads and processes committed. */
  refresh(): void {
    this.#management.environment.refresh();
  }

  /** Undefined for one that is gone, and for a damaged one. */
  get(sequence: number): OutboxEvent | undefined {
    const event = this.#management.events.get(sequence, passOver);
    return event === undefined ? undefined : { sequence, ...event };
  }

  /** Sequences of a workspace's events after `from` and up to `to`, oldest first. */
  *sequencesOf(workspaceNo: WorkspaceNo, from: number, to: number): Generator<number> {
    const start: [number, number] = [workspaceNo, from + 1];
    const end: [number, number] = [workspaceNo, to + 1];
    for (const [, sequence] of this.#management.workspaceEvents.keys({ start, end }))
      yield sequence;
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
