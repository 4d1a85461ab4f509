/**
 * The services: all modules that change the stores, except shards (EngineThreads). One process writes at any time: at a takeover
 * the predecessor's services end before the successor opens its own.
 *
 *   open      webhooks -> billing -> mail -> campaigns, watches, retention, digests -> metrics -> API listens -> expiry
 *   endWork   ends background writes, stores data in memory; the API still answers
 *   close     the API drains, then everything else closes in reverse
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
import { createMetrics, registerEngineMetrics } from './engine/engine-metrics.ts';
import { engineChecks, meteredHealth, watchShedConnections } from './engine/operator-metrics.ts';
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
import type { StorePlaces } from './store/scans/store-places.ts';
import type { OpenGeo } from './scans/visitor/geo/geo-data.ts';
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

export interface Engine {
  readonly scans: ScanStore;
  readonly queries: ScanQueries;
  readonly rawQueries: RawQueries;
  readonly links: LinkWriter;
  readonly codes: Codes;
  readonly images: Images;
  readonly threads: EngineThreads;
  readonly geo: OpenGeo;
}

export interface ClusterAnswers
  extends
    Pick<ApiServices, 'isStale' | 'changesRefused' | 'answerWithinMs' | 'cluster'>,
    Pick<HttpServerOptions, 'forwarded'> {
  /** Deliveries that follow a log. */
  readonly webhooks: (scans: ScanStore) => WebhookCluster;
  /** For cursors of another core. */
  readonly places: (scans: ScanStore) => StorePlaces;
  /** Of all nodes. @param local of the journals on this one */
  readonly counting: (local: ScanCounting) => Counting;
  readonly first: FirstAnswers | undefined;
  readonly checks: readonly HealthCheck[];
  readonly registerMetrics: (metrics: Metrics) => void;
}

export interface ServicesOptions {
  readonly base: Base;
  readonly engine: Engine;
  readonly dashboard: DashboardFiles;
  readonly changesFollowed?: ApiServices['changesFollowed'];
  readonly cluster?: ClusterAnswers | undefined;
}

export interface Services {
  readonly apiPort: number;
  /** Afterwards only requests of the API write, and only to management.mdb. */
  endWork(): Promise<void>;
  /** Ends deliveries and stores their results. @param attemptsMsMax for attempts in flight */
  endDeliveries(attemptsMsMax: number): Promise<void>;
  close(): Promise<void>;
}

/** @throws ListenError */
export async function openServices(options: ServicesOptions): Promise<Services> {
  const closers: Closers = [];
  const close = (): Promise<void> => closeAll(closers);
  try {
    return { ...(await open(options, closers)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function open(options: ServicesOptions, closers: Closers): Promise<Omit<Services, 'close'>> {
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
    engine.threads.beginStop();
    stopping.fire();
    // Attempts end while the API drains; the closer of the module waits for them.
    void webhooks.stop();
    await expiry.close();
  });
  const endWork = async (): Promise<void> => {
    await webhooks.stop();
    const { digests, billingScheduler, watched, watches } = work;
    watched.close();
    const repeating = [expiry, schedules, digests, billingScheduler, watches];
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

interface Opening extends ServicesOptions {
  readonly workspaces: WorkspaceServices;
  readonly metrics: Metrics;
}

async function openWork({ base, engine, workspaces, metrics, cluster }: Opening, closers: Closers) {
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

/** False if scans are not answered or not counted: a watch ignores such an hour. */
function isCounting({ threads }: Engine): boolean {
  const checks = [
    threads.folder.healthCheck,
    ...threads.redirects.checks,
    ...threads.shards.checks,
  ];
  return checks.every(({ problem }) => problem() === undefined);
}

type Work = Awaited<ReturnType<typeof openWork>>;

async function openServers(
  { base, engine, workspaces, metrics, ...work }: Opening & Work,
  closers: Closers,
): Promise<{ readonly server: HttpServer; readonly stopping: Signal }> {
  const { config, log, management } = base;
  const { codes, queries, images, threads } = engine;
  const { webhooks, watched: stored, cluster, mail } = work;
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
    ...cluster,
    ...engine,
    ...work,
    cluster: cluster?.cluster,
    places: cluster?.places(engine.scans),
    workspaces,
    mail: mail?.letters,
    scans: queries,
    committed,
    stopping,
    images: images.service,
    imageCache,
    designs: images.designs,
    logos: images.logos,
    health,
    metrics,
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

/** Sends due digests; without a mail server they wait. */
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
