/**
 * Webhooks: every event of a workspace goes to every endpoint that subscribes to it, at least once, with first
 * attempts in event order. This file opens the module.
 *
 *   events, blocks of scans --> router --> feed of each endpoint --> fair scheduler <-- rows that are due
 *                                                                         |
 *   results <-- thread: resolve, check, sign, POST <-- queue of each endpoint, at most 16 in flight
 *      |
 *   journaled, collected for 200 ms --> one transaction on delivery.mdb:
 *      delivered -> log, the newest 1,000 of each endpoint        failed -> row, on the retry wheel
 *      failed 8 times -> dead letter, until it is replayed or expires
 *
 * A first attempt that succeeds, as most do, costs no row. After a crash the unsettled entries are read again from the
 * outboxes: they become the same deliveries, because a delivery's id follows from endpoint and event. Opening neither
 * writes nor sends; `start` does, once the store may be written.
 */
import type { Clock, SteadyClock } from '../model/clock.ts';
import type { IdSource, RandomBytes } from '../model/ids.ts';
import type { Signal } from '../model/signal.ts';
import type { EndpointNo } from '../model/numbers.ts';
import type { AttemptSettings } from '../model/webhook.ts';
import type { Outbox } from './outbox.ts';
import { type DeliveryTables, openDeliveryTables } from '../store/delivery/delivery.ts';
import { lastBlockBefore } from '../engine/counting/stored-blocks.ts';
import type { BlockNumbers } from './endpoints/endpoint-index.ts';
import { ScanTakeover } from './feeds/scan-takeover.ts';
import type { Management } from '../store/management/management.ts';
import { ResultJournal } from '../store/delivery/result-journal.ts';
import { newestSequence, type ScanStore } from '../store/scans/scans.ts';
import type { Logger } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import { type AttemptSender, PoolSender } from './attempt/attempt-sender.ts';
import { AddressGuard, urlFault } from './attempt/egress.ts';
import { Deliveries } from './deliveries/deliveries.ts';
import { DeliveryStore } from './deliveries/delivery-store.ts';
import { DeliveryQueue } from './dispatch/delivery-queue.ts';
import { Dispatcher } from './dispatch/dispatcher.ts';
import { FairScheduler } from './dispatch/fair-scheduler.ts';
import { Results } from './dispatch/results.ts';
import { EndpointDrain } from './endpoints/endpoint-drain.ts';
import { Endpoints } from './endpoints/endpoints.ts';
import { EventOutbox } from './feeds/event-outbox.ts';
import { Feeds } from './feeds/feeds.ts';
import { Router } from './feeds/router.ts';
import { ScanOutbox, type ScanOutboxOptions } from './feeds/scan-outbox.ts';
import type { Cipher } from './endpoints/secrets.ts';
import {
  createWebhookMeter,
  lateFirstAttempts,
  problemOf,
  registerWebhookMetrics,
} from './webhook-metrics.ts';
import type { OutboxReader } from './feeds/outbox-reader.ts';
import type { WheelClock } from './deliveries/retry-wheel.ts';
import { RetryScheduler } from './deliveries/retry-scheduler.ts';

/** Bytes of bodies in flight, per possible attempt: bounds the memory. */
const bytesPerAttempt = 16_384;
const perEndpointInFlightMax = 16;
/** Attempts may take this long to end at a stop: as long as API requests, at the same time. */
const stopMsMax = 3_000;

interface WebhookSettings {
  readonly threads: number;
  readonly retryDelaysMs: readonly number[];
  readonly inFlightMax: number;
  /** Entries of the log per endpoint. */
  readonly deliveriesKept: number;
}

export interface WebhooksOptions {
  readonly file: string;
  /** Only in a cluster. */
  readonly cluster?: WebhookCluster | undefined;
  readonly management: Management;
  readonly outbox: Outbox;
  /** The source of `qr.scanned`; absent in tests of the API. */
  readonly scanned?: {
    readonly store: ScanStore;
    /** Returns deleted codes too. */
    readonly codeOf: ScanOutboxOptions['codeOf'];
    readonly committed: Signal;
    /** Called with the newest block whose deliveries are settled. */
    readonly onDelivered: (block: number) => void;
  };
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly steady: SteadyClock;
  readonly randomBytes: RandomBytes;
  readonly random: () => number;
  readonly cipher: Cipher;
  readonly settings: WebhookSettings & AttemptSettings;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Replaces the pool in tests. */
  readonly sender?: AttemptSender;
}

/** In a cluster the leader opens webhooks, and closes them when it loses the lead. */
export interface WebhookCluster {
  /** The replicated store; its owner closes it. */
  readonly tables: DeliveryTables;
  /** Names the store of scans whose block numbers this machine uses. */
  readonly store: string;
  /** Whether this machine leads and no other can yet, so that results can be stored. */
  readonly isHeld?: () => boolean;
}

export type Webhooks = ReturnType<typeof openWebhooks>;

export function openWebhooks(options: WebhooksOptions) {
  const { clock, ids, metrics } = options;
  const sender = options.sender ?? openPool(options);
  const sending = openSending(options, sender);
  const { store, feeds, endpoints, results, dispatcher, drain, routers, takeover } = sending;
  const deliveries = new Deliveries({ store, feeds, ids, endpoints, drain, sender, clock });
  const retries = openRetries(options, sending);
  registerWebhookMetrics(metrics, sending);
  const listening: Array<() => void> = [];
  const { stop, finish, isStopping } = endings(sending, retries, listening);
  const recover = once(async () => {
    if (takeover?.isNew === true) await takeover.flush();
    await results.recover();
    if (takeover?.isNew === true) await feeds.save();
  });
  return {
    endpoints,
    deliveries,
    environment: store.tables.environment,
    /** Events up to here are settled: the outbox may expire them. */
    get deliveredEvent() {
      return feeds.floor('events');
    },
    /** A problem for the operator, or undefined. */
    get problem() {
      return problemOf(sending);
    },
    /** How late first attempts are, for the operator; undefined if none is late by 30 s. */
    get behind() {
      return lateFirstAttempts(store, feeds);
    },
    get threadDeaths() {
      return sender instanceof PoolSender ? sender.deaths : 0;
    },
    /** Nothing happens before the next tick, event or answer: for a test that waits for that. */
    get isQuiet() {
      return dispatcher.isQuiet && drain.isQuiet && routers.every((router) => router.isQuiet);
    },
    /** Commits the last process's results, once; in a cluster also stores the new leader. @throws Failure not_active */
    recover,
    async start() {
      await recover();
      if (isStopping()) return;
      drain.resume();
      listening.push(...listen(options, sending));
      for (const router of routers) router.wake();
      retries.start();
    },
    /** Runs one tick now: for a test with its own clock, instead of `start`. */
    async tick() {
      await recover();
      await retries.tick();
    },
    /** Starts no more attempts and stores the results of those that end in time; the rest stays queued. */
    stop,
    /** Ends the threads and stores everything. Later nothing is written, but the store can still be read. */
    finish,
    /** The same, and closes the store; after the API has stopped. */
    async close() {
      await finish();
      if (options.cluster === undefined) await store.tables.environment.close();
    },
  };
}

function openRetries(
  { clock, log, management, scanned }: WebhooksOptions,
  { store, scheduler, dispatcher, feeds, endpoints, sender, routers }: Sending,
): RetryScheduler {
  const everySecond = (): void => {
    // Finds commits that fired no signal here.
    management.environment.refresh();
    if (endpoints.isAny) sender.warm?.();
    dispatcher.wake('fresh', feeds.withWork());
    for (const router of routers) router.wake();
    scanned?.onDelivered(feeds.floor('scans'));
  };
  const parts = { store, scheduler, dispatcher, feeds, endpoints };
  return new RetryScheduler({ ...parts, clock, log, everySecond });
}

/** Each runs once, however often it is called. */
function endings(
  { dispatcher, results, drain, feeds, journal, sender, routers }: Sending,
  retries: RetryScheduler,
  listening: ReadonlyArray<() => void>,
) {
  let stopping: Promise<void> | undefined;
  const stopAll = async (attemptsMsMax: number): Promise<void> => {
    for (const end of listening) end();
    // At once: nothing may be sent while a tick waits for the log.
    const stopped = [dispatcher.stop(attemptsMsMax), retries.close()];
    await Promise.all([...stopped, ...routers.map((router) => router.close())]);
  };
  const stop = (attemptsMsMax = stopMsMax): Promise<void> => (stopping ??= stopAll(attemptsMsMax));
  const finish = once(async () => {
    await stop();
    await drain.close();
    await sender.close();
    await results.stop();
    await feeds.save().catch(() => undefined);
    journal.close();
  });
  return { stop, finish, isStopping: () => stopping !== undefined };
}

function once(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => (running ??= run());
}

type Sending = ReturnType<typeof openSending>;

/** Whatever gets work wakes the dispatcher, which is opened last. */
function openSending(options: WebhooksOptions, sender: AttemptSender) {
  const { clock, steady, log, settings, scanned } = options;
  const tables = options.cluster?.tables ?? openDeliveryTables(options.file);
  const journal = new ResultJournal(options.file);
  const store = new DeliveryStore({
    tables,
    clock,
    steady,
    keptMax: settings.deliveriesKept,
    onWork: (nos) => sending.dispatcher.wake('rows', nos),
  });
  const takeover = openTakeover(options, tables);
  const guard = new AddressGuard(settings.allowNetworks);
  const endpoints = new Endpoints({
    management: options.management,
    ids: options.ids,
    clock,
    randomBytes: options.randomBytes,
    cipher: options.cipher,
    urlFault: (url) => urlFault(guard, url),
    lastBlock: () => newestBlock(scanned?.store),
    onChange: (no, record) => {
      if (record?.status !== 'enabled') drain.start(no);
      // Attempts that a thread got in advance have the former address, secrets and status.
      sender.recall?.(no);
    },
    numbers: takeover && numbersOf(options),
  });
  const readers = openReaders(options, store.wheelClock);
  const onWork = (nos: Iterable<EndpointNo>): void => sending.dispatcher.wake('fresh', nos);
  const feeds = new Feeds({ store, endpoints, readers, takeover, onWork });
  const routers = readers.map((reader) => new Router({ feeds, reader, clock, log }));
  const drain = new EndpointDrain({
    store,
    feeds,
    endpoints,
    log,
    isActive: (delivery) => sending.scheduler.isActive(delivery),
  });
  const parts = { store, journal, feeds, endpoints, drain, sender };
  const sending = openDispatch(options, parts);
  return { ...parts, ...sending, routers, takeover };
}

interface DispatchParts {
  readonly store: DeliveryStore;
  readonly journal: ResultJournal;
  readonly feeds: Feeds;
  readonly endpoints: Endpoints;
  readonly drain: EndpointDrain;
  readonly sender: AttemptSender;
}

function openDispatch(options: WebhooksOptions, parts: DispatchParts) {
  const { log, metrics, random, settings, cluster } = options;
  const { feeds, endpoints, sender } = parts;
  const { inFlightMax, retryDelaysMs } = settings;
  const queue = new DeliveryQueue({ ...parts, log });
  const limits = {
    endpointMax: perEndpointInFlightMax,
    aheadMax: sender.aheadMax ?? 0,
    inFlightMax,
    bytesMax: inFlightMax * bytesPerAttempt,
  };
  const scheduler = new FairScheduler(limits, queue);
  const results = new Results({
    ...parts,
    gone: queue.gone,
    retryDelaysMs,
    log,
    onCommitted: (batch) => dispatcher.committed(batch),
    onFault: () => dispatcher.recallAll(),
    onWork: (nos) => dispatcher.wake('rows', nos),
  });
  const dispatcher = new Dispatcher({
    ...parts,
    scheduler,
    results,
    meter: createWebhookMeter(metrics, feeds, (no) => endpoints.byNo(no)?.id),
    log,
    random,
    isHeld: cluster?.isHeld,
  });
  return { scheduler, results, dispatcher };
}

function openPool({ ids, settings, log }: WebhooksOptions): PoolSender {
  const { threads, connectionsMax, timeoutMs, allowNetworks, docsUrl } = settings;
  return new PoolSender({
    threads,
    widthMax: perEndpointInFlightMax,
    channel: ids.newId('dlv'),
    settings: {
      timeoutMs,
      allowNetworks,
      docsUrl,
      ...(connectionsMax !== undefined && { connectionsMax }),
    },
    onDeath: (err) => log.warn({ err }, 'webhook thread failed, another one started'),
  });
}

/** A single machine has one only if its folder was restored from a core's backup. */
function openTakeover(
  { cluster, scanned }: WebhooksOptions,
  tables: DeliveryTables,
): ScanTakeover | undefined {
  if (scanned === undefined) return undefined;
  const takeover = new ScanTakeover({ tables, scans: scanned.store, store: cluster?.store ?? '' });
  return cluster !== undefined || takeover.isNew ? takeover : undefined;
}

function numbersOf({ cluster, scanned }: WebhooksOptions): BlockNumbers | undefined {
  if (scanned === undefined) return undefined;
  const lastBefore = (timeMs: number): number => lastBlockBefore(scanned.store, timeMs);
  return { core: cluster?.store ?? '', lastBefore };
}

function openReaders({ outbox, scanned }: WebhooksOptions, clock: WheelClock): OutboxReader[] {
  const events = new EventOutbox(outbox, clock);
  if (scanned === undefined) return [events];
  const { store: scans, codeOf } = scanned;
  return [events, new ScanOutbox({ scans, codeOf, clock })];
}

/** Commits wake the routers. @returns ends that */
function listen(
  { management, scanned }: WebhooksOptions,
  { feeds, routers }: Sending,
): Array<() => void> {
  const [events, scans] = routers;
  return [
    management.environment.committed.listen(() => {
      if (feeds.unreadCount('events') > 0) events?.wake();
    }),
    ...(scanned === undefined ? [] : [scanned.committed.listen(() => scans?.wake())]),
  ];
}

function newestBlock(scans: ScanStore | undefined): number {
  if (scans === undefined) return 0;
  scans.environment.refresh();
  return newestSequence(scans);
}
