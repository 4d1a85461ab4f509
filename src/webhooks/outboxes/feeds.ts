/**
 * The feeds of all endpoints, and how far the outboxes were read for them.
 *
 *   outbox --- read once ---> router --> feed of each endpoint that listens --> dispatcher
 *      ^------ its backlog, in pages ------------ feed that lags
 *
 * Stored are one position for each outbox, and a backlog for each endpoint that has not settled everything up to there
 * (`write`); an endpoint that has is nowhere. Both are written in the transaction of the results, so after a crash
 * exactly what was not settled is sent again.
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
import { type Delivery, newestFirst, type OutboxPlace } from '../deliveries/delivery.ts';
import type { DeliveryStore } from '../deliveries/delivery-store.ts';
import type { DeliveryTransaction } from '../deliveries/delivery-transaction.ts';
import type { Endpoints } from '../endpoints/endpoints.ts';
import { Backlogs, type BacklogsOptions, type StoredBacklog } from './backlogs.ts';
import { Feed, type RingBytes } from './feed.ts';
import { isFor } from '../endpoints/endpoint-index.ts';
import { type ListenersOf, comparePositions, endOf, type OutboxReader } from './outbox-reader.ts';

/** Deliveries of one reading: bounds the time that it blocks the control thread. */
const routedMax = 1_000;
/** Deliveries of a page, or lists: what a lagging endpoint reads at once. */
const [pageMax, listsMax] = [128, 32];
/** Scans that wait this long come in lists. */
const slowMs = 1_000;
/** Pages in a row that may hold no delivery; after them it continues a second later. */
const pagesMax = 8;
/** Bytes in all rings; beyond it an endpoint that gets another delivery lags. */
const allBytesMax = 33_554_432;

type FeedPair = Partial<Record<OutboxName, Feed>>;

const countOf = ({ events, scans }: FeedPair): number => (events?.count ?? 0) + (scans?.count ?? 0);

export class Feeds {
  readonly #store: DeliveryStore;
  readonly #endpoints: Endpoints;
  readonly #readers: readonly OutboxReader[];
  readonly #feeds = new Map<number, FeedPair>();
  readonly #bytes: RingBytes = { all: 0 };
  readonly #backlogs: Backlogs;
  readonly #routed: Record<OutboxName, Position>;
  readonly #oneByOne = pLimit(1);
  /** Endpoints whose oldest deliveries are about to get rows: nothing newer is sent before those. */
  readonly #held = new Set<EndpointNo>();
  /** Endpoints whose feeds changed since they were written. */
  #changed = new Set<EndpointNo>();
  #onWork: (endpointNos: Iterable<EndpointNo>) => void = () => undefined;

  constructor(options: BacklogsOptions) {
    const { store, endpoints, readers } = options;
    this.#store = store;
    this.#endpoints = endpoints;
    this.#readers = readers;
    this.#backlogs = new Backlogs(options);
    this.#routed = { ...this.#backlogs.positions };
    for (const [no, stored] of this.#backlogs.all()) this.#load(no, stored);
    for (const no of this.#backlogs.rewritten) this.#changed.add(no);
  }

  /** Another machine has led since this one did: what that one had in flight is sent again. */
  get isTakenOver(): boolean {
    return this.#backlogs.isTakenOver;
  }

  /** Sets the one listener: called with the endpoints that got something to send. */
  onWork(listener: (endpointNos: Iterable<EndpointNo>) => void): void {
    this.#onWork = listener;
  }

  /** Endpoints that have something that was not started. */
  withWork(): EndpointNo[] {
    const hasWork = (feed: Feed | undefined): boolean =>
      feed !== undefined && (feed.unsent > 0 || feed.isLagging);
    return Array.from(this.#feeds)
      .filter(([, pair]) => outboxNames.some((name) => hasWork(pair[name])))
      .map(([no]) => no);
  }

  /** Entries that were not read. */
  lag(name: OutboxName): number {
    const reader = this.#readers.find((one) => one.name === name);
    return reader === undefined ? 0 : Math.max(0, reader.newest - this.#routed[name][0]);
  }

  /** Reads the next entries of an outbox for all endpoints. @returns whether there are more */
  route(reader: OutboxReader): boolean {
    const { name } = reader;
    const endpoints = this.#endpoints;
    if (!(name === 'scans' ? endpoints.isAnyFor('qr.scanned') : endpoints.isAny)) {
      this.#routed[name] = [Math.max(reader.newest, this.#routed[name][0]), 0];
      reader.skip?.();
      return false;
    }
    const ready = new Set<EndpointNo>();
    const listenersOf = this.#listenersIn(name);
    const from = this.#routed[name];
    const { created, position, hasMore } = reader.read(from, listenersOf, {
      deliveriesMax: routedMax,
    });
    for (const delivery of created) {
      if (this.#give(name, delivery, from)) ready.add(delivery.endpointNo);
    }
    this.#routed[name] = position;
    if (ready.size > 0) this.#onWork(ready);
    return hasMore;
  }

  /** The next fresh delivery of an endpoint, the oldest of both outboxes. */
  first(endpointNo: EndpointNo): Delivery | undefined {
    const pair = this.#feeds.get(endpointNo);
    if (pair === undefined || this.#held.has(endpointNo)) return undefined;
    this.#fill(endpointNo, pair);
    const [event, scan] = [pair.events?.first, pair.scans?.first];
    if (event === undefined || scan === undefined) return event ?? scan;
    return event.dueMs <= scan.dueMs ? event : scan;
  }

  /** Starts what `first` returned. */
  start(delivery: Delivery): void {
    this.#feedOf(delivery)?.start();
    this.#changed.add(delivery.endpointNo);
  }

  /**
   * Settles the oldest deliveries of an endpoint without sending them: `work` gives them rows.
   * @param isWanted stops before the first delivery that is not wanted @returns how many
   */
  async takeOut(
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
    this.#held.add(endpointNo);
    try {
      await this.transaction(taken, (tx) => {
        for (const delivery of taken) work(tx, delivery);
      });
    } catch (error) {
      for (const delivery of taken) this.giveBack(delivery);
      throw error;
    } finally {
      this.#held.delete(endpointNo);
      this.#onWork([endpointNo]);
    }
    return taken.length;
  }

  giveBack(delivery: Delivery): void {
    this.#feedOf(delivery)?.giveBack(delivery);
  }

  #feedOf({ endpointNo, place }: Delivery): Feed | undefined {
    return place && this.#feeds.get(endpointNo)?.[place.outbox];
  }

  /**
   * Runs `work` in a transaction that settles `settled` and writes how far their endpoints are. One at a time, because each
   * starts from what the one before has committed.
   */
  async transaction<T>(
    settled: readonly Delivery[],
    work: (tx: DeliveryTransaction) => T,
  ): Promise<T> {
    return await this.#oneByOne(async () => {
      const { run, committed, failed } = this.#writing(settled, work);
      try {
        const result = await this.#store.transaction(run);
        committed();
        return result;
      } catch (error) {
        failed();
        throw error;
      }
    });
  }

  #writing<T>(settled: readonly Delivery[], work: (tx: DeliveryTransaction) => T) {
    const changed = new Set<EndpointNo>();
    let change = this.#backlogs.unchanged;
    return {
      run: (tx: DeliveryTransaction): T => {
        for (const no of this.#changed) changed.add(no);
        this.#changed.clear();
        for (const { endpointNo } of settled) changed.add(endpointNo);
        const of = new Set(settled.filter(({ place }) => place !== undefined));
        const backlogs = Array.from(changed, (no) => [no, this.#backlogOf(no, of)] as const);
        change = { positions: { ...this.#routed }, backlogs: new Map(backlogs), settled: of };
        this.#backlogs.write(change);
        return work(tx);
      },
      committed: (): void => {
        this.#backlogs.committed(change);
        for (const delivery of settled) this.#feedOf(delivery)?.settle(delivery);
        for (const no of changed) this.#freeSettled(no);
      },
      failed: (): void => {
        this.#backlogs.failed();
        for (const no of changed) this.#changed.add(no);
      },
    };
  }

  /** Frees the memory of an endpoint that has settled everything, and of one that is gone. */
  #freeSettled(endpointNo: EndpointNo): void {
    if (this.#backlogs.has(endpointNo) || this.#changed.has(endpointNo)) return;
    if (this.#backlogOf(endpointNo, new Set()) === undefined) this.#feeds.delete(endpointNo);
  }

  /** Everything up to here is settled: the outbox may expire it. */
  floor(name: OutboxName): number {
    return this.#backlogs.floor(name);
  }

  /** Writes how far the endpoints are, where that has changed. */
  async save(): Promise<void> {
    const isAt = (name: OutboxName): boolean => this.#backlogs.isAt(name, this.#routed[name]);
    if (this.#changed.size === 0 && outboxNames.every(isAt) && !this.#backlogs.isNew) return;
    await this.transaction([], () => undefined);
  }

  /** How many deliveries of an endpoint are not settled; about, for one that lags. */
  count(endpointNo: EndpointNo): number {
    const settled = this.#backlogs.settledAlready().filter((one) => one.endpointNo === endpointNo);
    return countOf(this.#feeds.get(endpointNo) ?? {}) - settled.length;
  }

  /** How many deliveries are not settled; about. */
  get total(): number {
    return [...this.#feeds.values()].reduce((sum, pair) => sum + countOf(pair), 0);
  }

  /** For each endpoint that has one: the age of its oldest event without a first attempt. */
  *waiting(): Generator<readonly [endpointNo: EndpointNo, ageMs: number]> {
    const nowMs = this.#store.wheelClock.wallMs(this.#store.wheelClock.now());
    for (const [no, pair] of this.#feeds) {
      const ids = outboxNames.flatMap((name) => pair[name]?.oldest?.id ?? []);
      if (ids.length > 0) yield [no, Math.max(0, nowMs - Math.min(...ids.map(idTimeMs)))];
    }
  }

  /** Deliveries that an endpoint has not settled, newest first, with ids below `beforeId`. */
  newest(endpoint: EndpointRecord, beforeId: string, limit: number): Delivery[] {
    const pair = this.#feeds.get(endpoint.no);
    const found = new Map<string, Delivery>();
    const settled = new Set(this.#backlogs.settledAlready());
    for (const reader of this.#readers) {
      const feed = pair?.[reader.name];
      if (feed === undefined) continue;
      for (const delivery of feed.known())
        if (delivery.id < beforeId && !settled.has(delivery)) found.set(delivery.id, delivery);
      if (!feed.isLagging) continue;
      const range = { after: feed.readTo, beforeId, limit };
      for (const delivery of reader.newestFor(endpoint, range)) found.set(delivery.id, delivery);
    }
    return [...found.values()].toSorted(newestFirst).slice(0, limit);
  }

  /** A delivery that is not settled. @param id `dlv_…` */
  find(endpoint: EndpointRecord, id: string): Delivery | undefined {
    const eventId = sourceId('evt', id, endpoint.no);
    const pair = this.#feeds.get(endpoint.no);
    for (const reader of this.#readers) {
      const feed = pair?.[reader.name];
      if (feed === undefined) continue;
      for (const delivery of feed.known()) if (delivery.id === id) return delivery;
      const found = feed.isLagging ? reader.find(endpoint, eventId) : undefined;
      if (found?.place === undefined) continue;
      const end = endOf(reader.name, found.place.place);
      if (comparePositions(end, feed.readTo) > 0) return found;
    }
    return undefined;
  }

  /**
   * The delivery of a result that the last process did not commit. It counts as in flight; what its endpoint was sent before
   * it, without a result, is sent again. Undefined when the delivery is settled.
   */
  recover(
    endpointNo: EndpointNo,
    { id, outbox, place }: OutboxPlace & { readonly id: string },
  ): Delivery | undefined {
    const endpoint = this.#endpoints.byNo(endpointNo);
    const reader = this.#readers.find(({ name }) => name === outbox);
    if (endpoint === undefined || reader === undefined) return undefined;
    const feed = this.#feed(endpointNo, outbox, this.#routed[outbox]);
    const upTo: Position = [place[0], 0];
    while (comparePositions(feed.to, upTo) < 0) {
      const { created, position } = reader.readFor(endpoint, feed.to, {
        deliveriesMax: routedMax,
        upTo,
      });
      feed.reopen(created, position);
    }
    this.#changed.add(endpointNo);
    const sent = reader.at(endpoint, place);
    return sent?.id === id && feed.startAgain(sent) ? sent : undefined;
  }

  /** The endpoint is deleted. */
  remove(endpointNo: EndpointNo): void {
    const pair = this.#feeds.get(endpointNo);
    for (const name of outboxNames) pair?.[name]?.free();
    if (this.#feeds.delete(endpointNo) || this.#backlogs.has(endpointNo))
      this.#changed.add(endpointNo);
  }

  /** For an endpoint that lags the events of the entry are counted; it reads them later. */
  #listenersIn(name: OutboxName): ListenersOf {
    return (workspaceNo, kind, sequence, events) =>
      this.#endpoints.forEvent(workspaceNo, kind).filter((endpoint) => {
        if (!isFor(endpoint, kind, sequence)) return false;
        const feed = this.#feeds.get(endpoint.no)?.[name];
        if (feed?.isLagging !== true) return true;
        feed.pass(events());
        this.#changed.add(endpoint.no);
        return false;
      });
  }

  /** @returns whether it is in the endpoint's ring */
  #give(name: OutboxName, delivery: Delivery, from: Position): boolean {
    const { endpointNo, place } = delivery;
    const feed = this.#feed(endpointNo, name, from);
    if (place === undefined || feed.has(endOf(name, place.place))) return false;
    this.#changed.add(endpointNo);
    if (!feed.isLagging && (feed.isFull || this.#bytes.all >= allBytesMax)) feed.lag();
    if (feed.isLagging) {
      feed.pass(delivery.eventIds.length);
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

  /** Reads the next page for an endpoint that lags. */
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
      const open = backlog.open.flatMap((place) => (endpoint && reader.at(endpoint, place)) ?? []);
      this.#feed(endpointNo, reader.name, backlog.to).restore(backlog, open);
    }
  }
}
