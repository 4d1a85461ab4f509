/**
 * The services: all modules that change the stores, except shards (EngineThreads). Only one process writes at a time:
 * in a takeover, the predecessor's services close before the successor opens the stores.
 *
 *   open      workspaces -> webhooks -> billing, campaigns, reports, mail
 *             -> schedulers: billing, watches, campaigns, retention, digests -> ports of metrics and API -> expiry
 *   close     the API drains, then everything else closes in reverse
 */
import { ApiServer } from '../api/api.ts';
import type { ApiCluster, ApiServices } from '../api/services.ts';
import { CampaignScheduler, type Counting } from '../product/campaigns/campaign-scheduler.ts';
import { CodeRetention, type CodeRetentionOptions } from '../product/codes/code-retention.ts';
import { type Closers, openWithClosers } from '../platform/closers.ts';
import { isPage } from '../dashboard/paths.ts';
import { createMetrics, registerEngineMetrics } from './metrics/engine-metrics.ts';
import { engineChecks, meteredHealth } from './metrics/operator-metrics.ts';
import type { EngineThreads } from '../engine/threads.ts';
import { StoredData } from './metrics/stored-data.ts';
import { DashboardFiles } from '../api/server/dashboard-files.ts';
import { createImageCache } from '../product/images/image-cache.ts';
import { registerImageMetrics } from '../product/images/image-service.ts';
import { Signal } from '../model/signal.ts';
import {
  type Base,
  openBillingModule,
  openCampaignModule,
  openMailModule,
  openPaymentProvider,
  openReportModule,
  openWebhookModule,
  openWorkspaceModule,
} from './modules.ts';
import type { Engine } from './open-engine.ts';
import { openPorts, type PortsOptions } from './ports.ts';
import { DigestScheduler } from '../product/reports/digests/digest-scheduler.ts';
import { Counting as ScanCounting } from '../engine/counting/counting.ts';
import { shipped } from '../platform/shipped.ts';
import type { HealthCheck } from '../platform/health.ts';
import type { Metrics } from '../platform/metrics.ts';
import { Ticker } from '../platform/ticker.ts';
import { openWatches, type WatchServices } from '../product/watches/open-watches.ts';
import type { WebhookCluster } from '../webhooks/open-webhooks.ts';

/** Interval of removing expired events and idempotent answers, and of freeing link memory. */
const expireMs = 30_000;

/** Additions of a leading core. */
export interface ServicesCluster extends Pick<PortsOptions, 'first' | 'forwarded'> {
  readonly api: ApiCluster;
  /** Deliveries that follow a log. */
  readonly webhooks: WebhookCluster;
  /** Of all nodes. @param local from this node's journals */
  readonly counting: (local: ScanCounting) => Counting;
  readonly checks: readonly HealthCheck[];
  readonly registerMetrics: (metrics: Metrics) => void;
}

export interface ServicesOptions {
  readonly base: Base;
  readonly engine: Engine;
  readonly cluster?: ServicesCluster;
}

export interface Services {
  readonly apiPort: number;
  /** Ends deliveries and stores their results. @param attemptsMsMax for attempts in flight */
  endDeliveries(attemptsMsMax: number): Promise<void>;
  close(): Promise<void>;
}

/** @throws ListenError */
export const openServices = (options: ServicesOptions): Promise<Services> =>
  openWithClosers(async (closers) => {
    const modules = await openModules(options, closers);
    const { webhooks } = modules;
    const watches = await startSchedulers(options, modules, closers);
    const stopping = new Signal();
    const apiPort = await openApi(options, modules, { watches, stopping }, closers);
    const expiry = startExpiry(options, modules);
    closers.push(async () => {
      options.engine.threads.beginStop();
      stopping.fire();
      // Attempts end while the API drains; the closer of the module waits for them.
      void webhooks.stop();
      await expiry.close();
    });
    const endDeliveries = (attemptsMsMax: number) => webhooks.stop(attemptsMsMax);
    return { apiPort, endDeliveries };
  });

type Modules = Awaited<ReturnType<typeof openModules>>;

async function openModules({ base, engine, cluster }: ServicesOptions, closers: Closers) {
  const { codes, queries, scans, threads } = engine;
  const workspaces = openWorkspaceModule(base);
  closers.push(() => workspaces.close());
  const metrics = createMetrics(base.log);
  const webhooks = openWebhookModule(base, {
    cluster: cluster?.webhooks,
    cipher: workspaces.cipher,
    metrics,
    scanned: {
      store: scans,
      codeOf: (codeNo) => codes.findScanned(codeNo),
      committed: threads.shards.committed,
      onDelivered: (block) => threads.shards.releaseBlocks(block),
    },
  });
  closers.push(() => webhooks.close());
  await webhooks.start();
  registerEngineMetrics(metrics, { base, engine, webhooks });
  const stores = [base.management, scans, webhooks];
  const environments = stores.map(({ environment }) => environment);
  const watched = new StoredData({ environments, shards: threads.shards, log: base.log }, metrics);
  closers.push(() => watched.close());
  const provider = await openPaymentProvider(base);
  const billing = openBillingModule(base, { workspaces, provider });
  const campaigns = openCampaignModule(base, { codes, scans: queries.analytics });
  const reports = openReportModule(base, { workspaces, codes, campaigns, scans: queries });
  const mail = await openMailModule(base);
  closers.push(() => mail?.close());
  return {
    workspaces,
    metrics,
    webhooks,
    watched,
    billing,
    campaigns,
    reports,
    mail: mail?.emails,
  };
}

async function startSchedulers(
  { base, engine, cluster }: ServicesOptions,
  { billing, campaigns, reports, metrics, mail }: Modules,
  closers: Closers,
): Promise<WatchServices> {
  const { config, clock, log } = base;
  const { codes, queries, scans, threads } = engine;
  const add = <T extends { close(): Promise<unknown> }>(scheduler: T): T => {
    closers.push(() => scheduler.close());
    return scheduler;
  };
  await billing.start();
  add(billing);
  const local = new ScanCounting(scans, threads.journals.tails);
  const counting = cluster?.counting(local) ?? local;
  const watches = openWatches({
    ...base,
    codes,
    scans: queries.analytics,
    metrics,
    counting,
    isWell: () => isCounting(threads),
    emails: mail,
  });
  add(watches).scheduler.start();
  add(new CampaignScheduler({ ...campaigns, counting, clock, log })).start();
  if (cluster === undefined) add(startRetention(base, engine));
  // Without a mail server, digests wait.
  if (mail !== undefined) {
    const { digests, digestNumbers: numbers } = reports;
    const { publicUrl } = config.api;
    const send = (email: Parameters<typeof mail.digest>[0]) => mail.digest(email);
    add(new DigestScheduler({ digests, numbers, send, publicUrl, log })).start();
  }
  return watches;
}

/** False if scans are not answered or not counted; a watch ignores such an hour. */
function isCounting({ folder, redirects, shards }: EngineThreads): boolean {
  const checks = [folder.healthCheck, ...redirects.checks, ...shards.checks];
  return checks.every(({ problem }) => problem() === undefined);
}

/**
 * Removes the records of deleted codes, and their numbers from this machine's store. A core starts it in both roles.
 */
export function startRetention(
  { management: store, clock, log }: Base,
  { codes: { memberships }, threads: { shards } }: Engine,
  isLeading?: CodeRetentionOptions['isLeading'],
): { close(): Promise<void> } {
  const removeNumbers = (expired: Parameters<typeof shards.expire>[0]) => shards.expire(expired);
  const removed = { store, memberships, isLeading, removeNumbers };
  const retention = new CodeRetention({ ...removed, clock, log });
  const stopListening = shards.onExpired((codeNos) => retention.numbersRemoved(codeNos));
  retention.start();
  return {
    close: async () => {
      stopListening();
      await retention.close();
    },
  };
}

async function openApi(
  { base, engine, cluster }: ServicesOptions,
  { watched, mail, ...modules }: Modules,
  own: Pick<ApiServices, 'watches' | 'stopping'>,
  closers: Closers,
): Promise<number> {
  const { config, clock, log, ids, outbox, randomBytes, management, scarce } = base;
  const { codes, queries, geo, images, threads } = engine;
  const { metrics, webhooks, workspaces } = modules;
  const imageCache = createImageCache(config.images.cacheBytesMax);
  registerImageMetrics(metrics, { images, imageCache });
  const checks = engineChecks({ base, engine, webhooks, stored: watched });
  const health = meteredHealth(metrics, base, [...checks, ...(cluster?.checks ?? [])]);
  cluster?.registerMetrics(metrics);
  const handler = new ApiServer({
    ...modules,
    ...own,
    config,
    clock,
    log,
    ids,
    outbox,
    randomBytes,
    codes,
    scans: queries,
    geo,
    mail,
    committed: [management.environment.committed, threads.shards.committed],
    images: images.service,
    imageCache,
    designs: images.designs,
    logos: images.logos,
    bulk: scarce?.bulk,
    dashboard: new DashboardFiles(isPage, shipped.dashboard()),
    health,
    cluster: cluster?.api,
  });
  const { first, forwarded } = cluster ?? {};
  const { ipQuota } = workspaces;
  const { redirects } = threads;
  return await openPorts(base, { handler, first, forwarded, metrics, ipQuota, redirects }, closers);
}

function startExpiry(
  { base: { outbox, log }, engine: { links, codes } }: ServicesOptions,
  { workspaces, webhooks, campaigns }: Modules,
): Ticker {
  const expiry = new Ticker({
    everyMs: expireMs,
    log,
    failed: 'removing expired data failed, retrying',
    resumed: 'removing expired data resumed',
    run: async () => {
      links.free();
      codes.links.publishPending();
      await Promise.all([
        outbox.expire(webhooks.deliveredEvent),
        workspaces.expire(),
        codes.bulk.expire(),
        campaigns.conversions.expire(),
      ]);
    },
  });
  expiry.start();
  return expiry;
}
