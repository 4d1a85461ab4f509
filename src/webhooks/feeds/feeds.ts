/**
 * The feeds of all endpoints, and the positions of the outboxes.
 *
 *   outbox --- read once ---> router --> feed of each endpoint that listens --> delivery queue
 *      ^------ its backlog, in pages ------------ feed that lags
 *
 * Stored are one position per outbox, and a backlog for each endpoint that has not settled everything up to it. Both
 * are written in the transaction of the results, so after a crash exactly the unsettled deliveries are sent again.
 */
import pLimit from 'p-limit';
import { idTimeMs, sourceId } from '../../model/ids.ts';
import type { EndpointNo } from '../../model/numbers.ts';
import type { EndpointRecord } from '../../model/webhook.ts';
import {
  type Backlog,
  type OutboxName,
  outboxNames,
  type Position,
} from '../../store/delivery/delivery.ts';
import { type Delivery, newestFirst, type OutboxRef } from '../deliveries/delivery.ts';
import type { DeliveryStore } from '../deliveries/delivery-store.ts';
import type { DeliveryTransaction } from '../deliveries/delivery-transaction.ts';
import type { Endpoints } from '../endpoints/endpoints.ts';
import { Backlogs, type BacklogsOptions, type Positions, type StoredBacklog } from './backlogs.ts';
import { Feed, type RingBytes } from './feed.ts';
import { isFor } from '../endpoints/endpoint-index.ts';
import { type ListenersOf, comparePositions, endOf, type OutboxReader } from './outbox-reader.ts';

/** Deliveries of one read: bounds the time that it blocks the control thread. */
const routedMax = 1_000;
/** Single deliveries, or lists, that a lagging endpoint reads at once. */
const [pageMax, listsMax] = [128, 32];
/** Scans that wait longer are sent in lists. */
const slowMs = 1_000;
/** Empty pages in a row; after them it continues a second later. */
const pagesMax = 8;
/** Bytes in all rings; above this an endpoint falls behind at its next delivery. */
const allBytesMax = 33_554_432;

type FeedPair = Partial<Record<OutboxName, Feed>>;

const countOf = ({ events, scans }: FeedPair): number => (events?.count ?? 0) + (scans?.count ?? 0);

interface FeedsOptions extends BacklogsOptions {
  /** Called with endpoints that got work. */
  readonly onWork: (endpointNos: Iterable<EndpointNo>) => void;
}

export class Feeds {
  readonly #store: DeliveryStore;
  readonly #endpoints: Endpoints;
  readonly #readers: readonly OutboxReader[];
  readonly #feeds = new Map<number, FeedPair>();
  readonly #bytes: RingBytes = { all: 0 };
  readonly #backlogs: Backlogs;
  readonly #routed: Record<OutboxName, Position>;
  readonly #oneByOne = pLimit(1);
  /** Endpoints whose oldest deliveries are being moved to rows: newer ones wait. */
  readonly #moving = new Set<EndpointNo>();
  readonly #changed = new Set<EndpointNo>();
  #committing: ReadonlySet<Delivery> = new Set();
  readonly #onWork: FeedsOptions['onWork'];

  constructor(options: FeedsOptions) {
    const { store, endpoints, readers } = options;
    this.#onWork = options.onWork;
    this.#store = store;
    this.#endpoints = endpoints;
    this.#readers = readers;
    this.#backlogs = new Backlogs(options);
    this.#routed = { ...this.#backlogs.positions };
    for (const [no, stored] of this.#backlogs.all()) this.#load(no, stored);
    for (const no of this.#backlogs.rewritten) this.#changed.add(no);
  }

  /** Whether another machine has led since this one: the deliveries that it had in flight are sent again. */
  get isTakenOver(): boolean {
    return this.#backlogs.isTakenOver;
  }

  withWork(): EndpointNo[] {
    const hasWork = (feed: Feed | undefined): boolean =>
      feed !== undefined && (feed.unsent > 0 || feed.isLagging);
    return Array.from(this.#feeds)
      .filter(([, pair]) => outboxNames.some((name) => hasWork(pair[name])))
      .map(([no]) => no);
  }

  unreadCount(name: OutboxName): number {
    const reader = this.#readers.find((one) => one.name === name);
    return reader === undefined ? 0 : Math.max(0, reader.newest - this.#routed[name][0]);
  }

  /** Reads the next entries of an outbox for all endpoints. @returns whether more follow */
  route(reader: OutboxReader): boolean {
    const { name } = reader;
    const endpoints = this.#endpoints;
    if (!(name === 'scans' ? endpoints.isAnyFor('qr.scanned') : endpoints.isAny)) {
      this.#routed[name] = [Math.max(reader.newest, this.#routed[name][0]), 0];
      return false;
    }
    const ready = new Set<EndpointNo>();
    const listenersOf = this.#listenersIn(name);
    const from = this.#routed[name];
    const { created, position, hasMore } = reader.read(from, listenersOf, {
      deliveriesMax: routedMax,
    });
    for (const delivery of created) {
      if (this.#enqueue(name, delivery, from)) ready.add(delivery.endpointNo);
    }
    this.#routed[name] = position;
    if (ready.size > 0) this.#onWork(ready);
    return hasMore;
  }

  /** An endpoint's next fresh delivery: the older of both outboxes. */
  first(endpointNo: EndpointNo): Delivery | undefined {
    const pair = this.#feeds.get(endpointNo);
    if (pair === undefined || this.#moving.has(endpointNo)) return undefined;
    this.#fill(endpointNo, pair);
    const [event, scan] = [pair.events?.first, pair.scans?.first];
    if (event === undefined || scan === undefined) return event ?? scan;
    return event.dueMs <= scan.dueMs ? event : scan;
  }

  start(delivery: Delivery): void {
    this.#feedOf(delivery)?.start();
    this.#changed.add(delivery.endpointNo);
  }

  /**
   * Settles an endpoint's oldest deliveries without sending them: `work` creates their rows.
   * @param isWanted stops before the first delivery that is not wanted @returns how many moved
   */
  async moveToRows(
    endpointNo: EndpointNo,
    limit: number,
    work: (tx: DeliveryTransaction, delivery: Delivery) => void,
    isWanted: (delivery: Delivery) => boolean = () => true,
  ): Promise<number> {
    const taken: Delivery[] = [];
    while (taken.length < limit) {
      const next = this.first(endpointNo);
      if (next === undefined || !isWanted(next)) break;
      this.start(next);
      taken.push(next);
    }
    if (taken.length === 0) return 0;
    this.#moving.add(endpointNo);
    try {
      await this.transaction(taken, (tx) => {
        for (const delivery of taken) work(tx, delivery);
      });
    } catch (error) {
      for (const delivery of taken) this.giveBack(delivery);
      throw error;
    } finally {
      this.#moving.delete(endpointNo);
      this.#onWork([endpointNo]);
    }
    return taken.length;
  }

  giveBack(delivery: Delivery): void {
    this.#feedOf(delivery)?.giveBack(delivery);
  }

  #feedOf({ endpointNo, outboxRef }: Delivery): Feed | undefined {
    return outboxRef && this.#feeds.get(endpointNo)?.[outboxRef.outbox];
  }

  /** Settles `settled` and stores their endpoints' positions. One at a time: each starts from the previous commit. */
  async transaction<T>(
    settled: readonly Delivery[],
    work: (tx: DeliveryTransaction) => T,
  ): Promise<T> {
    return await this.#oneByOne(async () => {
      const changed = new Set<EndpointNo>();
      let change = this.#backlogs.unchanged;
      try {
        const result = await this.#store.transaction((tx) => {
          for (const no of this.#changed) changed.add(no);
          this.#changed.clear();
          for (const { endpointNo } of settled) changed.add(endpointNo);
          const of = new Set(settled.filter(({ outboxRef }) => outboxRef !== undefined));
          this.#committing = of;
          const backlogs = Array.from(changed, (no) => [no, this.#backlogOf(no, of)] as const);
          change = { positions: { ...this.#routed }, backlogs: new Map(backlogs) };
          this.#backlogs.write(change);
          return work(tx);
        });
        this.#backlogs.committed(change);
        for (const [no, backlog] of change.backlogs)
          if (isAhead(backlog, change.positions)) this.#changed.add(no);
        for (const delivery of settled) this.#feedOf(delivery)?.settle(delivery);
        for (const no of changed) this.#freeSettled(no);
        return result;
      } catch (error) {
        for (const no of changed) this.#changed.add(no);
        throw error;
      } finally {
        this.#committing = new Set();
      }
    });
  }

  /** The deliveries of a commit that readers see already and `transaction` has not noted yet. */
  #stored(): ReadonlySet<Delivery> {
    const last = [...this.#committing].at(-1);
    const { rows, log } = this.#store.tables;
    const isStored = last && (rows.has(last.id) || log.has([last.endpointNo, last.id]));
    return isStored === true ? this.#committing : new Set();
  }

  /** Frees the memory of an endpoint that has settled everything or is deleted. */
  #freeSettled(endpointNo: EndpointNo): void {
    if (this.#backlogs.has(endpointNo) || this.#changed.has(endpointNo)) return;
    if (this.#backlogOf(endpointNo, new Set()) === undefined) this.#feeds.delete(endpointNo);
  }

  /** Everything up to here is settled: the outbox may expire it. */
  floor(name: OutboxName): number {
    return this.#backlogs.floor(name);
  }

  async save(): Promise<void> {
    const isAt = (name: OutboxName): boolean => this.#backlogs.isAt(name, this.#routed[name]);
    if (this.#changed.size === 0 && outboxNames.every(isAt) && !this.#backlogs.isNew) return;
    await this.transaction([], () => undefined);
  }

  /** Unsettled deliveries of an endpoint; an estimate if it lags. */
  count(endpointNo: EndpointNo): number {
    const stored = [...this.#stored()].filter((one) => one.endpointNo === endpointNo).length;
    return countOf(this.#feeds.get(endpointNo) ?? {}) - stored;
  }

  get total(): number {
    return [...this.#feeds.values()].reduce((sum, pair) => sum + countOf(pair), 0);
  }

  /** The age of the oldest event without a first attempt, for each endpoint that has one. */
  *waiting(): Generator<readonly [endpointNo: EndpointNo, ageMs: number]> {
    const nowMs = this.#store.wheelClock.wallMs(this.#store.wheelClock.now());
    for (const [no, pair] of this.#feeds) {
      const ids = outboxNames.flatMap((name) => pair[name]?.oldest?.id ?? []);
      if (ids.length > 0) yield [no, Math.max(0, nowMs - Math.min(...ids.map(idTimeMs)))];
    }
  }

  /** An endpoint's unsettled deliveries, newest first, with ids below `beforeId`. */
  newest(endpoint: EndpointRecord, beforeId: string, limit: number): Delivery[] {
    const pair = this.#feeds.get(endpoint.no);
    const found = new Map<string, Delivery>();
    const stored = this.#stored();
    for (const reader of this.#readers) {
      const feed = pair?.[reader.name];
      if (feed === undefined) continue;
      for (const delivery of feed.known())
        if (delivery.id < beforeId && !stored.has(delivery)) found.set(delivery.id, delivery);
      if (!feed.isLagging) continue;
      const range = { after: feed.readTo, beforeId, limit };
      for (const delivery of reader.newestFor(endpoint, range)) found.set(delivery.id, delivery);
    }
    return [...found.values()].toSorted(newestFirst).slice(0, limit);
  }

  find(endpoint: EndpointRecord, id: string): Delivery | undefined {
    const eventId = sourceId('evt', id, endpoint.no);
    const pair = this.#feeds.get(endpoint.no);
    for (const reader of this.#readers) {
      const feed = pair?.[reader.name];
      if (feed === undefined) continue;
      for (const delivery of feed.known()) if (delivery.id === id) return delivery;
      const found = feed.isLagging ? reader.find(endpoint, eventId) : undefined;
      if (found?.outboxRef === undefined) continue;
      const end = endOf(reader.name, found.outboxRef.ref);
      if (comparePositions(end, feed.readTo) > 0) return found;
    }
    return undefined;
  }

  /**
   * Restores the delivery of a result that the last process did not commit, as in flight. Deliveries that its
   * endpoint was sent earlier without a result are sent again. @returns undefined if it is settled
   */
  recover(
    endpointNo: EndpointNo,
    { id, outbox, ref }: OutboxRef & { readonly id: string },
  ): Delivery | undefined {
    const endpoint = this.#endpoints.byNo(endpointNo);
    const reader = this.#readers.find(({ name }) => name === outbox);
    if (endpoint === undefined || reader === undefined) return undefined;
    const feed = this.#feed(endpointNo, outbox, this.#routed[outbox]);
    const upTo: Position = [ref[0], 0];
    while (comparePositions(feed.to, upTo) < 0) {
      const { created, position } = reader.readFor(endpoint, feed.to, {
        deliveriesMax: routedMax,
        upTo,
      });
      feed.reopen(created, position);
    }
    this.#changed.add(endpointNo);
    const sent = reader.at(endpoint, ref);
    if (sent?.id !== id) return undefined;
    return feed.startAgain(sent, (part) => reader.at(endpoint, part)) ? sent : undefined;
  }

  remove(endpointNo: EndpointNo): void {
    const pair = this.#feeds.get(endpointNo);
    for (const name of outboxNames) pair?.[name]?.free();
    if (this.#feeds.delete(endpointNo) || this.#backlogs.has(endpointNo))
      this.#changed.add(endpointNo);
  }

  /** For a lagging endpoint, counts the entry's events; it reads them later. */
  #listenersIn(name: OutboxName): ListenersOf {
    return (workspaceNo, kind, sequence, events) =>
      this.#endpoints.forEvent(workspaceNo, kind).filter((endpoint) => {
        if (!isFor(endpoint, kind, sequence)) return false;
        const feed = this.#feeds.get(endpoint.no)?.[name];
        if (feed?.isLagging !== true) return true;
        feed.skip(events());
        this.#changed.add(endpoint.no);
        return false;
      });
  }

  #enqueue(name: OutboxName, delivery: Delivery, from: Position): boolean {
    const { endpointNo, outboxRef } = delivery;
    const feed = this.#feed(endpointNo, name, from);
    if (outboxRef === undefined || feed.has(endOf(name, outboxRef.ref))) return false;
    this.#changed.add(endpointNo);
    if (!feed.isLagging && (feed.isFull || this.#bytes.all >= allBytesMax)) feed.fallBehind();
    if (feed.isLagging) {
      feed.skip(delivery.eventIds.length);
      return false;
    }
    feed.add(delivery);
    return true;
  }

  #feed(endpointNo: EndpointNo, name: OutboxName, to: Position): Feed {
    const pair = this.#feeds.get(endpointNo) ?? {};
    this.#feeds.set(endpointNo, pair);
    return (pair[name] ??= new Feed(name, to, this.#bytes));
  }

  #fill(endpointNo: EndpointNo, pair: FeedPair): void {
    const endpoint = this.#endpoints.byNo(endpointNo);
    if (endpoint === undefined) return;
    for (const reader of this.#readers) {
      const feed = pair[reader.name];
      const isBatched = reader.name === 'scans' && endpoint.maxBatch > 1;
      if (isBatched && feed?.isSlowSince(this.#store.wheelClock.now() - slowMs)) feed.rewind();
      if (feed?.isLagging !== true || feed.first !== undefined) continue;
      const upTo = this.#routed[reader.name];
      const bounds = { deliveriesMax: isBatched ? listsMax : pageMax, upTo, isBatched };
      for (let pages = 0; feed.isLagging && feed.first === undefined && pages < pagesMax; pages++) {
        const { created, position } = reader.readFor(endpoint, feed.readTo, bounds);
        for (const delivery of created) feed.add(delivery);
        feed.read(position, created.flatMap(({ eventIds }) => eventIds).length, upTo);
      }
      this.#changed.add(endpointNo);
    }
  }

  #backlogOf(endpointNo: EndpointNo, settled: ReadonlySet<Delivery>): StoredBacklog | undefined {
    const pair = this.#feeds.get(endpointNo) ?? {};
    const backlog: Partial<Record<OutboxName, Backlog>> = {};
    for (const name of outboxNames) {
      const one = pair[name]?.backlog(this.#routed[name], settled);
      if (one !== undefined) backlog[name] = one;
    }
    return Object.keys(backlog).length === 0 ? undefined : backlog;
  }

  #load(endpointNo: EndpointNo, stored: StoredBacklog): void {
    const endpoint = this.#endpoints.byNo(endpointNo);
    for (const reader of this.#readers) {
      const backlog = stored[reader.name];
      if (backlog === undefined) continue;
      const open = backlog.open.flatMap((ref) => (endpoint && reader.at(endpoint, ref)) ?? []);
      this.#feed(endpointNo, reader.name, backlog.to).restore(backlog, open);
    }
  }
}

/** Whether nothing waits, and only a position ahead of the outbox's is stored. The next save removes it if it can. */
function isAhead(backlog: StoredBacklog | undefined, positions: Positions): boolean {
  if (backlog === undefined) return false;
  return outboxNames.every((name) => {
    const { to, open, waiting } = backlog[name] ?? { to: positions[name], open: [], waiting: 0 };
    return open.length + waiting === 0 && comparePositions(to, positions[name]) >= 0;
  });
}
