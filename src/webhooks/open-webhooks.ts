/**
 * Wires the module: the app opens it once, the API calls it.
 *
 *   outbox, blocks --> consumers --> delivery store (queue) --> dispatcher --> sender --> pool
 *                                      ^     retry scheduler ------^             |
 *                                      +---------------- results <---------------+
 *
 * Opening sends nothing; `start` does, once everything it depends on is open.
 */
import type { Clock, SteadyClock } from '../model/clock.ts';
import type { IdSource, RandomBytes } from '../model/ids.ts';
import type { Signal } from '../model/signal.ts';
import type { AttemptSettings } from '../model/webhook.ts';
import type { Outbox } from '../outbox/outbox.ts';
import { openDeliveryTables } from '../store/delivery/delivery.ts';
import type { StoreEnvironment } from '../store/environment.ts';
import type { Management } from '../store/management/management.ts';
import { ResultJournal } from '../store/delivery/result-journal.ts';
import { newestSequence, type ScanStore } from '../store/scans/scans.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { type AttemptSender, PoolSender } from './attempt/attempt-sender.ts';
import { AddressGuard } from './attempt/blocked-networks.ts';
import { BlockConsumer } from './consumers/block-consumer.ts';
import { Deliveries } from './deliveries/deliveries.ts';
import { DeliveryStore } from './deliveries/delivery-store.ts';
import { Dispatcher } from './dispatch/dispatcher.ts';
import { urlFault } from './attempt/egress.ts';
import { EndpointDrain } from './endpoints/endpoint-drain.ts';
import { Endpoints } from './endpoints/endpoints.ts';
import { EventConsumer } from './consumers/event-consumer.ts';
import { ConsumerLoop } from './consumers/consumer-loop.ts';
import type { Cipher } from './endpoints/secrets.ts';
import { createWebhookMeter } from './webhook-meter.ts';
import { registerWebhookMetrics } from './webhook-metrics.ts';
import { RetryScheduler } from './deliveries/retry-scheduler.ts';
import type { CodeNo } from '../model/numbers.ts';

/** Bytes of all bodies in flight, for each attempt that may be: with their number, the bound of memory. */
const bytesPerAttempt = 16_384;
/** Attempts in flight to one endpoint. */
const perEndpointInFlightMax = 16;
/** At a stop attempts may take this long to end, as long as the API's requests and at the same time. */
const stopMsMax = 3_000;
/** Beyond this the delay is a problem for an operator. */
const behindMsMax = 30_000;
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
  readonly management: Management;
  readonly outbox: Outbox;
  /** The source of `qr.scanned`; a test of the API has none. */
  readonly scanned?: {
    readonly store: ScanStore;
    /** The public id of a code, undefined after it was deleted. */
    readonly codeIdOf: (codeNo: CodeNo) => string | undefined;
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

export interface Webhooks {
  readonly endpoints: Endpoints;
  readonly deliveries: Deliveries;
  readonly environment: StoreEnvironment;
  /** Events up to here have their deliveries: the outbox may expire them. */
  readonly deliveredEvent: number;
  /** For an operator; undefined = none. */
  readonly problem: string | undefined;
  /** Threads that died while sending. */
  readonly threadDeaths: number;
  /** Starts to consume and to send. */
  start(): void;
  /** Runs one tick now: for a test with its own clock, instead of `start`. */
  tick(): Promise<void>;
  /** Nothing happens before the next tick, event or answer: for a test that waits for that. */
  readonly isQuiet: boolean;
  /** Consumes and starts nothing more; attempts in flight may end. The rest stays queued. */
  stop(): Promise<void>;
  /** Ends the threads and closes the store: after the API has stopped. */
  close(): Promise<void>;
}

export function openWebhooks(options: WebhooksOptions): Webhooks {
  const { clock, log, scanned, metrics } = options;
  const sender = options.sender ?? openPool(options);
  const sending = openSending(options, sender);
  const { store, journal, endpoints, dispatcher, drain } = sending;
  dispatcher.recover();
  const deliveries = new Deliveries({ store, endpoints, drain, sender, clock });
  const consumers = openConsumers(options, sending);
  const { events, blocks, loops } = consumers;
  const scheduler = new RetryScheduler({
    store,
    dispatcher,
    log,
    save: () => Promise.all([events.cursor.save(), blocks?.cursor.save()]),
    everySecond: () => {
      // A commit of another process, a command for example, fires no signal here.
      options.management.environment.refresh();
      if (endpoints.isAny) sender.warm?.();
      for (const loop of loops) loop.wake();
      if (blocks !== undefined) scanned?.onDelivered(blocks.cursor.stored);
    },
  });
  registerWebhookMetrics(metrics, { store, dispatcher, consumers });
  const listening: Array<() => void> = [];
  const stopAll = async (): Promise<void> => {
    for (const end of listening) end();
    await scheduler.close();
    await Promise.all(loops.map((loop) => loop.close()));
    await dispatcher.stop(stopMsMax);
  };
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopping ??= stopAll());
  return {
    endpoints,
    deliveries,
    environment: store.tables.environment,
    get deliveredEvent() {
      return events.cursor.stored;
    },
    get problem() {
      return problemOf(store, dispatcher, loops);
    },
    get threadDeaths() {
      return sender instanceof PoolSender ? sender.stats().deaths : 0;
    },
    get isQuiet() {
      return dispatcher.isQuiet && drain.isQuiet && loops.every((loop) => loop.isQuiet);
    },
    start() {
      drain.resume();
      listening.push(...consumers.listen());
      for (const loop of loops) loop.wake();
      scheduler.start();
    },
    tick: () => scheduler.tick(),
    stop,
    async close() {
      await stop();
      await drain.close();
      await sender.close();
      await dispatcher.flush();
      await store.tables.environment.close();
      journal.close();
    },
  };
}

type Sending = ReturnType<typeof openSending>;

/** From the queue to the receiver and back. */
function openSending(options: WebhooksOptions, sender: AttemptSender) {
  const { clock, steady, log, settings, scanned, metrics } = options;
  const limits = {
    keptMax: settings.deliveriesKept,
    expiryMs: settings.deadLetterDays * dayMs,
  };
  const tables = openDeliveryTables(options.file);
  const journal = new ResultJournal(options.file);
  const store = new DeliveryStore({ tables, clock, steady, limits });
  const guard = new AddressGuard(settings.allowNetworks);
  const endpoints = new Endpoints({
    management: options.management,
    ids: options.ids,
    clock,
    randomBytes: options.randomBytes,
    cipher: options.cipher,
    urlFault: (url) => urlFault(guard, url),
    lastBlock: () => newestBlock(scanned?.store),
  });
  const drain = new EndpointDrain({ store, endpoints, log });
  const dispatcher = new Dispatcher({
    store,
    journal,
    endpoints,
    sender,
    drain,
    meter: createWebhookMeter(metrics, (no) => endpoints.byNo(no)?.id),
    log,
    random: options.random,
    limits: {
      endpointMax: perEndpointInFlightMax,
      inFlightMax: settings.inFlightMax,
      bytesMax: settings.inFlightMax * bytesPerAttempt,
    },
    retryDelaysMs: settings.retryDelaysMs,
  });
  return { store, journal, endpoints, drain, dispatcher };
}

function openPool({ ids, settings, log }: WebhooksOptions): PoolSender {
  const { threads, inFlightMax, connectionsMax, timeoutMs, allowNetworks, docsUrl } = settings;
  return new PoolSender({
    threads,
    inFlightMax,
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

function openConsumers(
  { management, outbox, scanned, clock, log }: WebhooksOptions,
  { store, endpoints, dispatcher }: Sending,
) {
  const onCreated = dispatcher.remember.bind(dispatcher);
  const events = new EventConsumer({ store, outbox, endpoints, onCreated });
  const eventLoop = new ConsumerLoop(events, clock, log);
  const blocks =
    scanned === undefined
      ? undefined
      : new BlockConsumer({
          store,
          endpoints,
          onCreated,
          scans: scanned.store,
          codeIdOf: scanned.codeIdOf,
        });
  const blockLoop = blocks === undefined ? undefined : new ConsumerLoop(blocks, clock, log);
  return {
    events,
    blocks,
    loops: blockLoop === undefined ? [eventLoop] : [eventLoop, blockLoop],
    listen: () => [
      management.environment.committed.listen(() => {
        if (events.lag > 0) eventLoop.wake();
      }),
      ...(scanned === undefined ? [] : [scanned.committed.listen(() => blockLoop?.wake())]),
    ],
  };
}

function newestBlock(scans: ScanStore | undefined): number {
  if (scans === undefined) return 0;
  scans.environment.refresh();
  return newestSequence(scans);
}

function problemOf(
  { tables }: DeliveryStore,
  dispatcher: Dispatcher,
  loops: readonly ConsumerLoop[],
): string | undefined {
  if (tables.environment.isFull || dispatcher.fault !== undefined) {
    return 'webhooks paused: the delivery store cannot be written';
  }
  const behindMs = Math.max(...loops.map((loop) => loop.behindMs));
  return behindMs > behindMsMax
    ? `webhooks are ${Math.round(behindMs / 1_000)} s behind the events`
    : undefined;
}
