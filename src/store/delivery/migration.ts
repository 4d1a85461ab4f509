/**
 * Lifts deliveries from version 2, where each had a row and a number, to version 3, where only exceptions have one.
 *
 *   version 2                                          version 3
 *   cursors     "events" | "blocks"                    positions   "events" | "scans"
 *   deliveries  number -> row, with its state          rows        id -> row; the delivered ones: pages of the log
 *   log         [endpointNo, state, number]            states      [endpointNo, state, id]
 *   queue       [endpointNo, dueMs, number]            due         [endpointNo, dueMs, id]
 *   dead        [workspaceNo, deadAtMs, number]        dead_letters
 *   expiry      [expiresMs, number]                    expiries
 *
 * `copyDeliveries` writes the new tables beside the old ones, some thousand deliveries a transaction, so that a long
 * queue takes no memory; `rowsForExceptions` then clears the old ones, in the transaction of the new version. A process
 * that dies before that, or finds the disk full, leaves version 2 as it was, and the next one begins again. The file needs
 * space for both.
 *
 * `ledgers`, `wheel` and `wheel_clock` stay. A damaged row stays where it is, for `verify` to name; it is not sent.
 */
import type { PackedAttempt } from '../../model/attempt-record.ts';
import type { EventKind } from '../../model/event.ts';
import { positionId } from '../../model/ids.ts';
import type { EndpointNo, WorkspaceNo } from '../../model/numbers.ts';
import type { DeadReason, DeliveryState } from '../../model/webhook.ts';
import type { WheelMs } from '../../model/wheel-time.ts';
import type { StoreEnvironment } from '../environment.ts';
import type { EndpointStats, LogKey, PackedDelivered, PackedRow, Position } from './delivery.ts';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { systemErrorCode } from '../../model/failure.ts';
import {
  isNumbered,
  lineOf,
  type PackedByNumber,
  type PackedResult,
  packedResults,
  resultFiles,
} from './result-journal.ts';

type RowOfVersion2 = readonly [
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

type NumberKey = [number, number, number];
type Numbered = readonly [id: string, no: number];

const stateCodes = { pending: 1, delivered: 2, dead: 3, canceled: 4 } as const;
const deliveryStates = ['pending', 'delivered', 'dead', 'canceled'] as const;
const newTables = ['rows', 'states', 'due', 'dead_letters', 'expiries', 'delivered', 'unread'];
const olderTables = ['cursors', 'log', 'queue', 'dead', 'expiry'];
/** Its damaged rows stay in it. */
export const olderRows = 'deliveries';
/** Deliveries of one transaction: some MB. */
const copiedMax = 2_000;
/** Deliveries between two calls of `onCopied`: about 2 s. */
const reportedMin = 100_000;
/** Log entries of a page. */
const pageEntries = 16;
/** A number had 52 bits of the id. */
const numberUnit = 2 ** 40;

/**
 * Writes the tables of version 3, in transactions of its own; what an earlier try wrote is deleted first.
 * @param onCopied is called with the number of deliveries so far: now and then, and with all of them
 */
export function copyDeliveries(
  environment: StoreEnvironment,
  onCopied: (deliveries: number) => void,
): void {
  environment.transactionSync(() => {
    for (const name of newTables) environment.clear(name);
  });
  const log = environment.set<NumberKey>('log');
  const copy = new DeliveryCopy(environment);
  let start: NumberKey = [0, 0, 0];
  for (let copied = 0; ;) {
    const keys = [...log.keys({ start, limit: copiedMax })];
    const last = keys.at(-1);
    environment.transactionSync(() => {
      for (const key of keys) copy.add(key);
      if (last === undefined) copy.writeDelivered();
    });
    copied += keys.length;
    if (last === undefined || copied % reportedMin < keys.length) onCopied(copied);
    if (last === undefined) break;
    start = [last[0], last[1], last[2] + 1];
  }
  nameResults(environment.path, copy.names);
}

class DeliveryCopy {
  /** Deliveries that the result journal has results of, by their numbers. */
  readonly names = new Map<number, readonly [id: string, endpointNo: EndpointNo]>();
  readonly #wanted: ReadonlySet<number>;
  /** Of `#deliveredTo`: their ids alone, since a person chooses how many are kept. */
  #delivered: Numbered[] = [];
  #deliveredTo: EndpointNo = 0;
  readonly #tables;

  constructor(environment: StoreEnvironment) {
    this.#wanted = numberedResults(environment.path);
    this.#tables = {
      older: environment.table<number, RowOfVersion2>(olderRows),
      unread: environment.set<NumberKey>('unread'),
      rows: environment.table<string, PackedRow>('rows'),
      states: environment.set<[number, number, string]>('states'),
      due: environment.set<[number, number, string]>('due'),
      dead: environment.table<[number, number, string], number>('dead_letters'),
      expiries: environment.set<[number, string]>('expiries'),
      pages: environment.table<LogKey, PackedDelivered[]>('delivered'),
    };
  }

  add(key: NumberKey): void {
    const { older, unread } = this.#tables;
    const [endpointNo, , no] = key;
    const row = older.get(no, () => undefined);
    if (row === undefined) unread.put(key, 1);
    else {
      const id = idOf(row, no);
      if (this.#wanted.has(no)) this.names.set(no, [id, endpointNo]);
      if (row[4] === 'delivered') this.#addDelivered(endpointNo, [id, no]);
      else this.#addRow(id, row);
    }
  }

  /** One that waits, is dead or canceled. */
  #addRow(id: string, row: RowOfVersion2): void {
    const { rows, states, due, dead, expiries } = this.#tables;
    const [endpointNo, workspaceNo, kind, eventIds, state, , dueMs, ...more] = row;
    if (state === 'delivered') return;
    const [tries, attemptsMade, attempts, deadAtMs, deadReason, expiresMs, body] = more;
    const sent = [tries, attemptsMade, attempts, deadAtMs, deadReason, expiresMs] as const;
    rows.put(id, [endpointNo, workspaceNo, kind, eventIds, state, dueMs, ...sent, textOf(body)]);
    states.put([endpointNo, stateCodes[state], id], 1);
    if (state === 'pending') due.put([endpointNo, dueMs, id], 1);
    else expiries.put([expiresMs, id], 1);
    if (state === 'dead') dead.put([workspaceNo, deadAtMs, id], endpointNo);
  }

  #addDelivered(endpointNo: EndpointNo, numbered: Numbered): void {
    if (endpointNo !== this.#deliveredTo) this.writeDelivered();
    this.#deliveredTo = endpointNo;
    this.#delivered.push(numbered);
  }

  /** Writes the pages of an endpoint's log. */
  writeDelivered(): void {
    const { older, pages } = this.#tables;
    const sorted = this.#delivered.splice(0).toSorted(([one], [other]) => (one < other ? -1 : 1));
    for (let at = 0; at < sorted.length; at += pageEntries) {
      const page = sorted.slice(at, at + pageEntries).flatMap(([id, no]): PackedDelivered[] => {
        const row = older.get(no, () => undefined);
        return row === undefined ? [] : [[id, row[2], row[3], row[8], row[9], textOf(row[13])]];
      });
      const [first, last] = [page[0], page.at(-1)];
      if (first && last) {
        pages.put([this.#deliveredTo, first[0], last[0], page.length], page);
      }
    }
  }
}

/** The number was the lower part of the id. */
const idOf = (row: RowOfVersion2, no: number): string =>
  positionId('dlv', row[5], Math.floor(no / numberUnit), no % numberUnit);

const textOf = (body: Uint8Array): string => Buffer.from(body).toString('utf8');

/** Makes the tables that `copyDeliveries` wrote the ones that are used. */
export function rowsForExceptions(environment: StoreEnvironment): void {
  movePositions(environment);
  const unread = [...environment.set<NumberKey>('unread').keys({})];
  for (const key of unread) countNoMore(environment, key);
  environment.clear(
    olderRows,
    unread.map(([, , no]) => no),
  );
  for (const name of [...olderTables, 'unread']) environment.clear(name);
}

function movePositions(environment: StoreEnvironment): void {
  const cursors = environment.table<string, Position>('cursors');
  const positions = environment.table<string, Position>('positions');
  for (const [before, after] of [
    ['events', 'events'],
    ['blocks', 'scans'],
  ] as const) {
    const position = cursors.get(before, () => undefined);
    if (position !== undefined) positions.put(after, position);
  }
}

function countNoMore(environment: StoreEnvironment, [endpointNo, code]: NumberKey): void {
  const table = environment.table<number, EndpointStats>('ledgers');
  const stats = table.get(endpointNo, () => undefined);
  const state = deliveryStates.find((one) => stateCodes[one] === code);
  if (stats === undefined || state === undefined) return;
  const counts = { ...stats.counts, [state]: Math.max(0, stats.counts[state] - 1) };
  table.put(endpointNo, { ...stats, counts });
}

type Names = ReadonlyMap<number, readonly [id: string, endpointNo: EndpointNo]>;

/**
 * Results that a process of version 2 had not committed when it was killed name deliveries by numbers. Named by ids they
 * are committed by the next start, like those of version 3; else what was answered would be sent again.
 * @param path of the delivery store's file
 * @returns the numbers of their deliveries
 */
function numberedResults(path: string): ReadonlySet<number> {
  const results = resultFiles(path).flatMap((file) => linesOf(file).flat());
  return new Set(results.flatMap((result) => (isNumbered(result) ? [result[0]] : [])));
}

/** Puts ids in the place of the numbers; doing it again changes nothing. @throws Error of the system when the disk is full */
function nameResults(path: string, names: Names): void {
  for (const file of resultFiles(path)) {
    const lines = linesOf(file);
    if (!lines.flat().some(isNumbered)) continue;
    const named = lines.map((results) => results.flatMap((result) => nameOf(result, names)));
    const written = `${file}.new`;
    writeFileSync(written, named.map(lineOf).join(''), { mode: 0o600 });
    renameSync(written, file);
  }
}

function nameOf(result: PackedResult | PackedByNumber, names: Names): PackedResult[] {
  if (!isNumbered(result)) return [result];
  const [no, ...rest] = result;
  const name = names.get(no);
  return name === undefined ? [] : [[...name, '', 0, ...rest]];
}

/** None where there is no file. */
function linesOf(file: string): ReadonlyArray<ReadonlyArray<PackedResult | PackedByNumber>> {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line) => {
        const results = packedResults(line);
        return results === undefined ? [] : [results];
      });
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return [];
    throw error;
  }
}
