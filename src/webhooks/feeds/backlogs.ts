/**
 * The stored state of the feeds: a position per outbox, and the backlog of each endpoint that has not settled
 * everything up to it. Memory has the committed state, for `floor`. If a record is damaged, the outbox is read again
 * from an earlier position (sent-events.ts).
 */
import type { EndpointNo } from '../../model/numbers.ts';
import {
  type Backlog,
  type OutboxName,
  outboxNames,
  type Position,
} from '../../store/delivery/delivery.ts';
import { logEntries } from '../deliveries/delivery-log.ts';
import type { DeliveryStore } from '../deliveries/delivery-store.ts';
import type { Endpoints } from '../endpoints/endpoints.ts';
import { comparePositions, firstPosition, type OutboxReader } from './outbox-reader.ts';
import type { EndpointRecord } from '../../model/webhook.ts';
import { SentEvents } from './sent-events.ts';
import { type ScanTakeover, settledTo } from './scan-takeover.ts';

/** Entries of a log that are read, and of those searched in an outbox, which may have expired the oldest. */
const [loggedMax, locatedMax] = [1_000, 16];

export type Positions = Readonly<Record<OutboxName, Position>>;
export type StoredBacklog = Readonly<Partial<Record<OutboxName, Backlog>>>;

interface BacklogChange {
  readonly positions: Positions;
  /** Undefined if the endpoint has settled everything. */
  readonly backlogs: ReadonlyMap<EndpointNo, StoredBacklog | undefined>;
}

export interface BacklogsOptions {
  readonly store: DeliveryStore;
  readonly endpoints: Endpoints;
  readonly readers: readonly OutboxReader[];
  /** Only in a cluster. */
  readonly takeover?: ScanTakeover | undefined;
}

export class Backlogs {
  readonly #options: BacklogsOptions;
  readonly #stored = new Map<EndpointNo, StoredBacklog>();
  /** Endpoints whose record must be rewritten: it was damaged, or names blocks of another machine. */
  readonly rewritten: EndpointNo[] = [];
  #positions: Positions;

  constructor(options: BacklogsOptions) {
    this.#options = options;
    const { store, readers, takeover } = options;
    const { positions, backlogs } = store.tables;
    let isReadAgain = takeover !== undefined;
    const positionOf = (name: OutboxName): Position =>
      positions.get(name, () => {
        isReadAgain = true;
        return this.#newestBegin(name);
      }) ?? firstPosition;
    this.#positions = { events: positionOf('events'), scans: positionOf('scans') };
    const readAgain = (no: EndpointNo): void => {
      isReadAgain = true;
      this.#readAgain(no);
    };
    for (const { key, value } of backlogs.range({}, readAgain)) this.#stored.set(key, value);
    // Last: `#begin` looks for sent events, which the readers leave out from here on.
    const sent = new SentEvents(store.tables);
    if (isReadAgain) for (const reader of readers) reader.sent = sent;
    if (takeover?.isNew === true) this.#takeOver(takeover);
  }

  /** The first transaction writes everything. */
  #takeOver(takeover: ScanTakeover): void {
    const [sequence, entries] = this.#positions.scans;
    const own = takeover.ownBlock(sequence);
    const scans: Position = [own, takeover.isTakenOver ? 0 : entries];
    this.#positions = { ...this.#positions, scans };
    for (const [no, { scans: backlog, ...rest }] of this.#stored) {
      if (backlog === undefined) continue;
      this.rewritten.push(no);
      this.#stored.set(no, { ...rest, scans: takeover.ownBacklog(backlog) });
    }
  }

  get isNew(): boolean {
    return this.#options.takeover?.isNew === true;
  }

  get isTakenOver(): boolean {
    return this.#options.takeover?.isTakenOver === true;
  }

  get unchanged(): BacklogChange {
    return { positions: this.#positions, backlogs: new Map() };
  }

  get positions(): Positions {
    return this.#positions;
  }

  all(): Iterable<readonly [endpointNo: EndpointNo, backlog: StoredBacklog]> {
    return this.#stored;
  }

  has(endpointNo: EndpointNo): boolean {
    return this.#stored.has(endpointNo);
  }

  isAt(name: OutboxName, position: Position): boolean {
    return comparePositions(position, this.#positions[name]) === 0;
  }

  floor(name: OutboxName): number {
    let [floor] = this.#positions[name];
    for (const { [name]: backlog } of this.#stored.values()) {
      if (backlog !== undefined) floor = Math.min(floor, settledTo(backlog));
    }
    return floor;
  }

  write({ positions, backlogs }: BacklogChange): void {
    const { tables } = this.#options.store;
    for (const name of outboxNames) {
      const isStored = this.isAt(name, positions[name]) && !this.isNew;
      if (!isStored) tables.positions.put(name, positions[name]);
    }
    for (const [no, backlog] of backlogs) {
      if (backlog !== undefined) tables.backlogs.put(no, backlog);
      else if (this.#stored.has(no)) tables.backlogs.remove(no);
    }
    if (this.isNew) this.#options.takeover?.write();
  }

  committed({ positions, backlogs }: BacklogChange): void {
    this.#options.takeover?.committed();
    this.#positions = positions;
    for (const [no, backlog] of backlogs) {
      if (backlog === undefined) this.#stored.delete(no);
      else this.#stored.set(no, backlog);
    }
  }

  /** Replaces a damaged record: the endpoint reads both outboxes again from where its log begins. */
  #readAgain(endpointNo: EndpointNo): void {
    const { endpoints, readers } = this.#options;
    const endpoint = endpoints.byNo(endpointNo);
    if (endpoint === undefined) return;
    const backlog: Partial<Record<OutboxName, Backlog>> = {};
    for (const reader of readers) {
      backlog[reader.name] = { to: this.#begin(reader, endpoint), open: [], waiting: 0 };
    }
    this.#stored.set(endpointNo, backlog);
    this.rewritten.push(endpointNo);
  }

  /** Replaces a damaged position by the newest start of any endpoint's log. */
  #newestBegin(name: OutboxName): Position {
    const reader = this.#options.readers.find((one) => one.name === name);
    if (reader === undefined) return firstPosition;
    return this.#options.endpoints
      .all()
      .map((endpoint) => this.#begin(reader, endpoint))
      .reduce((one, other) => (comparePositions(one, other) > 0 ? one : other), firstPosition);
  }

  /** The position from which the endpoint's log is complete. */
  #begin(reader: OutboxReader, endpoint: EndpointRecord): Position {
    const { log } = this.#options.store.tables;
    const logged: string[] = [];
    for (const [, kind, [first = '']] of logEntries(log, endpoint.no)) {
      if ((kind === 'qr.scanned') === (reader.name === 'scans')) logged.push(first);
      if (logged.length === loggedMax) break;
    }
    for (const eventId of logged.toReversed().slice(0, locatedMax)) {
      const ref = reader.find(endpoint, eventId)?.outboxRef?.ref;
      if (ref !== undefined) return [ref[0] - 1, 0];
    }
    return firstPosition;
  }
}
