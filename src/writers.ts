/**
 * The writers: all that changes the stores, but for shards (EngineThreads); redirect threads write journals alone. One
 * process writes at any time: at a takeover the predecessor's write nothing more before the successor opens its own.
 *
 *   open      webhooks -> billing -> mail -> campaigns, watches, retention, digests -> metrics -> API listens -> expiry
 *   endWork   what writes by itself ends, what waits in memory is stored; the API goes on answering
 *   close     the API drains, then everything in the order in which it was opened, backwards
 */
import type { ApiServices } from './api/services.ts';
import { createMetricsHandler } from './api/metrics.ts';
import { openBillingScheduler } from './billing/billing-scheduler.ts';
import { CampaignScheduler, type Counting } from './campaigns/campaign-scheduler.ts';
import type { CampaignServices } from './campaigns/open-campaigns.ts';
import { CodeRetention } from './codes/code-retention.ts';
import { recordsLaterMs } from './codes/expired-numbers.ts';
import type { Codes } from './codes/codes.ts';
import { closeAll, type Closers } from './engine/closers.ts';
import { engineChecks } from './engine/engine-checks.ts';
import { createMetrics, registerEngineMetrics } from './engine/engine-metrics.ts';
import { meteredHealth } from './engine/operator-metrics.ts';
import type { GeoOpening } from './engine/geo-data.ts';
import { watchShedConnections } from './engine/shed-connections.ts';
import type { EngineThreads } from './engine/threads.ts';
import { watchStoredData } from './engine/watch/stored-data.ts';
import type { DashboardFiles } from './http/dashboard/dashboard-files.ts';
import type { HttpServer, HttpServerOptions } from './http/server.ts';
import { ImageCache } from './images/image-cache.ts';
import { registerImageMetrics } from './images/image-metrics.ts';
import type { Images } from './images/image-service.ts';
import type { LinkWriter } from './links/writer.ts';
import { Signal } from './model/signal.ts';
import {
  type Base,
  type FirstAnswers,
  openApiServer,
  openBillingModule,
  openCampaignModule,
  type Mail,
  openHttpsRedirect,
  openMailModule,
  openMetricsServer,
  openPaymentProvider,
  openReportModule,
  openWebhookModule,
  openWorkspaceModule,
} from './modules.ts';
import { DigestScheduler } from './reports/digests/digest-scheduler.ts';
import type { ReportServices } from './reports/open-reports.ts';
import type { Counting as ScanCounting } from './scans/counting.ts';
import type { ScanQueries } from './scans/query/queries.ts';
import type { RawQueries } from './scans/query/raw/raw-queries.ts';
import type { StorePlaces } from './scans/query/store-places.ts';
import type { ScanStore } from './store/scans/scans.ts';
import type { HealthCheck } from './telemetry/health.ts';
import type { Metrics } from './telemetry/metrics.ts';
import { Ticker } from './telemetry/ticker.ts';
import { openWatches } from './watches/open-watches.ts';
import type { WebhookCluster, Webhooks } from './webhooks/open-webhooks.ts';
import type { WorkspaceServices } from './workspaces/services.ts';

/** How often expired events and idempotent answers are removed, and link memory is freed. */
const expireMs = 30_000;
const stoppingApiMsMax = 3_000;

/** What redirects and counts; the writers use it. */
export interface Engine {
  readonly scans: ScanStore;
  readonly queries: ScanQueries;
  readonly rawQueries: RawQueries;
  readonly links: LinkWriter;
  readonly codes: Codes;
  readonly images: Images;
  readonly threads: EngineThreads;
  readonly geo: GeoOpening;
}

/** What a machine of a cluster does otherwise when it answers. */
export interface ClusterAnswers
  extends
    Pick<ApiServices, 'isStale' | 'changesRefused' | 'answerWithinMs' | 'cluster'>,
    Pick<HttpServerOptions, 'forwarded'> {
  /** Deliveries that follow a log. */
  readonly webhooks: (scans: ScanStore) => WebhookCluster;
  /** Cursors that another core has given out. */
  readonly places: (scans: ScanStore) => StorePlaces;
  /** Scans of all nodes: `local` is of the journals that are here. */
  readonly counting: (local: ScanCounting) => Counting;
  /** Answers before the API does. */
  readonly first: FirstAnswers | undefined;
  readonly checks: readonly HealthCheck[];
  readonly registerMetrics: (metrics: Metrics) => void;
}

export interface WritersOptions {
  readonly base: Base;
  readonly engine: Engine;
  readonly dashboard: DashboardFiles;
  /** Resolves when every process that redirects does so by all changes so far; absent = this one alone redirects. */
  readonly changesFollowed?: ApiServices['changesFollowed'];
  /** Absent on a machine alone. */
  readonly cluster?: ClusterAnswers | undefined;
}

export interface Writers {
  readonly apiPort: number;
  /** Afterwards nothing is written to the delivery store, and only what the API is asked for to management.mdb. */
  endWork(): Promise<void>;
  /** Nothing more is delivered, and the results of what was are stored. @param attemptsMsMax of those in flight */
  endDeliveries(attemptsMsMax: number): Promise<void>;
  close(): Promise<void>;
}

/** @throws ListenError */
export async function openWriters(options: WritersOptions): Promise<Writers> {
  const closers: Closers = [];
  const close = (): Promise<void> => closeAll(closers);
  try {
    return { ...(await open(options, closers)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function open(options: WritersOptions, closers: Closers): Promise<Omit<Writers, 'close'>> {
  const { base, engine } = options;
  const workspaces = openWorkspaceModule(base);
  let stored: Promise<void> | undefined;
  const storeWaiting = (): Promise<void> => (stored ??= workspaces.close());
  closers.push(storeWaiting);
  const metrics = createMetrics(base.log);
  const work = await openWork({ ...options, workspaces, metrics }, closers);
  const { webhooks, schedules } = work;
  const { server, stopping } = await openServers(
    { ...options, ...work, workspaces, metrics },
    closers,
  );
  const expiry = openExpiry(base, engine, { ...work, ...schedules, workspaces });
  expiry.start();
  closers.push(async () => {
    engine.threads.stopBegins();
    stopping.fire();
    // Attempts end beside the requests of the API; the module's own closer waits for them.
    void webhooks.stop();
    await expiry.close();
  });
  const endWork = async (): Promise<void> => {
    await webhooks.stop();
    const { digests, billingScheduler, watched: kept, watches } = work;
    const repeating = [expiry, schedules, digests, billingScheduler, kept, watches];
    await Promise.all(repeating.map((one) => one.close()));
    await webhooks.finish();
    await webhooks.environment.hold();
    await storeWaiting();
  };
  return {
    apiPort: server.port,
    endWork,
    endDeliveries: (attemptsMsMax) => webhooks.stop(attemptsMsMax),
  };
}

interface Opening {
  readonly base: Base;
  readonly engine: Engine;
  readonly workspaces: WorkspaceServices;
  readonly metrics: Metrics;
}

/** What works by itself: webhooks, billing, campaigns, schedules, digests. */
async function openWork(
  { base, engine, workspaces, metrics, cluster }: Opening & WritersOptions,
  closers: Closers,
) {
  const { log } = base;
  const delivery = cluster?.webhooks(engine.scans);
  const webhooks = openWebhooks(base, workspaces, engine, metrics, delivery);
  closers.push(() => webhooks.close());
  await webhooks.start();
  registerEngineMetrics(metrics, { ...base, ...engine, webhooks });
  const watched = watchStoredData({ ...base, ...engine, webhooks }, metrics);
  closers.push(() => watched.close());
  const provider = await openPaymentProvider(base);
  const billing = openBillingModule(base, { workspaces, provider });
  const billingScheduler = await openBillingScheduler(billing, log);
  closers.push(() => billingScheduler.close());
  const { codes, queries } = engine;
  const campaigns = openCampaignModule(base, { codes, scans: queries.analytics });
  const local = engine.threads.journals.counting();
  const counting = cluster?.counting(local) ?? local;
  const mail = await openMailModule(base);
  closers.push(() => mail?.close());
  const watches = openWatches({
    ...base,
    codes,
    scans: queries.analytics,
    metrics,
    counting,
    isWell: () => isCounting(engine),
    letters: mail?.letters,
  });
  watches.scheduler.start();
  closers.push(async () => void (await watches.close()));
  const schedules = startSchedules(base, engine, campaigns, { cluster, counting });
  closers.push(() => schedules.close());
  const reports = openReportModule(base, { workspaces, codes, campaigns, scans: queries });
  const digests = startDigests(base, reports, mail);
  closers.push(() => digests.close());
  return {
    webhooks,
    watched,
    billing,
    billingScheduler,
    campaigns,
    schedules,
    mail,
    watches,
    reports,
    digests,
  };
}

/** Whether scans are answered and counted: an hour in which they are not says nothing to a watch. */
function isCounting({ threads }: Engine): boolean {
  const checks = [
    threads.folder.healthCheck,
    ...threads.redirects.checks,
    ...threads.shards.checks,
  ];
  return checks.every(({ problem }) => problem() === undefined);
}

type Work = Awaited<ReturnType<typeof openWork>>;

/** What listens: metrics, the API, its port for plain HTTP. */
async function openServers(
  { base, engine, workspaces, metrics, ...work }: Opening & WritersOptions & Work,
  closers: Closers,
): Promise<{ readonly server: HttpServer; readonly stopping: Signal }> {
  const { config, log, management } = base;
  const { codes, queries, images, threads } = engine;
  const { webhooks, watched: stored, dashboard, changesFollowed, campaigns, billing } = work;
  const { cluster, reports, mail, watches } = work;
  const committed = [management.environment.committed, threads.shards.committed];
  const imageCache = new ImageCache(config.images.cacheBytesMax, committed);
  registerImageMetrics(metrics, { images, imageCache });
  if (config.metrics.port > 0) {
    const metricsServer = await openMetricsServer(base, createMetricsHandler(metrics));
    closers.push(() => metricsServer.close());
  }
  const stopping = new Signal();
  const checks = engineChecks({ ...engine, management, webhooks, links: codes.links, stored });
  const health = meteredHealth(metrics, base, [...checks, ...(cluster?.checks ?? [])]);
  cluster?.registerMetrics(metrics);
  const parts = {
    isStale: cluster?.isStale,
    changesRefused: cluster?.changesRefused,
    answerWithinMs: cluster?.answerWithinMs,
    cluster: cluster?.cluster,
    places: cluster?.places(engine.scans),
    first: cluster?.first,
    codes,
    campaigns,
    reports,
    watches,
    webhooks,
    workspaces,
    billing,
    mail: mail?.letters,
    scans: queries,
    committed,
    changesFollowed,
    stopping,
    images: images.service,
    imageCache,
    designs: images.designs,
    logos: images.logos,
    health,
    metrics,
    dashboard,
  };
  const server = await openApiServer(base, parts, {
    ...config.api,
    forwarded: cluster?.forwarded,
  });
  closers.push(() => server.drain(stoppingApiMsMax));
  closers.push(watchShedConnections(metrics, log, { redirect: threads.redirects, api: server }));
  const { host, httpPort } = config.api;
  if (httpPort > 0) {
    const plain = await openHttpsRedirect(base, workspaces, { host, port: httpPort });
    closers.push(() => plain.close());
  }
  return { server, stopping };
}

interface Expiring {
  readonly workspaces: WorkspaceServices;
  readonly webhooks: Webhooks;
  readonly campaigns: CampaignServices;
  readonly retention: CodeRetention;
}

/** Removes what is over, and frees the memory of links. */
function openExpiry(
  { outbox, log }: Base,
  { links, codes }: Engine,
  { workspaces, webhooks, campaigns, retention }: Expiring,
): Ticker {
  return new Ticker({
    everyMs: expireMs,
    log,
    failed: 'expiry failed, retrying',
    resumed: 'expiry resumed',
    run: async () => {
      links.free();
      codes.links.publishPending();
      retention.tick();
      await Promise.all([
        outbox.expire(webhooks.deliveredEvent),
        workspaces.expire(),
        codes.bulk.expire(),
        campaigns.conversions.expire(),
      ]);
    },
  });
}

function openWebhooks(
  base: Base,
  { cipher }: WorkspaceServices,
  { scans, codes, threads }: Engine,
  metrics: Metrics,
  cluster: WebhookCluster | undefined,
): Webhooks {
  return openWebhookModule(base, {
    cluster,
    cipher,
    metrics,
    scanned: {
      store: scans,
      codeOf: (codeNo) => codes.findScanned(codeNo),
      committed: threads.shards.committed,
      onDelivered: (block) => threads.shards.releaseBlocks(block),
    },
  });
}

interface Schedules {
  readonly retention: CodeRetention;
  close(): Promise<void>;
}

/** What falls due by the clock: the end of campaigns, and of deleted codes. */
function startSchedules(
  { management, clock, log }: Base,
  { codes, threads }: Engine,
  { campaigns }: CampaignServices,
  { cluster, counting }: { readonly cluster: ClusterAnswers | undefined; counting: Counting },
): Schedules {
  const scheduler = new CampaignScheduler({ campaigns, counting, clock, log });
  scheduler.start();
  const retention = new CodeRetention({
    store: management,
    memberships: codes.memberships,
    clock,
    removeNumbers: (expired) => threads.shards.expire(expired),
    laterMs: cluster === undefined ? 0 : recordsLaterMs,
    log,
  });
  const stopListening = threads.shards.onExpired((codeNos) => retention.numbersRemoved(codeNos));
  retention.tick();
  return {
    retention,
    close: async () => {
      stopListening();
      await retention.close();
      await scheduler.close();
    },
  };
}

/** Sends the digests that are due; without a mail server they wait. */
function startDigests(
  { config, clock, log }: Base,
  { digests, digestNumbers: numbers }: ReportServices,
  mail: Mail | undefined,
): { close(): Promise<void> } {
  if (mail === undefined) return { close: async () => undefined };
  const { publicUrl } = config.api;
  const { letters } = mail;
  const send = (letter: Parameters<typeof letters.digest>[0]) => letters.digest(letter);
  const scheduler = new DigestScheduler({ digests, numbers, send, publicUrl, clock, log });
  scheduler.start();
  return scheduler;
}
