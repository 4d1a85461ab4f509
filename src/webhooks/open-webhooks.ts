/**
 * Webhooks: every event of a workspace goes to every endpoint that subscribes to it, at least once, first attempts in
 * the order of the events. This file opens the module.
 *
 *   events (management.mdb)   blocks of scans (scans.mdb)       the two outboxes: durable logs
 *            |                          |
 *            +--------> router <--------+            outboxes/    reads each new entry once, for all endpoints
 *                         |
 *               feed of each endpoint                outboxes/    what is in flight, what is next; an endpoint that
 *                         |                                       lags reads the outbox itself, in pages
 *                  fair scheduler <--- row, due --+  dispatch/    who may send next
 *                         |                       |
 *               queue of each endpoint            |  attempt/     in order, at most 16 in flight
 *                         |                       |
 *       thread: resolve, check, sign, POST        |  attempt/     to the receiver, within one deadline
 *                         |                       |
 *           results, collected for 200 ms         |  dispatch/    each journaled as it arrives
 *                         |                       |
 *          one transaction on delivery.mdb        |  deliveries/
 *              delivered ------> page of the log  |               the newest 1,000 of each endpoint
 *              failed ---------> row, retry wheel +
 *              failed 8 times -> row, dead letter                 until a person replays it, or it expires
 *              its endpoint ---> how far it has settled the outboxes, unless it has settled everything
 *
 * So a first attempt that succeeds, as most do, costs no row of its own. After a crash exactly what was not settled is
 * read again from the outboxes, and is the same delivery: its id follows from endpoint and event.
 *
 * endpoints/ holds who listens to what, and drains what waits for an endpoint that was disabled or deleted.
 *
 * Opening writes and sends nothing; `start` does, once everything it depends on is open, and the store may be written.
 */
import type { Clock, SteadyClock } from '../model/clock.ts';
import type { IdSource, RandomBytes } from '../model/ids.ts';
import type { Signal } from '../model/signal.ts';
import type { AttemptSettings } from '../model/webhook.ts';
import type { Outbox } from '../outbox/outbox.ts';
import type { DeliveryTables } from '../store/delivery/delivery.ts';
import { openDeliveryTables } from '../store/delivery/open-delivery.ts';
import {
  hasNumbering,
  type ScanNumberingTables,
  scanNumberingTables,
} from '../store/delivery/scan-numbering.ts';
import type { StoreEnvironment } from '../store/environment.ts';
import { lastBlockBefore } from '../scans/stored-blocks.ts';
import type { BlockNumbers } from './endpoints/renumbered.ts';
import { ScanCursor } from './outboxes/scan-cursor.ts';
import { ScanNumbering } from './outboxes/scan-numbering.ts';
import type { Management } from '../store/management/management.ts';
import { ResultJournal } from '../store/delivery/result-journal.ts';
import { newestSequence, type ScanStore } from '../store/scans/scans.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { type AttemptSender, PoolSender } from './attempt/attempt-sender.ts';
import { AddressGuard, urlFault } from './attempt/egress.ts';
import { Deliveries } from './deliveries/deliveries.ts';
import { DeliveryStore } from './deliveries/delivery-store.ts';
import { Dispatcher } from './dispatch/dispatcher.ts';
import { EndpointDrain } from './endpoints/endpoint-drain.ts';
import { Endpoints } from './endpoints/endpoints.ts';
import { EventOutbox } from './outboxes/event-outbox.ts';
import { Feeds } from './outboxes/feeds.ts';
import { Router } from './outboxes/router.ts';
import { ScanOutbox, type ScanOutboxOptions } from './outboxes/scan-outbox.ts';
import type { Cipher } from './endpoints/secrets.ts';
import {
  createWebhookMeter,
  lateFirstAttempts,
  problemOf,
  registerWebhookMetrics,
} from './webhook-metrics.ts';
import type { OutboxReader } from './outboxes/outbox-reader.ts';
import type { WheelClock } from './deliveries/retry-wheel.ts';
import { RetryScheduler } from './deliveries/retry-scheduler.ts';

/** Bytes of all bodies in flight, for each attempt that may be: with their number, the bound of memory. */
const bytesPerAttempt = 16_384;
/** Attempts in flight to one endpoint. */
const perEndpointInFlightMax = 16;
/** At a stop attempts may take this long to end, as long as the API's requests and at the same time. */
const stopMsMax = 3_000;
const dayMs = 86_400_000;

export interface WebhookSettings {
  /** Pool threads that sign and send. */
  readonly threads: number;
  readonly retryDelaysMs: readonly number[];
  readonly inFlightMax: number;
  /** Delivered ones stored per endpoint. */
  readonly deliveriesKept: number;
  readonly deadLetterDays: number;
}

export interface WebhooksOptions {
  /** The delivery environment's file. */
  readonly file: string;
  /** In a cluster. */
  readonly cluster?: WebhookCluster | undefined;
  readonly management: Management;
  readonly outbox: Outbox;
  /** The source of `qr.scanned`; a test of the API has none. */
  readonly scanned?: {
    readonly store: ScanStore;
    /** Also of a code that was deleted. */
    readonly codeOf: ScanOutboxOptions['codeOf'];
    /** Fired when there are new blocks. */
    readonly committed: Signal;
    /** Called with the newest block that has its deliveries. */
    readonly onDelivered: (block: number) => void;
  };
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly steady: SteadyClock;
  readonly randomBytes: RandomBytes;
  /** 0 to 1. */
  readonly random: () => number;
  readonly cipher: Cipher;
  readonly settings: WebhookSettings & AttemptSettings;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Replaces the pool, in tests. */
  readonly sender?: AttemptSender;
}

/** Where several machines have the stores: the one that leads opens webhooks, and closes them when another does. */
export interface WebhookCluster {
  /** Of the replicated store, which its owner closes. */
  readonly tables: DeliveryTables;
  readonly numbering: ScanNumberingTables;
  /** This machine, and which of its stores of scans: another name after that was lost or put back. */
  readonly core: string;
  /** It leads, and no other can yet: results can be stored. */
  readonly isHeld?: () => boolean;
}

export interface Webhooks {
  readonly endpoints: Endpoints;
  readonly deliveries: Deliveries;
  readonly environment: StoreEnvironment;
  /** Events up to here have their deliveries: the outbox may expire them. */
  readonly deliveredEvent: number;
  /** For an operator; undefined = none. */
  readonly problem: string | undefined;
  /** How late first attempts are, for an operator; undefined = none by 30 s. */
  readonly behind: string | undefined;
  /** Threads that died while sending. */
  readonly threadDeaths: number;
  /**
   * Commits the attempt results that the last process did not, once; in a cluster, also that this machine leads now. The
   * store may be written by now. @throws Failure not_active
   */
  recover(): Promise<void>;
  /** Recovers, then starts to consume and to send. */
  start(): Promise<void>;
  /** Runs one tick now: for a test with its own clock, instead of `start`. */
  tick(): Promise<void>;
  /** Nothing happens before the next tick, event or answer: for a test that waits for that. */
  readonly isQuiet: boolean;
  /** Starts nothing more, and stores the results of attempts that end in time; the rest stays queued. */
  stop(attemptsMsMax?: number): Promise<void>;
  /** Ends the threads and stores all: nothing is written after it, and what is stored can still be read. */
  finish(): Promise<void>;
  /** The same, and closes the store: after the API has stopped. */
  close(): Promise<void>;
}

async function recoverAll({ dispatcher, feeds, numbering }: Sending): Promise<void> {
  await dispatcher.recover();
  if (numbering?.isNew === true) await feeds.save();
}

export function openWebhooks(options: WebhooksOptions): Webhooks {
  const { clock, ids, log, scanned, metrics } = options;
  const sender = options.sender ?? openPool(options);
  const sending = openSending(options, sender);
  const { store, feeds, endpoints, dispatcher, drain, routers } = sending;
  const deliveries = new Deliveries({ store, feeds, ids, endpoints, drain, sender, clock });
  const scheduler = new RetryScheduler({
    store,
    dispatcher,
    feeds,
    endpoints,
    clock,
    log,
    everySecond: () => {
      // A commit of another process, a command for example, fires no signal here.
      options.management.environment.refresh();
      if (endpoints.isAny) sender.warm?.();
      dispatcher.wakeAll();
      for (const router of routers) router.wake();
      scanned?.onDelivered(feeds.floor('scans'));
      sending.numbering?.keep(feeds.floor('scans'), clock.monotonicMs());
    },
  });
  registerWebhookMetrics(metrics, { store, feeds, dispatcher, routers });
  const listening: Array<() => void> = [];
  const { stop, finish, isStopping } = endings({ ...sending, sender, scheduler, listening });
  let recovering: Promise<void> | undefined;
  const recover = (): Promise<void> => (recovering ??= recoverAll(sending));
  return {
    endpoints,
    deliveries,
    environment: store.tables.environment,
    get deliveredEvent() {
      return feeds.floor('events');
    },
    get problem() {
      return problemOf(store, dispatcher, routers);
    },
    get behind() {
      return lateFirstAttempts(store, feeds);
    },
    get threadDeaths() {
      return sender instanceof PoolSender ? sender.deaths : 0;
    },
    get isQuiet() {
      return dispatcher.isQuiet && drain.isQuiet && routers.every((router) => router.isQuiet);
    },
    recover,
    async start() {
      await recover();
      if (isStopping()) return;
      drain.resume();
      listening.push(...listen(options, sending));
      for (const router of routers) router.wake();
      scheduler.start();
    },
    async tick() {
      await recover();
      await scheduler.tick();
    },
    stop,
    finish,
    async close() {
      await finish();
      if (options.cluster === undefined) await store.tables.environment.close();
    },
  };
}

interface Running extends Sending {
  readonly sender: AttemptSender;
  readonly scheduler: RetryScheduler;
  /** Ends what wakes the routers. */
  readonly listening: ReadonlyArray<() => void>;
}

/** The two ways of ending, each done once however often it is asked for. */
function endings(
  running: Running,
): Pick<Webhooks, 'stop' | 'finish'> & { readonly isStopping: () => boolean } {
  const { dispatcher, drain, feeds, journal, listening, routers, scheduler, sender } = running;
  const stopAll = async (attemptsMsMax: number): Promise<void> => {
    for (const end of listening) end();
    // All at once: nothing is to be sent while a tick waits for the log.
    const stopped = [dispatcher.stop(attemptsMsMax), scheduler.close()];
    await Promise.all([...stopped, ...routers.map((router) => router.close())]);
  };
  let stopping: Promise<void> | undefined;
  const stop = (attemptsMsMax = stopMsMax): Promise<void> => (stopping ??= stopAll(attemptsMsMax));
  const finishAll = async (): Promise<void> => {
    await stop();
    await drain.close();
    await sender.close();
    await dispatcher.flush();
    await feeds.save().catch(() => undefined);
    journal.close();
  };
  let finishing: Promise<void> | undefined;
  return {
    stop,
    finish: () => (finishing ??= finishAll()),
    isStopping: () => stopping !== undefined,
  };
}

type Sending = ReturnType<typeof openSending>;

/** The parts that send: from the outboxes to the receivers and back. */
function openSending(options: WebhooksOptions, sender: AttemptSender) {
  const { clock, steady, log, settings, scanned, metrics } = options;
  const limits = {
    keptMax: settings.deliveriesKept,
    expiryMs: settings.deadLetterDays * dayMs,
  };
  const tables = options.cluster?.tables ?? openDeliveryTables(options.file);
  const journal = new ResultJournal(options.file);
  const store = new DeliveryStore({ tables, clock, steady, limits });
  const numbering = openNumbering(options, tables);
  const guard = new AddressGuard(settings.allowNetworks);
  const endpoints = new Endpoints({
    management: options.management,
    ids: options.ids,
    clock,
    randomBytes: options.randomBytes,
    cipher: options.cipher,
    urlFault: (url) => urlFault(guard, url),
    lastBlock: () => newestBlock(scanned?.store),
    numbers: numbering && numbersOf(options),
  });
  const readers = openReaders(options, store.wheelClock, numbering);
  const feeds = new Feeds({ store, endpoints, readers, numbering });
  const routers = readers.map((reader) => new Router({ feeds, reader, clock, log }));
  const drain = new EndpointDrain({ store, feeds, endpoints, log });
  const dispatcher = new Dispatcher({
    store,
    journal,
    feeds,
    endpoints,
    sender,
    drain,
    meter: createWebhookMeter(metrics, feeds, (no) => endpoints.byNo(no)?.id),
    log,
    random: options.random,
    limits: {
      endpointMax: perEndpointInFlightMax,
      aheadMax: sender.aheadMax ?? 0,
      inFlightMax: settings.inFlightMax,
      bytesMax: settings.inFlightMax * bytesPerAttempt,
    },
    retryDelaysMs: settings.retryDelaysMs,
    isHeld: options.cluster?.isHeld,
  });
  return { store, journal, feeds, routers, endpoints, drain, dispatcher, numbering };
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

/** Of the only machine, where the store was of a cluster before. */
function openNumbering(
  { cluster, scanned }: WebhooksOptions,
  { environment }: DeliveryTables,
): ScanNumbering | undefined {
  if (scanned === undefined) return undefined;
  if (cluster === undefined && !hasNumbering(environment)) return undefined;
  const { store: scans } = scanned;
  const { core = '', numbering: tables = scanNumberingTables(environment) } = cluster ?? {};
  scans.environment.refresh();
  return new ScanNumbering({ tables, scans, core, cursor: new ScanCursor(scans) });
}

function numbersOf({ cluster, scanned }: WebhooksOptions): BlockNumbers | undefined {
  if (scanned === undefined) return undefined;
  const lastBefore = (timeMs: number): number => lastBlockBefore(scanned.store, timeMs);
  return { core: cluster?.core ?? '', lastBefore };
}

function openReaders(
  { outbox, scanned }: WebhooksOptions,
  clock: WheelClock,
  numbering: ScanNumbering | undefined,
): OutboxReader[] {
  const events = new EventOutbox(outbox, clock);
  if (scanned === undefined) return [events];
  const { store: scans, codeOf } = scanned;
  return [events, new ScanOutbox({ scans, codeOf, clock, numbering })];
}

/** Wakes the routers by commits. @returns ends that */
function listen(
  { management, scanned }: WebhooksOptions,
  { feeds, routers }: Sending,
): Array<() => void> {
  const [events, scans] = routers;
  return [
    management.environment.committed.listen(() => {
      if (feeds.lag('events') > 0) events?.wake();
    }),
    ...(scanned === undefined ? [] : [scanned.committed.listen(() => scans?.wake())]),
  ];
}

function newestBlock(scans: ScanStore | undefined): number {
  if (scans === undefined) return 0;
  scans.environment.refresh();
  return newestSequence(scans);
}
