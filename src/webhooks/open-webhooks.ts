/**
 * Puts the module together: what the app opens once and the API calls.
 *
 *   outbox, blocks --> followers --> book (queue) --> dispatcher --> sender --> pool
 *                                      ^  wheel tick -----^              |
 *                                      +------------ results <-----------+
 *
 * Opening sends nothing; `start` does, when all that it stands on is there.
 */
import type { Clock, SteadyClock } from '../model/clock.ts';
import type { IdSource, RandomBytes } from '../model/ids.ts';
import type { Signal } from '../model/signal.ts';
import type { AttemptSettings } from '../model/webhook.ts';
import type { Outbox } from '../outbox/outbox.ts';
import { openDeliveryTables } from '../store/delivery/delivery.ts';
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

/** Bodies in flight, all together: beside the count, what bounds memory. */
const bytesInFlightMax = 67_108_864;
/** At a stop attempts may take this long to end: as long as requests of the API, and beside them. */
const drainMsMax = 3_000;
/** Later than this, an operator should look. */
const behindMsMax = 30_000;
const dayMs = 86_400_000;

export interface WebhookSettings {
  /** Pool threads that sign and send. */
  readonly threads: number;
  readonly retryDelaysMs: readonly number[];
  readonly inFlightMax: number;
  readonly perEndpointInFlightMax: number;
  /** Delivered ones that an endpoint's list keeps. */
  readonly deliveriesKept: number;
  readonly deadLetterDays: number;
}

export interface WebhooksOptions {
  /** The delivery environment's file. */
  readonly file: string;
  readonly management: Management;
  readonly outbox: Outbox;
  /** Where `qr.scanned` comes from; a test of the API has none. */
  readonly scanned?: {
    readonly store: ScanStore;
    /** The public id of a code, undefined when it is gone for good. */
    readonly codeIdOf: (codeNo: number) => string | undefined;
    /** Fired when there are new blocks. */
    readonly committed: Signal;
    /** Told up to which block deliveries were made. */
    readonly onDelivered: (block: number) => void;
  };
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly steady: SteadyClock;
  readonly randomBytes: RandomBytes;
  /** 0 to 1. */
  readonly random: () => number;
  readonly seal: Cipher;
  readonly settings: WebhookSettings & AttemptSettings;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Instead of the pool: for tests. */
  readonly sender?: AttemptSender;
}

export interface Webhooks {
  readonly endpoints: Endpoints;
  readonly deliveries: Deliveries;
  /** Events up to here have their deliveries: the outbox may be trimmed to it. */
  readonly deliveredEvent: number;
  /** What an operator should know; undefined = all is well. */
  readonly problem: string | undefined;
  /** Threads that died while sending. */
  readonly threadDeaths: number;
  /** Begins to follow and to send. */
  start(): void;
  /** One tick of the wheel, now: for a test with a clock of its own, instead of `start`. */
  tick(): Promise<void>;
  /** Nothing happens by itself before the next tick, event or answer: for a test that waits for that. */
  readonly isQuiet: boolean;
  /** Takes and starts nothing more; attempts in flight may end. What waits stays queued. */
  stop(): Promise<void>;
  /** Ends the threads and closes the store: when nobody asks for deliveries any more. */
  close(): Promise<void>;
}

export function openWebhooks(options: WebhooksOptions): Webhooks {
  const { clock, log, scanned, metrics } = options;
  const sender = options.sender ?? openPool(options);
  const sending = openSending(options, sender);
  const { book, journal, endpoints, dispatcher, sweep } = sending;
  dispatcher.recover();
  const deliveries = new Deliveries({ book, endpoints, dispatcher, sweep, sender, clock });
  const followers = openFollowers(options, sending);
  const { events, blocks, loops } = followers;
  const tick = new RetryScheduler({
    book,
    dispatcher,
    log,
    save: () => Promise.all([events.save(), blocks?.save()]),
    everySecond: () => {
      // Events of another process, a command's for example, fire nothing here.
      options.management.environment.refresh();
      for (const loop of loops) loop.wake();
      if (blocks !== undefined) scanned?.onDelivered(blocks.delivered);
    },
  });
  registerWebhookMetrics(metrics, { book, dispatcher, followers });
  const listening: Array<() => void> = [];
  const stopAll = async (): Promise<void> => {
    for (const end of listening) end();
    await tick.close();
    await Promise.all(loops.map((loop) => loop.close()));
    await dispatcher.stop(drainMsMax);
  };
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopping ??= stopAll());
  return {
    endpoints,
    deliveries,
    get deliveredEvent() {
      return events.delivered;
    },
    get problem() {
      return problemOf(book, dispatcher, loops);
    },
    get threadDeaths() {
      return sender instanceof PoolSender ? sender.stats().deaths : 0;
    },
    get isQuiet() {
      return dispatcher.isQuiet && sweep.isQuiet && loops.every((loop) => loop.isQuiet);
    },
    start() {
      sweep.resume();
      listening.push(...followers.listen());
      for (const loop of loops) loop.wake();
      tick.start();
    },
    tick: () => tick.tick(),
    stop,
    async close() {
      await stop();
      await sweep.close();
      await sender.close();
      await dispatcher.settle();
      await book.store.environment.close();
      journal.close();
    },
  };
}

type Sending = ReturnType<typeof openSending>;

/** From the queue to the wire and back. */
function openSending(options: WebhooksOptions, sender: AttemptSender) {
  const { clock, steady, log, settings, scanned, metrics } = options;
  const limits = {
    keptMax: settings.deliveriesKept,
    expiryMs: settings.deadLetterDays * dayMs,
  };
  const store = openDeliveryTables(options.file);
  const journal = new ResultJournal(options.file);
  const book = new DeliveryStore({ store, clock, steady, limits });
  const guard = new AddressGuard(settings.allowNetworks);
  const endpoints = new Endpoints({
    store: options.management,
    ids: options.ids,
    clock,
    randomBytes: options.randomBytes,
    seal: options.seal,
    urlFault: (url) => urlFault(guard, url),
    lastBlock: () => newestBlock(scanned?.store),
  });
  const sweep = new EndpointDrain({ book, endpoints, log });
  const dispatcher = new Dispatcher({
    book,
    journal,
    endpoints,
    sender,
    sweep,
    meter: createWebhookMeter(metrics, (no) => endpoints.byNo(no)?.id),
    log,
    random: options.random,
    limits: {
      endpointMax: settings.perEndpointInFlightMax,
      inFlightMax: settings.inFlightMax,
      bytesMax: bytesInFlightMax,
    },
    retryDelaysMs: settings.retryDelaysMs,
  });
  return { book, journal, endpoints, sweep, dispatcher };
}

function openPool({ ids, settings, log }: WebhooksOptions): PoolSender {
  const { threads, inFlightMax, timeoutMs, allowNetworks, docsUrl } = settings;
  return new PoolSender({
    threads,
    inFlightMax,
    channel: ids.newId('dlv'),
    settings: { timeoutMs, allowNetworks, docsUrl },
    onDeath: (err) => log.warn({ err }, 'a thread that sends webhooks died, another takes over'),
  });
}

function openFollowers(
  { management, outbox, scanned, clock, log }: WebhooksOptions,
  { book, endpoints, dispatcher }: Sending,
) {
  const onMade = dispatcher.offer.bind(dispatcher);
  const events = new EventConsumer({ book, outbox, endpoints, onMade });
  const eventLoop = new ConsumerLoop(events, clock, log);
  const blocks =
    scanned === undefined
      ? undefined
      : new BlockConsumer({
          book,
          endpoints,
          onMade,
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
  { store }: DeliveryStore,
  dispatcher: Dispatcher,
  loops: readonly ConsumerLoop[],
): string | undefined {
  if (store.environment.isFull || dispatcher.fault !== undefined) {
    return 'deliveries wait, their store cannot be written; nothing is sent';
  }
  const behindMs = Math.max(...loops.map((loop) => loop.behindMs));
  return behindMs > behindMsMax
    ? `webhooks are ${Math.round(behindMs / 1_000)} s behind the events`
    : undefined;
}
