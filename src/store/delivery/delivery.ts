/**
 * The delivery environment: each endpoint's position in the outboxes, deliveries that wait for another attempt, and
 * the log of delivered ones. The control thread is its only writer.
 *
 *   outbox   ----------------------|=========|---------->     | : read up to here; = : not settled yet
 *                                endpoint   all
 *
 * A delivery that succeeds at its first attempt never has a row: the outbox has it before, memory meanwhile, the log
 * afterward. Only the endpoint's position must survive a crash:
 *
 *   meta          "schema"                                            -> number
 *   positions     "events" | "scans"                                  -> Position: read for all endpoints up to here
 *   backlogs      endpointNo                                          -> Backlog: of an endpoint that has not settled all of that
 *   scan_store    "scans"                                             -> in a cluster: the core whose block numbers both use
 *   scan_marks    [sequence, timeMs]                                  -> BlockMark of that core (store/scans/block-marks.ts)
 *   delivered     [endpointNo, id]                                    -> entry of the log
 *   endpoint_stats  endpointNo                                        -> EndpointStats; an endpoint with any delivery has one
 *
 * Rows are deliveries that wait for a retry, were sent again by hand, are dead or canceled:
 *
 *   rows          id                                                  -> Row, with its exact body
 *   states        [endpointNo, state, id]                             -> 1: the lists
 *   due           [endpointNo, dueMs, id]                             -> 1: pending rows by due time
 *   wheel         [dueMs / 100, endpointNo]                           -> 1: the endpoint has something due then
 *   dead_letters  [workspaceNo, deadAtMs, id]                         -> endpointNo
 *   expiries      [expiresMs, id]                                     -> 1: dead and canceled ones, until they expire
 *   wheel_clock   "now"                                               -> WheelMark
 *
 * `dueMs` and `expiresMs` are times of the wheel's clock, which never steps (webhooks/deliveries/retry-wheel.ts);
 * names that end in `AtMs` are wall-clock times.
 */
import type { BlockMarks } from '../scans/block-marks.ts';
import type { EventKind } from '../../model/event.ts';
import type { EndpointNo, WorkspaceNo } from '../../model/numbers.ts';
import type { AttemptRecord, DeadReason, DeliveryState } from '../../model/webhook.ts';
import type { WheelMs } from '../../model/wheel-time.ts';
import type { OpenMode, StoreEnvironment, Table } from '../environment.ts';
import { type EnvironmentVersion, openEnvironment } from '../open-environment.ts';

/** Stored in keys of `states`: never change them. */
export const stateCodes = { pending: 1, dead: 2, canceled: 3 } as const;
export type RowState = keyof typeof stateCodes;
export const rowStates: readonly RowState[] = ['pending', 'dead', 'canceled'];
export const statsTable = 'endpoint_stats';

export interface DeliveryRecord {
  readonly endpointNo: EndpointNo;
  readonly workspaceNo: WorkspaceNo;
  readonly kind: EventKind;
  readonly eventIds: readonly string[];
  readonly state: DeliveryState;
  /** Due time by the wheel's clock; unchanged after the attempt. */
  readonly dueMs: WheelMs;
  /** Attempts since creation or the last replay: the index into the retry delays. */
  readonly tries: number;
  /** All attempts ever; `attempts` has only the newest. */
  readonly attemptsMade: number;
  /** Oldest first. */
  readonly attempts: readonly AttemptRecord[];
  /** Wall-clock time of death: part of its key in `dead_letters`. */
  readonly deadAtMs: number;
  readonly deadReason: DeadReason | '';
  /** Expiry of a dead or canceled delivery, by the wheel's clock. */
  readonly expiresMs: WheelMs;
  /** JSON text; sent as UTF-8. */
  readonly body: string;
}

export type Row = DeliveryRecord & { readonly state: RowState };

/** An entry of the log. */
export type PackedDelivered = readonly [
  id: string,
  kind: EventKind,
  eventIds: readonly string[],
  attemptsMade: number,
  attempts: readonly AttemptRecord[],
  body: string,
];

/** An endpoint's rows and log entries by state, and its attempts. */
export interface EndpointStats {
  readonly counts: Readonly<Record<DeliveryState, number>>;
  readonly failuresInRow: number;
  /** Wheel time of the first failure since the last success. */
  readonly failingSinceMs?: WheelMs;
  readonly lastSuccessAtMs?: number;
  readonly lastFailureAtMs?: number;
}

/** The wheel's clock continues from here after a restart. */
export interface WheelMark {
  readonly wheelMs: number;
  readonly bootId: string;
  readonly sinceBootMs: number;
}

export type OutboxName = 'events' | 'scans';
export const outboxNames: readonly OutboxName[] = ['events', 'scans'];
/** A position in an outbox: after entry `sequence` and the first `scans` scans of the next entry. */
export type Position = readonly [sequence: number, scans: number];
/** A delivery's source in its outbox: an event, or the scans `first` to `last` of a block. */
export type DeliveryRef = readonly [
  sequence: number,
  first: number,
  last: number,
  form: DeliveryForm,
];
export type DeliveryForm = 'one' | 'list' | 'batch';

export interface Backlog {
  /** Everything up to here was sent at least once, except `open`. */
  readonly to: Position;
  /** In flight at the time of this record. */
  readonly open: readonly DeliveryRef[];
  /** Deliveries after `to`; an estimate for scans in lists. */
  readonly waiting: number;
}

export type DueKey = [endpointNo: EndpointNo, dueMs: number, id: string];

export type LogKey = [endpointNo: EndpointNo, id: string];

/** The only key of `scanStore`. */
export const scanStoreKey = 'scans';

export interface DeliveryTables {
  readonly environment: StoreEnvironment;
  readonly meta: Table<string, number>;
  readonly positions: Table<OutboxName, Position>;
  readonly backlogs: Table<number, Readonly<Partial<Record<OutboxName, Backlog>>>>;
  readonly scanStore: Table<'scans', string>;
  readonly scanMarks: BlockMarks;
  readonly log: Table<LogKey, PackedDelivered>;
  readonly stats: Table<number, EndpointStats>;
  readonly rows: Table<string, Row>;
  readonly states: Table<[endpointNo: EndpointNo, state: number, id: string], 1>;
  readonly due: Table<DueKey, 1>;
  readonly wheel: Table<[bucket: number, endpointNo: EndpointNo], 1>;
  readonly dead: Table<[workspaceNo: WorkspaceNo, deadAtMs: number, id: string], number>;
  readonly expiry: Table<[expiresMs: number, id: string], 1>;
  readonly wheelClock: Table<'now', WheelMark>;
}

export const deliveryVersion: EnvironmentVersion = { version: 1, migrations: [] };

/** @throws Error with a message for the operator if a newer program wrote the data */
export function openDeliveryTables(path: string, mode: OpenMode = 'existing'): DeliveryTables {
  const { environment, meta } = openEnvironment(path, deliveryVersion, mode);
  return deliveryTables(environment, meta);
}

export const deliveryTables = (
  environment: StoreEnvironment,
  meta: Table<string, number>,
): DeliveryTables => ({
  environment,
  meta,
  positions: environment.table('positions'),
  backlogs: environment.table('backlogs'),
  scanStore: environment.table('scan_store'),
  scanMarks: environment.table('scan_marks'),
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
