/**
 * What is stored of the feeds: how far each outbox was read for all endpoints, and the backlog of each endpoint that has
 * not settled everything up to there. Memory holds what is committed, for `floor`.
 *
 * Where such a record is damaged, the endpoint's log and rows tell what it was sent. First attempts start in the order of
 * the outbox, so what neither has among the newest of them was in flight.
 */
import type { EndpointNo } from '../../model/numbers.ts';
import {
  type Backlog,
  type DeliveryTables,
  type OutboxName,
  outboxNames,
  type Place,
  type Position,
  rowStates,
  stateCodes,
} from '../../store/delivery/delivery.ts';
import { findLogged, logEntries } from '../deliveries/delivery-log.ts';
import { type Delivery, isFromOutbox } from '../deliveries/delivery.ts';
import type { DeliveryStore } from '../deliveries/delivery-store.ts';
import type { Endpoints } from '../endpoints/endpoints.ts';
import { comparePositions, endOf, firstPosition, type OutboxReader } from './outbox-reader.ts';
import type { EndpointRecord } from '../../model/webhook.ts';
import { findRow } from '../deliveries/delivery-transaction.ts';
import type { ScanNumbering } from './scan-numbering.ts';

/** Entries of the log, and rows of each state, that a recovery reads. */
const recoveredMax = 1_000;
/** Of those, how many it finds in the outbox, which may have lost what is old. */
const locatedMax = 16;
/** Readings of an outbox, which bound the time of a start. */
const readingsMax = 64;
const readMax = 1_000;

type StateKey = [endpointNo: EndpointNo, state: number, id: string];

interface Sent {
  readonly id: string;
  readonly eventIds: readonly string[];
}

export type Positions = Readonly<Record<OutboxName, Position>>;
/** An endpoint's backlogs. */
export type StoredBacklog = Readonly<Partial<Record<OutboxName, Backlog>>>;

/** What one transaction writes. */
export interface BacklogChange {
  readonly positions: Positions;
  /** Undefined = the endpoint has settled everything. */
  readonly backlogs: ReadonlyMap<EndpointNo, StoredBacklog | undefined>;
  /** Fresh deliveries that it settles. */
  readonly settled: ReadonlySet<Delivery>;
}

export interface BacklogsOptions {
  readonly store: DeliveryStore;
  readonly endpoints: Endpoints;
  readonly readers: readonly OutboxReader[];
  /** In a cluster. */
  readonly numbering?: ScanNumbering | undefined;
}

export class Backlogs {
  readonly #options: BacklogsOptions;
  readonly #stored = new Map<EndpointNo, StoredBacklog>();
  /** Endpoints whose record is to be written again: it was damaged, or names blocks of another machine. */
  readonly rewritten: EndpointNo[] = [];
  #positions: Positions;
  /** Fresh deliveries that the running transaction settles. */
  #committing: ReadonlySet<Delivery> = new Set();

  constructor(options: BacklogsOptions) {
    this.#options = options;
    const { positions, backlogs } = options.store.tables;
    const positionOf = (name: OutboxName): Position =>
      positions.get(name, () => this.#recovered(name)) ?? firstPosition;
    this.#positions = { events: positionOf('events'), scans: positionOf('scans') };
    for (const { key, value } of backlogs.range({}, (no) => this.#mend(no))) {
      this.#stored.set(key, value);
    }
    if (options.numbering?.isNew === true) this.#renumber(options.numbering);
  }

  /** The first transaction in a cluster writes everything. */
  #renumber(numbering: ScanNumbering): void {
    const { isTakenOver, begin } = numbering;
    if (isTakenOver) this.#positions = { ...this.#positions, scans: begin.position };
    for (const [no, { scans, ...rest }] of this.#stored) {
      if (scans === undefined) continue;
      this.rewritten.push(no);
      const waiting = scans.waiting + scans.open.length;
      const here = { to: begin.to, open: [], waiting };
      if (isTakenOver) this.#stored.set(no, { ...rest, scans: here });
    }
    if (!isTakenOver) numbering.adopt(this.#positions.scans, this.floor('scans'));
  }

  get isNew(): boolean {
    return this.#options.numbering?.isNew === true;
  }

  get isTakenOver(): boolean {
    return this.#options.numbering?.isTakenOver === true;
  }

  get unchanged(): BacklogChange {
    return { positions: this.#positions, backlogs: new Map(), settled: new Set() };
  }

  get positions(): Positions {
    return this.#positions;
  }

  /** Of the endpoints that have one. */
  all(): Iterable<readonly [endpointNo: EndpointNo, backlog: StoredBacklog]> {
    return this.#stored;
  }

  has(endpointNo: EndpointNo): boolean {
    return this.#stored.has(endpointNo);
  }

  isAt(name: OutboxName, position: Position): boolean {
    return comparePositions(position, this.#positions[name]) === 0;
  }

  /** Everything up to here is settled: the outbox may expire it. */
  floor(name: OutboxName): number {
    let [floor] = this.#positions[name];
    for (const { [name]: backlog } of this.#stored.values()) {
      if (backlog === undefined) continue;
      floor = Math.min(floor, backlog.to[0], ...backlog.open.map(([sequence]) => sequence - 1));
    }
    return floor;
  }

  /** Inside a transaction. */
  write({ positions, backlogs, settled }: BacklogChange): void {
    const { tables } = this.#options.store;
    this.#committing = settled;
    for (const name of outboxNames) {
      const isStored = this.isAt(name, positions[name]) && !this.isNew;
      if (!isStored) tables.positions.put(name, positions[name]);
    }
    for (const [no, backlog] of backlogs) {
      if (backlog !== undefined) tables.backlogs.put(no, backlog);
      else if (this.#stored.has(no)) tables.backlogs.remove(no);
    }
    this.#options.numbering?.write({
      position: positions.scans,
      backlogs: new Map(Array.from(backlogs, ([no, backlog]) => [no, backlog?.scans])),
      floor: this.floor('scans'),
    });
  }

  /** Its transaction is committed. */
  committed({ positions, backlogs }: BacklogChange): void {
    this.#options.numbering?.committed();
    this.#positions = positions;
    this.#committing = new Set();
    for (const [no, backlog] of backlogs) {
      if (backlog === undefined) this.#stored.delete(no);
      else this.#stored.set(no, backlog);
    }
  }

  /** Its transaction failed. */
  failed(): void {
    this.#committing = new Set();
  }

  /**
   * A commit is visible in the store a moment before `committed` is called.
   * @returns what the running transaction settles, when it is visible
   */
  settledAlready(): readonly Delivery[] {
    const committing = [...this.#committing];
    const last = committing.at(-1);
    if (last === undefined) return [];
    const { rows, log } = this.#options.store.tables;
    const isShown = rows.has(last.id) || findLogged(log, last.endpointNo, last.id) !== undefined;
    return isShown ? committing : [];
  }

  /** Reconstructs the damaged record of an endpoint. */
  #mend(endpointNo: EndpointNo): void {
    const { store, endpoints, readers } = this.#options;
    const endpoint = endpoints.byNo(endpointNo);
    if (endpoint === undefined) return;
    const backlog: Partial<Record<OutboxName, Backlog>> = {};
    for (const reader of readers) {
      backlog[reader.name] = recoveredBacklog(store.tables, reader, endpoint);
    }
    this.#stored.set(endpointNo, backlog);
    this.rewritten.push(endpointNo);
  }

  /** In the place of a damaged position: the newest that any endpoint was sent. */
  #recovered(name: OutboxName): Position {
    const { store, readers, endpoints } = this.#options;
    const reader = readers.find((one) => one.name === name);
    if (reader === undefined) return firstPosition;
    return endpoints
      .all()
      .map((endpoint) => sentUpTo(store.tables, reader, endpoint))
      .reduce(latest, firstPosition);
  }
}

/** The position behind the newest that an endpoint was sent. */
function sentUpTo(
  tables: DeliveryTables,
  reader: OutboxReader,
  endpoint: EndpointRecord,
): Position {
  return places(reader, endpoint, sentTo(tables, reader, endpoint))
    .map((place) => endOf(reader.name, place))
    .reduce(latest, firstPosition);
}

/** The backlog of an endpoint as its log and rows show it, up to the newest entry that it was sent. */
function recoveredBacklog(
  tables: DeliveryTables,
  reader: OutboxReader,
  endpoint: EndpointRecord,
): Backlog {
  const sent = sentTo(tables, reader, endpoint);
  const to = places(reader, endpoint, sent)
    .map(([sequence]): Position => [sequence, 0])
    .reduce(latest, firstPosition);
  // Others were made by an earlier release, with ids that do not follow from their events.
  const own = sent.filter(({ id, eventIds }) => isFromOutbox(id, eventIds, endpoint.no));
  const oldest = places(reader, endpoint, own.toReversed()).map(([sequence]) => sequence - 1);
  const known = new Set(sent.flatMap(({ eventIds }) => eventIds));
  const open: Place[] = [];
  let position: Position = oldest.length === 0 ? to : [Math.min(...oldest), 0];
  for (let count = 0; comparePositions(position, to) < 0 && count < readingsMax; count++) {
    const stretch = reader.readFor(endpoint, position, { deliveriesMax: readMax, upTo: to });
    for (const { id, eventIds, place } of stretch.created) {
      const isStored = tables.rows.has(id) || findLogged(tables.log, endpoint.no, id) !== undefined;
      const isSent = isStored || eventIds.every((one) => known.has(one));
      if (place !== undefined && !isSent) open.push(place.place);
    }
    position = stretch.position;
  }
  return { to, open, waiting: 0 };
}

/** Newest first. */
function sentTo(
  tables: DeliveryTables,
  { name }: OutboxReader,
  { no }: EndpointRecord,
): readonly Sent[] {
  const sent: Sent[] = [];
  const add = (id: string, kind: string, eventIds: readonly string[]): void => {
    if ((kind === 'qr.scanned') === (name === 'scans')) sent.push({ id, eventIds });
  };
  let count = 0;
  for (const [id, kind, eventIds] of logEntries(tables.log, no)) {
    if (++count > recoveredMax) break;
    add(id, kind, eventIds);
  }
  for (const state of rowStates) {
    const code = stateCodes[state];
    const start: StateKey = [no, code + 1, ''];
    const end: StateKey = [no, code, ''];
    const range = { start, end, reverse: true, limit: recoveredMax };
    for (const [, , id] of tables.states.keys(range)) {
      const row = findRow(tables, id);
      if (row !== undefined) add(id, row.kind, row.eventIds);
    }
  }
  return sent.toSorted((one, other) => (firstOf(one) < firstOf(other) ? 1 : -1));
}

/** Where the newest of them stand in the outbox. */
const places = (
  reader: OutboxReader,
  endpoint: EndpointRecord,
  sent: readonly Sent[],
): readonly Place[] =>
  sent
    .slice(0, locatedMax)
    .map((one) => reader.find(endpoint, firstOf(one))?.place?.place)
    .filter((place) => place !== undefined);

const latest = (one: Position, other: Position): Position =>
  comparePositions(one, other) > 0 ? one : other;

const firstOf = ({ eventIds: [first = ''] }: Sent): string => first;
