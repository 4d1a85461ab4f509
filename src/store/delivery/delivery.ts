/**
 * The delivery environment: deliveries to webhook endpoints and everything that schedules them. The control
 * thread is its only writer; its load of puts and deletes stays out of the other files.
 *
 *   meta          "schema" | "next"                                   -> number
 *   cursors       "events" | "blocks"                                 -> [sequence, entries done in the next]
 *   wheel_clock   "now"                                               -> WheelMark
 *   deliveries    deliveryNo                                          -> packed delivery, its exact body in it
 *   queue         [endpointNo, dueMs, deliveryNo]                     -> 1: all that is to be sent, first attempts and retries
 *   wheel         [dueMs / 100, endpointNo]                           -> 1: the endpoint has something due then
 *   log           [endpointNo, state, deliveryNo]                     -> 1: the lists, newest last
 *   ledgers       endpointNo                                          -> EndpointStats
 *   dead          [workspaceNo, deadAtMs, deliveryNo]                 -> endpointNo
 *   expiry        [expiresMs, deliveryNo]                             -> 1: dead and canceled ones, until they expire
 *
 * `dueMs` and `expiresMs` are times of the wheel's clock, which never steps (webhooks/deliveries/wheel-clock.ts);
 * names that end in `AtMs` are wall-clock times. A cursor moves in the transaction that creates the deliveries
 * of its events, so each delivery is created once.
 *
 * A delivery is packed as a list: one put takes 3.2 us, with field names 7.3 us (20,000 of 300 bytes).
 */
import type { EventKind } from '../../model/event.ts';
import { packAttempt, type PackedAttempt, unpackAttempt } from '../../model/attempt-record.ts';
import type { AttemptRecord, DeadReason, DeliveryState } from '../../model/webhook.ts';
import type { OpenMode, StoreEnvironment, Table } from '../environment.ts';
import {
  type EnvironmentVersion,
  openEnvironment,
  checksumsFromHere,
} from '../open-environment.ts';
import type { WheelMs } from '../../model/wheel-time.ts';
import type { DeliveryNo, EndpointNo, WorkspaceNo } from '../../model/numbers.ts';

export interface StoredDelivery {
  readonly endpointNo: EndpointNo;
  readonly workspaceNo: WorkspaceNo;
  readonly kind: EventKind;
  readonly eventIds: readonly string[];
  readonly state: DeliveryState;
  readonly createdAtMs: number;
  /** When it is to be sent, by the wheel's clock; unchanged after it left the queue. */
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
  readonly body: Uint8Array;
}

/** StoredDelivery's fields in this order. */
export type PackedDelivery = readonly [
  endpointNo: EndpointNo,
  workspaceNo: WorkspaceNo,
  kind: EventKind,
  eventIds: readonly string[],
  state: DeliveryState,
  createdAtMs: number,
  dueMs: WheelMs,
  tries: number,
  attemptsMade: number,
  attempts: readonly PackedAttempt[],
  deadAtMs: number,
  deadReason: DeadReason | '',
  expiresMs: WheelMs,
  body: Uint8Array,
];

/** How many deliveries an endpoint has in each state, and how its attempts went. */
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

export type CursorName = 'events' | 'blocks';
export type QueueKey = [endpointNo: EndpointNo, dueMs: number, deliveryNo: DeliveryNo];

export interface DeliveryTables {
  readonly environment: StoreEnvironment;
  readonly meta: Table<string, number>;
  readonly cursors: Table<CursorName, readonly [sequence: number, entries: number]>;
  readonly wheelClock: Table<'now', WheelMark>;
  readonly deliveries: Table<number, PackedDelivery>;
  readonly queue: Table<QueueKey, 1>;
  readonly wheel: Table<[bucket: number, endpointNo: EndpointNo], 1>;
  readonly log: Table<[endpointNo: EndpointNo, state: number, deliveryNo: DeliveryNo], 1>;
  readonly stats: Table<number, EndpointStats>;
  readonly dead: Table<
    [workspaceNo: WorkspaceNo, deadAtMs: number, deliveryNo: DeliveryNo],
    number
  >;
  readonly expiry: Table<[expiresMs: number, deliveryNo: DeliveryNo], 1>;
}

export const deliveryVersion: EnvironmentVersion = {
  version: 2,
  migrations: [checksumsFromHere],
};

/** Opens the environment; refuses data of a newer release. */
export function openDeliveryTables(path: string, mode: OpenMode = 'existing'): DeliveryTables {
  const { environment, meta } = openEnvironment(path, deliveryVersion, mode);
  return {
    environment,
    meta,
    cursors: environment.table('cursors'),
    wheelClock: environment.table('wheel_clock'),
    deliveries: environment.table('deliveries'),
    queue: environment.set('queue'),
    wheel: environment.set('wheel'),
    log: environment.set('log'),
    stats: environment.table('ledgers'),
    dead: environment.table('dead'),
    expiry: environment.set('expiry'),
  };
}

export function packDelivery(delivery: StoredDelivery): PackedDelivery {
  return [
    delivery.endpointNo,
    delivery.workspaceNo,
    delivery.kind,
    delivery.eventIds,
    delivery.state,
    delivery.createdAtMs,
    delivery.dueMs,
    delivery.tries,
    delivery.attemptsMade,
    delivery.attempts.map(packAttempt),
    delivery.deadAtMs,
    delivery.deadReason,
    delivery.expiresMs,
    delivery.body,
  ];
}

export function unpackDelivery([
  endpointNo,
  workspaceNo,
  kind,
  eventIds,
  state,
  createdAtMs,
  dueMs,
  tries,
  attemptsMade,
  attempts,
  deadAtMs,
  deadReason,
  expiresMs,
  body,
]: PackedDelivery): StoredDelivery {
  return {
    endpointNo,
    workspaceNo,
    kind,
    eventIds,
    state,
    createdAtMs,
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
