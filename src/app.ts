/**
 * The service: opens the modules bottom-up, closes them top-down.
 *
 *   data folder -> stores -> journals recovered -> shards catch up -> links loaded -> dashboard built
 *     -> redirect threads listen -> API listens
 *
 * Redirects come before the API: printed codes must work first. Stopping goes the other way, and ends
 * when every scan that was answered is in the store.
 */
import { importedDrafts } from './api/codes/code-bodies.ts';
import { createMetricsHandler } from './api/metrics.ts';
import type { Billing } from './billing/billing.ts';
import { openBillingScheduler } from './billing/billing-scheduler.ts';
import { CampaignScheduler } from './campaigns/campaign-scheduler.ts';
import type { CampaignServices } from './campaigns/open-campaigns.ts';
import { CodeRetention } from './codes/code-retention.ts';
import type { CodeDraft } from './codes/code-creation.ts';
import type { Codes } from './codes/codes.ts';
import { LinkRefresher } from './codes/links/link-refresher.ts';
import type { Config } from './config.ts';
import { inheritedFontSettings, setProcessVariables } from './environment.ts';
import { closeAll, type Closers } from './engine/closers.ts';
import { type DataFolder, openDataFolder, readSecret } from './engine/data-folder.ts';
import { startWarnings } from './engine/config-warnings.ts';
import { engineChecks } from './engine/engine-checks.ts';
import { createMetrics, registerEngineMetrics } from './engine/engine-metrics.ts';
import { narrowModes } from './engine/file-modes.ts';
import type { FirstSecrets, FirstStart } from './engine/installation/first-start.ts';
import { visitorKeyBytes, visitorKeyFile } from './engine/installation/key-files.ts';
import { fitToMemory, threadCounts } from './engine/machine/machine-plan.ts';
import { raise } from './engine/installation/numbers.ts';
import { ServiceFolder, type ServiceStart } from './engine/installation/service-folder.ts';
import { watchShedConnections } from './engine/shed-connections.ts';
import { GeoOpening } from './engine/geo-data.ts';
import { EngineThreads } from './engine/threads.ts';
import { watchStoredData } from './engine/watch/stored-data.ts';
import { openDashboard } from './http/dashboard/dashboard-cache.ts';
import { DashboardFiles } from './http/dashboard/dashboard-files.ts';
import { assertPortFree } from './http/port.ts';
import { assertTlsFiles } from './http/tls-files.ts';
import { ImageCache } from './images/image-cache.ts';
import { registerImageMetrics } from './images/image-metrics.ts';
import { type Images, openImages } from './images/image-service.ts';
import { libraryVariables } from './images/library-settings.ts';
import { addressSpace, createLinkTableMemory } from './links/layout.ts';
import { LinkWriter } from './links/writer.ts';
import type { Failure } from './model/failure.ts';
import { Signal } from './model/signal.ts';
import {
  type Base,
  imageOptions,
  type Machine,
  openApiServer,
  openBase,
  openBillingModule,
  openCampaignModule,
  openCodeModule,
  openFirstStart,
  openHttpsRedirect,
  openMailModule,
  openPaymentProvider,
  openMetricsServer,
  openWebhookModule,
  openWorkspaceModule,
  thisMachine,
} from './modules.ts';
import { openScanQueries, type ScanQueries } from './scans/query/queries.ts';
import type { VisitorSetup } from './scans/visitor/visitor.ts';
import { openScanStore, type ScanStore } from './store/scans/scans.ts';
import { checkHealth } from './telemetry/health.ts';
import { createLog, type Logger } from './telemetry/log.ts';
import type { Metrics } from './telemetry/metrics.ts';
import { Ticker } from './telemetry/ticker.ts';
import type { Webhooks } from './webhooks/open-webhooks.ts';
import type { WorkspaceServices } from './workspaces/services.ts';

/** Start-up waits this long for shards to count what a crash left in the journals. */
const catchUpMsMax = 5_000;
/** New short codes that fit before the link table grows, beyond those that exist. */
const newLinksExpected = 10_000;
/** How often expired events and idempotent answers are removed, and link memory is freed. */
const expireMs = 30_000;
const stoppingApiMsMax = 3_000;

export interface App {
  /** The ports in use: the configured ones, or those that the system chose for 0. */
  readonly apiPort: number;
  readonly redirectPort: number;
  /** Secrets of the very first start, until they are shown. */
  readonly firstSecrets: FirstSecrets | undefined;
  /** They were shown: no later start shows them again. */
  secretsShown(): void;
  /** Ends the service: nothing in flight fails, every answered scan is stored. */
  close(): Promise<void>;
}

export interface AppOptions {
  /** Default: this one. */
  readonly machine?: Machine;
  /** Whether a first start may be made; default `any`. */
  readonly start?: ServiceStart;
  /** Takes over from the service that runs on the data folder, where one does. */
  readonly takeover?: true | undefined;
}

/** What the command line needs of a workspace, beside a running service or without one. */
export interface Administration {
  readonly services: WorkspaceServices;
  readonly firstStart: FirstStart;
  /** Its changes reach a running service through the numbered changes of links. */
  readonly codes: Codes;
  /** A row of an import, as the body of a new code, checked. */
  readonly draftOf: (row: unknown) => CodeDraft | Failure;
  /** Without a payment provider: what an operator settles by hand. */
  readonly billing: Billing;
  close(): Promise<void>;
}

export function openAdministration(
  config: Config,
  folder: DataFolder = openDataFolder(config.dataDir),
  machine: Machine = thisMachine,
): Administration {
  const log = createLog(config.log.level, process.stderr);
  const base = openBase(config, folder, log, machine);
  const workspaces = openWorkspaceModule(base);
  return {
    services: workspaces,
    firstStart: openFirstStart(base, workspaces),
    codes: openCodeModule(base, { links: 'remote', scansOf: () => 0 }),
    draftOf: importedDrafts(config.shortUrlBase),
    billing: openBillingModule(base, { workspaces, provider: undefined }),
    async close() {
      await workspaces.close();
      await base.management.close();
    },
  };
}

/** @throws DataFolderError, MachineLimitError, ListenError with a text for the operator */
export async function openApp(
  configured: Config,
  log: Logger,
  { machine = thisMachine, start = 'any' }: AppOptions = {},
): Promise<App> {
  const config = fitToMemory(configured);
  const service = await ServiceFolder.open(config.dataDir, start, log);
  const { folder } = service;
  const closers: Closers = [() => service.unlock()];
  const close = (): Promise<void> => closeAll(closers);
  try {
    const warnings = startWarnings(config, folder.path);
    const files = narrowModes(folder.path);
    if (files > 0) log.info({ files }, 'closed files of the data folder to other users');
    setProcessVariables(libraryVariables(folder.path, inheritedFontSettings));
    // Before the first start makes an owner and a key, which are shown once, when all listens.
    for (const { host, port, httpPort } of [config.redirect, config.api]) {
      await assertPortFree(host, port);
      if (httpPort > 0) await assertPortFree(host, httpPort);
    }
    assertTlsFiles(config.redirect);
    assertTlsFiles(config.api);
    await service.make(machine.randomBytes);
    const pages = openDashboard(folder.cacheRoot, log);
    closers.push(async () => void (await pages));
    const base = openBase(config, folder, log, machine);
    closers.push(() => base.management.close());
    closers.push(await service.begin(base.management));
    const workspaces = openWorkspaceModule(base);
    closers.push(() => workspaces.close());
    const firstStart = openFirstStart(base, workspaces);
    const firstSecrets = await firstStart.open();
    const engine = await openEngine(base, pages, closers);
    const dashboard = new DashboardFiles(await pages);
    const apiPort = await openManagement(base, workspaces, engine, dashboard, closers);
    // A start that fails says why in one line.
    for (const warning of warnings) log.warn(warning);
    const redirectPort = engine.threads.redirects.port;
    const secretsShown = (): void => firstStart.shown();
    return { apiPort, redirectPort, firstSecrets, secretsShown, close };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Engine {
  readonly scans: ScanStore;
  readonly queries: ScanQueries;
  readonly links: LinkWriter;
  readonly codes: Codes;
  readonly images: Images;
  readonly threads: EngineThreads;
  readonly geo: GeoOpening;
}

/** All that counts and redirects: running when this resolves. @param pages settles before anything listens */
async function openEngine(base: Base, pages: Promise<unknown>, closers: Closers): Promise<Engine> {
  const { config, folder, log, clock, management } = base;
  const scans = openScanStore(folder.scansFile);
  closers.push(() => scans.environment.close());
  const memory = createLinkTableMemory({
    ...addressSpace,
    readersMax: threadCounts(config).redirect,
    linksExpected: management.last('code') + newLinksExpected,
  });
  const links = new LinkWriter(memory);
  const queries = openScanQueries(scans, (codeNo) => codes.idOf(codeNo));
  const codes = openCodeModule(base, {
    links,
    scansOf: (codeNo) => queries.analytics.lifetimeScans(codeNo),
    designs: { accept: (...design) => images.designs.accept(...design) },
  });
  const refresher = new LinkRefresher(management, codes.links, log);
  closers.push(() => refresher.close());
  const geo = new GeoOpening(config.geo, folder.cacheRoot, base);
  closers.push(() => geo.close());
  const threads = new EngineThreads({
    config,
    clock,
    log,
    folder,
    store: scans,
    links: memory,
    connectionsMax: base.shares.redirectThread,
    visitor: visitorSetup(geo, folder),
  });
  closers.push(() => threads.stop());
  threads.shards.onSeen = (seen) => raise(management, log, seen);
  // Redirects do not wait for a table of places that is being made, unless there is something to catch up with.
  const catchUpMs = geo.isReady || threads.shards.lag.uncountedBytes > 0 ? catchUpMsMax : 0;
  // All threads boot while this one fills the link table.
  const catchingUp = threads.shards.start(catchUpMs);
  const openRedirects = await threads.redirects.boot();
  codes.links.load();
  if (!(await catchingUp) && catchUpMs > 0) {
    log.warn('shards are still counting what the journals hold; limits of codes may be exceeded');
  }
  codes.links.loadLimited();
  refresher.start();
  // The last process that the service starts has ended before connections may take every descriptor.
  await pages;
  await openRedirects();
  const images = openImages(imageOptions(base));
  closers.push(() => images.close());
  return { scans, queries, links, codes, images, threads, geo };
}

/** What tells scanners apart, and where they are. */
function visitorSetup({ table }: GeoOpening, folder: DataFolder): Promise<VisitorSetup> {
  const key = readSecret(folder, visitorKeyFile, visitorKeyBytes);
  return table.then((geo) => ({ key, geo }));
}

/** Everything above the engine, up to the API. @returns the API's port */
async function openManagement(
  base: Base,
  workspaces: WorkspaceServices,
  engine: Engine,
  dashboard: DashboardFiles,
  closers: Closers,
): Promise<number> {
  const { config, log, management } = base;
  const { codes, queries, images, threads, geo } = engine;
  const metrics = createMetrics(log);
  const webhooks = startWebhooks(base, workspaces, engine, metrics);
  closers.push(() => webhooks.close());
  registerEngineMetrics(metrics, { ...base, ...engine, webhooks });
  const stored = watchStoredData({ ...base, ...engine, webhooks }, metrics);
  closers.push(() => stored.close());
  const committed = [management.environment.committed, threads.shards.committed];
  const imageCache = new ImageCache(config.images.cacheBytesMax, committed);
  registerImageMetrics(metrics, { images, imageCache });
  const provider = await openPaymentProvider(base);
  const billing = openBillingModule(base, { workspaces, provider });
  const billingScheduler = await openBillingScheduler(billing, log);
  closers.push(() => billingScheduler.close());
  const campaigns = openCampaignModule(base, { codes, scans: queries.analytics });
  const retention = startSchedules(base, engine, campaigns, closers);
  const mail = await openMailModule(base);
  closers.push(() => mail?.close());
  if (config.metrics.port > 0) {
    const server = await openMetricsServer(base, createMetricsHandler(metrics));
    closers.push(() => server.close());
  }
  const stopping = new Signal();
  const checks = engineChecks({ threads, management, geo, webhooks, links: codes.links, stored });
  const server = await openApiServer(base, {
    codes,
    campaigns,
    webhooks,
    workspaces,
    billing,
    mail: mail?.letters,
    scans: queries,
    committed,
    stopping,
    images: images.service,
    imageCache,
    designs: images.designs,
    logos: images.logos,
    health: () => checkHealth(checks),
    metrics,
    dashboard,
  });
  closers.push(() => server.drain(stoppingApiMsMax));
  closers.push(watchShedConnections(metrics, log, { redirect: threads.redirects, api: server }));
  const { host, httpPort } = config.api;
  if (httpPort > 0) {
    const plain = await openHttpsRedirect(base, workspaces, { host, port: httpPort });
    closers.push(() => plain.close());
  }
  const expiry = openExpiry(base, engine, { workspaces, webhooks, campaigns, retention });
  expiry.start();
  closers.push(async () => {
    threads.stopBegins();
    stopping.fire();
    // Attempts end beside the requests of the API; the module's own closer waits for them.
    void webhooks.stop();
    await expiry.close();
  });
  return server.port;
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

function startWebhooks(
  base: Base,
  { cipher }: WorkspaceServices,
  { scans, codes, threads }: Engine,
  metrics: Metrics,
): Webhooks {
  const webhooks = openWebhookModule(base, {
    cipher,
    metrics,
    scanned: {
      store: scans,
      codeIdOf: (codeNo) => codes.idOf(codeNo),
      committed: threads.shards.committed,
      onDelivered: (block) => threads.shards.releaseBlocks(block),
    },
  });
  webhooks.start();
  return webhooks;
}

/** What falls due by the clock: the end of campaigns, and of deleted codes. */
function startSchedules(
  { management, clock, log }: Base,
  { codes, threads }: Engine,
  { campaigns }: CampaignServices,
  closers: Closers,
): CodeRetention {
  const counting = threads.journals.counting();
  const scheduler = new CampaignScheduler({ campaigns, counting, clock, log });
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
  return retention;
}
