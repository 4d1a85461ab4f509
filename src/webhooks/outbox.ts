/**
 * The outbox of the management environment: an event is appended in the transaction of the change that caused it, so
 * neither exists without the other. The body is serialized once: every attempt and every list sends these bytes.
 *
 * Consumers read by sequence number (from 1, without gaps, in commit order) and skip a damaged event. Events expire
 * by age, oldest first, and never beyond the cursor of the webhook consumer.
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
/** Processes create ids independently, so neighbors in the log may be slightly out of order. */
const foundWithinMs = 50;
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

  /** Appends an event, inside the management transaction of its cause. @param createdAtMs of a QR code event */
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

  /** First sequence at this time or later, by the ids' times; exact while the clock does not step back. */
  sequenceAt(timeMs: number): number {
    return this.#firstReached(({ id }) => idTimeMs(id) >= timeMs);
  }

  #firstReached(isReached: (event: StoredEvent) => boolean): number {
    const { events } = this.#management;
    const [oldest] = events.keys({ limit: 1 });
    return firstReached(events, { from: oldest ?? 1, to: this.lastSequence + 1 }, isReached);
  }

  /** A sequence after all events of this time; events just after it may be later ones too. */
  sequenceAfter(timeMs: number): number {
    return this.sequenceAt(timeMs + foundWithinMs + 1);
  }

  find(workspaceNo: WorkspaceNo, id: string): number | undefined {
    const sequence = this.#sequenceOf(id);
    const event = sequence === undefined ? undefined : this.get(sequence);
    return event?.workspaceNo === workspaceNo ? sequence : undefined;
  }

  #sequenceOf(id: string): number | undefined {
    const { events } = this.#management;
    // If one process created them all, they are in order.
    const exact = this.#firstReached((event) => event.id >= id);
    if (this.get(exact)?.id === id) return exact;
    const range = { start: this.sequenceAt(idTimeMs(id) - foundWithinMs), limit: lookedAtMax };
    for (const { key, value } of events.range(range, passOver)) if (value.id === id) return key;
    return undefined;
  }

  after(sequence: number, limit: number): OutboxEvent[] {
    const { events } = this.#management;
    const found: OutboxEvent[] = [];
    let next: number | undefined = sequence + 1;
    while (next !== undefined && found.length < limit) {
      const event = this.get(next);
      if (event !== undefined) found.push(event);
      // Only expiry leaves gaps in the sequences: reading each by key costs half of a range scan.
      [next] = event === undefined ? events.keys({ start: next + 1, limit: 1 }) : [next + 1];
    }
    return found;
  }

  refresh(): void {
    this.#management.environment.refresh();
  }

  get(sequence: number): OutboxEvent | undefined {
    const event = this.#management.events.get(sequence, passOver);
    return event === undefined ? undefined : { sequence, ...event };
  }

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
      // Its workspace is unknown, so its key in `workspace_events` stays: it leads nowhere.
      const damaged = (key: number): void => void keys.push([noWorkspace, key]);
      for (const { key, value } of events.range({ limit: expireBatchMax }, damaged)) {
        if (key > deliveredSequence) break;
        keys.push([value.workspaceNo, key]);
        // An event that is damaged, or dated by a fast clock, expires with the first expired event after it.
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
