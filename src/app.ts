/**
 * The wiring: opens the rooms bottom-up, closes them top-down, and alone knows them all.
 *
 *   data folder -> stores -> journals recovered -> shards catch up -> links loaded
 *     -> redirect threads listen -> API listens
 *
 * Redirects come before the API: printed codes must work first. Stopping goes the other way, and ends
 * when every scan that was answered is in the store.
 */
import { randomFillSync } from 'node:crypto';
import { createApi } from './api/api.ts';
import { importedDrafts } from './api/codes/code-bodies.ts';
import { createMetricsHandler } from './api/metrics.ts';
import { Billing } from './billing/billing.ts';
import { BillingScheduler } from './billing/billing-scheduler.ts';
import { openBilling } from './billing/open-billing.ts';
import { CampaignScheduler } from './campaigns/campaign-scheduler.ts';
import { type CampaignServices, openCampaigns } from './campaigns/open-campaigns.ts';
import { CodeRetention } from './codes/code-retention.ts';
import type { CodeDraft } from './codes/code-creation.ts';
import { Codes } from './codes/codes.ts';
import { LinkRefresher } from './codes/links/link-refresher.ts';
import { type Config, threadCounts } from './config.ts';
import {
  type DataFolder,
  lockDataFolder,
  openDataFolder,
  readSecret,
} from './engine/data-folder.ts';
import { ClientAddresses } from './http/client-address.ts';
import { assertPortFree } from './http/port.ts';
import { assertTlsFiles } from './http/tls-files.ts';
import type { Handler } from './http/request.ts';
import { HttpServer } from './http/server.ts';
import { ImageCache } from './images/image-cache.ts';
import { registerImageMetrics } from './images/image-metrics.ts';
import { type Images, openImages } from './images/image-service.ts';
import { addressSpace, createLinkTableMemory } from './links/layout.ts';
import { LinkWriter } from './links/writer.ts';
import type { InviteMailer } from './mail/invite-letter.ts';
import type { Failure } from './model/failure.ts';
import { createIdSource, type IdSource } from './model/ids.ts';
import { Signal } from './model/signal.ts';
import { DashboardFiles } from './http/dashboard-files.ts';
import { Outbox } from './outbox/outbox.ts';
import { openScanQueries } from './scans/query/queries.ts';
import { namesPerDayMax } from './scans/summaries.ts';
import { loadGeoFiles } from './scans/visitor/geo.ts';
import { type Management, openManagement } from './store/management/management.ts';
import { openScanStore } from './store/scans/scans.ts';
import { systemClock } from './system-clock.ts';
import { checkHealth } from './telemetry/health.ts';
import { createLog, type Logger } from './telemetry/log.ts';
import { Metrics } from './telemetry/metrics.ts';
import { engineChecks } from './engine/engine-checks.ts';
import { registerEngineMetrics } from './engine/engine-metrics.ts';
import { EngineThreads } from './engine/threads.ts';
import { startWebhooks } from './service/webhook-room.ts';
import { openWorkspaceServices, type WorkspaceServices } from './workspaces/services.ts';
import type { Bootstrapped } from './workspaces/workspaces.ts';

/** Start-up waits this long for shards to count what a crash left in the journals. */
const catchUpMsMax = 5_000;
const visitorKeyBytes = 16;
/** New short codes that fit before the link table grows, beyond those that exist. */
const linksRoom = 10_000;
/** How often expired events and idempotent answers are swept, and link memory is reclaimed. */
const sweepMs = 30_000;
const stoppingApiMsMax = 3_000;

const randomBytes = (bytes: Uint8Array): Uint8Array => randomFillSync(bytes);

export interface App {
  /** The ports in use: the configured ones, or those that the system chose for 0. */
  readonly apiPort: number;
  readonly redirectPort: number;
  /** Set at the very first start: secrets to be shown once. */
  readonly bootstrapped: Bootstrapped | undefined;
  /** Ends the service: nothing in flight fails, every answered scan is stored. */
  close(): Promise<void>;
}

/** What the command line needs of a workspace, beside a running service or without one. */
export interface Administration {
  readonly services: WorkspaceServices;
  /** Its changes reach a running service through the numbered changes of links. */
  readonly codes: Codes;
  /** A row of an import, as the body of a new code, checked. */
  readonly draftOf: (row: unknown) => CodeDraft | Failure;
  /** Without a payment provider: what an operator settles by hand. */
  readonly billing: Billing;
  close(): Promise<void>;
}

export function openAdministration(config: Config): Administration {
  const folder = openDataFolder(config.dataDir);
  const { services, close, ...rooms } = openRooms(folder);
  const codes = new Codes({
    store: rooms.management,
    outbox: rooms.outbox,
    links: 'remote',
    ids: rooms.ids,
    clock: systemClock,
    shortUrlBase: config.shortUrlBase,
    scansOf: () => 0,
  });
  const billing = new Billing({
    store: rooms.management,
    outbox: rooms.outbox,
    ids: rooms.ids,
    clock: systemClock,
    log: createLog(config.log.level, process.stderr),
    plans: services.workspaces,
    prices: config.billing.prices,
    currency: config.billing.currency,
    publicUrl: config.api.publicUrl,
    provider: undefined,
  });
  const draftOf = importedDrafts(config.shortUrlBase);
  return { services, codes, draftOf, billing, close };
}

/** @throws DataFolderError, ListenError with a text for the operator */
export async function openApp(config: Config, log: Logger): Promise<App> {
  const folder = openDataFolder(config.dataDir);
  const release = await lockDataFolder(folder);
  const closers: Closers = [release];
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).toReversed()) await closer();
  };
  try {
    return await assemble(config, log, folder, closers, close);
  } catch (error) {
    await close();
    throw error;
  }
}

type Closers = Array<() => Promise<void> | void>;

/** All that counts and redirects: running when this resolves. */
async function openEngine(config: Config, log: Logger, folder: DataFolder, closers: Closers) {
  // Before the first start makes an owner and a key, which are told once, when all listens.
  await assertPortFree(config.redirect.host, config.redirect.port);
  await assertPortFree(config.api.host, config.api.port);
  assertTlsFiles(config.redirect);
  const rooms = openRooms(folder);
  closers.push(rooms.close);
  const { management, outbox, ids, services } = rooms;
  const scans = openScanStore(folder.scansFile);
  closers.push(() => scans.environment.close());
  const bootstrapped = await services.workspaces.bootstrap(config.bootstrap);
  const memory = createLinkTableMemory({
    ...addressSpace,
    readersMax: threadCounts(config).redirect,
    linksExpected: management.last('code') + linksRoom,
  });
  const links = new LinkWriter(memory);
  const queries = openScanQueries(scans, {
    namesPerDayMax,
    codeIdOf: (codeNo) => codes.findByNo(codeNo)?.id,
  });
  const codes = new Codes({
    store: management,
    outbox,
    links,
    ids,
    clock: systemClock,
    shortUrlBase: config.shortUrlBase,
    scansOf: (codeNo) => queries.analytics.lifetimeScans(codeNo),
    designs: { accept: (...design) => images.designs.accept(...design) },
    search: { bytesMax: config.codes.searchBytesMax },
  });
  const refresher = new LinkRefresher(management, codes.links, log);
  closers.push(() => refresher.close());
  const threads = new EngineThreads({
    config,
    clock: systemClock,
    log,
    folder,
    store: scans,
    links: memory,
    visitor: openVisitor(config, log, folder),
  });
  closers.push(() => threads.stop());
  // All threads boot while this one fills the link table.
  const catchingUp = threads.shards.start(catchUpMsMax);
  const openRedirects = await threads.redirects.boot();
  codes.links.load();
  if (!(await catchingUp)) {
    log.warn('shards are still counting what the journals hold; limits of codes may be exceeded');
  }
  codes.links.loadLimited();
  refresher.start();
  await openRedirects();
  const images = openImageServices(config, folder, management, closers);
  const committed = [management.environment.committed, threads.shards.committed];
  const imageCache = new ImageCache(config.images.cacheBytesMax, committed);
  const running = { scans, links, queries, codes, threads, images, imageCache, committed };
  return { ...rooms, ...running, bootstrapped, deliveryFile: folder.deliveryFile };
}

/** What tells scanners apart, and where they are. */
function openVisitor(config: Config, log: Logger, folder: DataFolder) {
  const geo = loadGeoFiles(config.geo);
  for (const warning of geo.warnings) log.warn(warning);
  return { key: readSecret(folder, 'visitor.key', visitorKeyBytes), geo };
}

function openImageServices(
  config: Config,
  folder: DataFolder,
  store: Management,
  closers: Closers,
): Images {
  const images = openImages({
    ...config.images,
    shortUrlBase: config.shortUrlBase,
    threads: threadCounts(config).pool,
    store,
    clock: systemClock,
    dataDir: folder.path,
  });
  closers.push(() => images.close());
  return images;
}

async function assemble(
  config: Config,
  log: Logger,
  folder: DataFolder,
  closers: Closers,
  close: () => Promise<void>,
): Promise<App> {
  const engine = await openEngine(config, log, folder, closers);
  const { bootstrapped, outbox, ids, services, links, queries, codes, threads, images } = engine;
  const metrics = new Metrics((metric, err) =>
    log.error({ metric, err }, 'cannot collect a metric'),
  );
  const webhooks = startWebhooks({ ...engine, config, log, metrics });
  closers.push(() => webhooks.close());
  registerEngineMetrics(metrics, { ...engine, webhooks });
  registerImageMetrics(metrics, engine);
  const billing = await openRunningBilling(config, log, engine, closers);
  const { campaigns, retention } = openSchedules(engine, log, closers);
  const dashboard = DashboardFiles.open(log);
  closers.push(() => dashboard.close());
  let isStopping = false;
  const watched = { ...engine, webhooks, links: codes.links };
  const checks = engineChecks({ ...watched, isStopping: () => isStopping });
  const stopping = new Signal();
  const api = createApi({
    config,
    clock: systemClock,
    ids,
    log,
    codes,
    campaigns,
    webhooks,
    workspaces: services,
    outbox,
    billing,
    mail: await openMail(config, log, closers),
    scans: queries,
    committed: engine.committed,
    stopping,
    images: images.service,
    imageCache: engine.imageCache,
    designs: images.designs,
    logos: images.logos,
    health: () => checkHealth(checks),
    metrics,
    dashboard,
  });
  const server = await openServers(config, log, { ids, api, metrics }, closers);
  const sweeper = setInterval(() => {
    links.reclaim();
    codes.links.publishPending();
    retention.tick();
    const sweeps = [
      outbox.expire(webhooks.deliveredEvent),
      services.expire(),
      codes.bulk.expire(),
      campaigns.conversions.expire(),
    ];
    Promise.all(sweeps).catch((err: unknown) => log.error({ err }, 'cannot sweep what expired'));
  }, sweepMs);
  closers.push(() => {
    isStopping = true;
    stopping.fire();
    clearInterval(sweeper);
    // Attempts end beside the requests of the API; the room's own closer waits for them.
    void webhooks.stop();
  });
  return { apiPort: server.port, redirectPort: threads.redirects.port, bootstrapped, close };
}

/** The API's listener, and that of metrics where they have their own. @returns the API's */
async function openServers(
  config: Config,
  log: Logger,
  { ids, api, metrics }: { ids: IdSource; api: Handler; metrics: Metrics },
  closers: Closers,
): Promise<HttpServer> {
  const listen = (address: { host: string; port: number }, handler: Handler) =>
    HttpServer.open({
      ...config.api,
      ...address,
      addresses: new ClientAddresses(config.trustedProxies),
      newRequestId: () => ids.newId('req'),
      handler,
      onDefect: (err, requestId) => log.error({ err, requestId }, 'request failed by a defect'),
    });
  if (config.metrics.port > 0) {
    const server = await listen(config.metrics, createMetricsHandler(metrics));
    closers.push(() => server.close());
  }
  const server = await listen(config.api, api);
  closers.push(() => server.drain(stoppingApiMsMax));
  return server;
}

/**
 * Undefined where no mail server is configured: then its package is not loaded either (100 ms of a start).
 * What waits is dropped when the service stops.
 */
async function openMail(
  config: Config,
  log: Logger,
  closers: Closers,
): Promise<InviteMailer | undefined> {
  if (config.mail.host === '') return undefined;
  const { InviteMailer } = await import('./mail/invite-letter.ts');
  const { Mailer } = await import('./mail/mailer.ts');
  const mailer = new Mailer(config.mail, log);
  closers.push(() => mailer.close());
  return new InviteMailer(mailer);
}

/** What falls due by the clock: the end of campaigns, and of deleted codes. */
function openSchedules(
  engine: Awaited<ReturnType<typeof openEngine>>,
  log: Logger,
  closers: Closers,
): { campaigns: CampaignServices; retention: CodeRetention } {
  const { management, codes, threads, queries } = engine;
  const clock = systemClock;
  const scans = queries.analytics;
  const campaigns = openCampaigns({ ...engine, store: management, scans, clock });
  const counting = threads.journals.counting();
  const scheduler = new CampaignScheduler({ campaigns: campaigns.campaigns, counting, clock, log });
  closers.push(() => scheduler.close());
  scheduler.start();
  const retention = new CodeRetention({
    store: management,
    memberships: codes.memberships,
    clock,
    removeNumbers: (expired) => threads.shards.expire(expired),
    log,
  });
  threads.shards.onExpired = (codeNos) => retention.numbersRemoved(codeNos);
  closers.push(() => retention.close());
  retention.tick();
  return { campaigns, retention };
}

/** Billing with its provider and its timer. */
async function openRunningBilling(
  config: Config,
  log: Logger,
  { management, outbox, ids, services }: ReturnType<typeof openRooms>,
  closers: Closers,
): Promise<Billing> {
  const parts = { store: management, outbox, ids, clock: systemClock, log };
  const billing = await openBilling(config, { ...parts, plans: services.workspaces });
  const timer = await BillingScheduler.open(billing, log);
  closers.push(() => timer.close());
  return billing;
}

function openRooms(folder: DataFolder) {
  const management = openManagement(folder.managementFile);
  const ids = createIdSource(systemClock, randomBytes);
  const outbox = new Outbox(management, ids, systemClock);
  const services = openWorkspaceServices({
    store: management,
    ids,
    clock: systemClock,
    randomBytes,
    dataDir: folder.path,
  });
  const close = async (): Promise<void> => {
    await services.close();
    await management.close();
  };
  return { management, outbox, ids, services, close };
}
