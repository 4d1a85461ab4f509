/**
 * The delivery environment: how far each endpoint has got in the outboxes, what waits for another attempt, and what
 * was sent. The control thread is its only writer.
 *
 *   outbox   ----------------------|=========|---------->     | : how far it was read; = : not settled yet
 *                                endpoint   all
 *
 * A delivery that succeeds at its first attempt has no row: it is in the outbox before and in the log afterwards, and
 * between them stands in memory. What must outlive a crash is where its endpoint stands:
 *
 *   meta          "schema"                                            -> number
 *   positions     "events" | "scans"                                  -> Position: read for all endpoints up to here
 *   backlogs      endpointNo                                          -> Backlog: of an endpoint that has not settled all of that
 *   delivered     [endpointNo, first id, last id, entries]            -> page of the log, ascending by id
 *   stats         endpointNo                                          -> EndpointStats; named `ledgers` on disk
 *
 * Rows are what the outbox and the log do not tell: deliveries that wait for a retry, were sent again by hand, are dead or canceled.
 *
 *   rows          id                                                  -> packed delivery, its exact body in it
 *   states        [endpointNo, state, id]                             -> 1: the lists
 *   due           [endpointNo, dueMs, id]                             -> 1: those that wait, by when they are sent
 *   wheel         [dueMs / 100, endpointNo]                           -> 1: the endpoint has something due then
 *   dead_letters  [workspaceNo, deadAtMs, id]                         -> endpointNo
 *   expiries      [expiresMs, id]                                     -> 1: dead and canceled ones, until they expire
 *   wheel_clock   "now"                                               -> WheelMark
 *
 * `dueMs` and `expiresMs` are times of the wheel's clock, which never steps (webhooks/deliveries/retry-wheel.ts);
 * names that end in `AtMs` are wall-clock times.
 */
import type { EventKind } from '../../model/event.ts';
import { packAttempt, type PackedAttempt, unpackAttempt } from '../../model/attempt-record.ts';
import type { EndpointNo, WorkspaceNo } from '../../model/numbers.ts';
import type { AttemptRecord, DeadReason, DeliveryState } from '../../model/webhook.ts';
import type { WheelMs } from '../../model/wheel-time.ts';
import type { StoreEnvironment, Table } from '../environment.ts';

/** Stored in keys of `states`: never change them. 2 was `delivered` until version 2. */
export const stateCodes = { pending: 1, dead: 3, canceled: 4 } as const;
/** States that have rows. */
export type RowState = keyof typeof stateCodes;
export const rowStates: readonly RowState[] = ['pending', 'dead', 'canceled'];
/** On disk; an endpoint that has any delivery has a record in it. */
export const statsTable = 'ledgers';

/** What is sent to an endpoint, and how its attempts went. */
export interface DeliveryRecord {
  readonly endpointNo: EndpointNo;
  readonly workspaceNo: WorkspaceNo;
  readonly kind: EventKind;
  readonly eventIds: readonly string[];
  readonly state: DeliveryState;
  /** When it is to be sent, by the wheel's clock; unchanged after it was. */
  readonly dueMs: WheelMs;
  /** Attempts since it was created or last replayed: the index into the retry delays. */
  readonly tries: number;
  /** All attempts ever; `attempts` holds only the newest. */
  readonly attemptsMade: number;
  /** Oldest first. */
  readonly attempts: readonly AttemptRecord[];
  /** Dead ones: the key among the dead letters. */
  readonly deadAtMs: number;
  readonly deadReason: DeadReason | '';
  /** Dead and canceled ones, by the wheel's clock. */
  readonly expiresMs: WheelMs;
  /** JSON text: its UTF-8 is sent. */
  readonly body: string;
}

/** A row: DeliveryRecord's fields in this order. */
export type PackedRow = readonly [
  endpointNo: EndpointNo,
  workspaceNo: WorkspaceNo,
  kind: EventKind,
  eventIds: readonly string[],
  state: RowState,
  dueMs: WheelMs,
  tries: number,
  attemptsMade: number,
  attempts: readonly PackedAttempt[],
  deadAtMs: number,
  deadReason: DeadReason | '',
  expiresMs: WheelMs,
  body: string,
];

/** A delivered one in the log. */
export type PackedDelivered = readonly [
  id: string,
  kind: EventKind,
  eventIds: readonly string[],
  attemptsMade: number,
  attempts: readonly PackedAttempt[],
  body: string,
];

/** How many rows an endpoint has in each state, and log entries, and how its attempts went. */
export interface EndpointStats {
  readonly counts: Readonly<Record<DeliveryState, number>>;
  readonly failuresInRow: number;
  /** Wheel time of the first failure since the last success. */
  readonly failingSinceMs?: WheelMs;
  readonly lastSuccessAtMs?: number;
  readonly lastFailureAtMs?: number;
}

/** Where the wheel's clock continues after a restart. */
export interface WheelMark {
  readonly wheelMs: number;
  readonly bootId: string;
  readonly sinceBootMs: number;
}

export type OutboxName = 'events' | 'scans';
export const outboxNames: readonly OutboxName[] = ['events', 'scans'];
/** In an outbox: everything up to entry `sequence` lies before it, and so many scans of the one after it. */
export type Position = readonly [sequence: number, scans: number];
/** Of a delivery in its outbox: an event, or the scans `first` to `last` of a block. */
export type Place = readonly [sequence: number, first: number, last: number, form: PlaceForm];
export type PlaceForm = 'one' | 'list' | 'batch';

/** What an endpoint has not settled of an outbox. */
export interface Backlog {
  /** Everything up to here was sent at least once, but for `open`. */
  readonly to: Position;
  /** In flight when this was written. */
  readonly open: readonly Place[];
  /** How many deliveries came after `to`; about, where scans are sent in lists. */
  readonly waiting: number;
}

export type DueKey = [endpointNo: EndpointNo, dueMs: number, id: string];

/** Of a page of the log. */
export type LogKey = [endpointNo: EndpointNo, firstId: string, lastId: string, entries: number];

export interface DeliveryTables {
  readonly environment: StoreEnvironment;
  readonly meta: Table<string, number>;
  readonly positions: Table<OutboxName, Position>;
  readonly backlogs: Table<number, Readonly<Partial<Record<OutboxName, Backlog>>>>;
  readonly log: Table<LogKey, readonly PackedDelivered[]>;
  readonly stats: Table<number, EndpointStats>;
  readonly rows: Table<string, PackedRow>;
  readonly states: Table<[endpointNo: EndpointNo, state: number, id: string], 1>;
  readonly due: Table<DueKey, 1>;
  readonly wheel: Table<[bucket: number, endpointNo: EndpointNo], 1>;
  readonly dead: Table<[workspaceNo: WorkspaceNo, deadAtMs: number, id: string], number>;
  readonly expiry: Table<[expiresMs: number, id: string], 1>;
  readonly wheelClock: Table<'now', WheelMark>;
}

/** Of an open environment. */
export const deliveryTables = (
  environment: StoreEnvironment,
  meta: Table<string, number>,
): DeliveryTables => ({
  environment,
  meta,
  positions: environment.table('positions'),
  backlogs: environment.table('backlogs'),
  log: environment.table('delivered'),
  stats: environment.table(statsTable),
  rows: environment.table('rows'),
  states: environment.set('states'),
  due: environment.set('due'),
  wheel: environment.set('wheel'),
  dead: environment.table('dead_letters'),
  expiry: environment.set('expiries'),
  wheelClock: environment.table('wheel_clock'),
});

export function packRow(record: DeliveryRecord & { readonly state: RowState }): PackedRow {
  return [
    record.endpointNo,
    record.workspaceNo,
    record.kind,
    record.eventIds,
    record.state,
    record.dueMs,
    record.tries,
    record.attemptsMade,
    record.attempts.map(packAttempt),
    record.deadAtMs,
    record.deadReason,
    record.expiresMs,
    record.body,
  ];
}

export function unpackRow([
  endpointNo,
  workspaceNo,
  kind,
  eventIds,
  state,
  dueMs,
  tries,
  attemptsMade,
  attempts,
  deadAtMs,
  deadReason,
  expiresMs,
  body,
]: PackedRow): DeliveryRecord {
  return {
    endpointNo,
    workspaceNo,
    kind,
    eventIds,
    state,
    dueMs,
    tries,
    attemptsMade,
    attempts: attempts.map(unpackAttempt),
    deadAtMs,
    deadReason,
    expiresMs,
    body,
  };
}
