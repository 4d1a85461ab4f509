/**
 * An edge: link table and redirect threads, filled by the cores of a cluster.
 *
 *   links on the disk   link table filled -> redirect threads listen -> the feed of a core is followed
 *   none yet            the feed is followed -> all links are there -> link table filled -> redirect threads listen
 *
 * It needs no broker and no core to redirect once it has links. What it journals goes to the cores by a thread of its own
 * (cluster/scans/), which its caller starts over `threads.journals`.
 */
import { LinkReplica } from '../cluster/links/link-replica.ts';
import { ReplicaStore } from '../cluster/links/replica-store.ts';
import { EdgeTable } from '../codes/links/edge-table.ts';
import { LinkLoader, loadLinks } from '../codes/links/link-loader.ts';
import { LinkRefresher } from '../codes/links/link-refresher.ts';
import { createMetricsHandler } from '../api/metrics.ts';
import type { Config } from '../config.ts';
import { closeAll, type Closers } from '../engine/closers.ts';
import { EdgeThreads, type EdgeThreadsOptions } from '../engine/threads.ts';
import { createMetrics } from '../engine/engine-metrics.ts';
import { meteredHealth } from '../engine/operator-metrics.ts';
import { openGeo } from '../scans/visitor/geo/geo-data.ts';
import { PageFeed } from '../engine/workspace-feeds.ts';
import { sharesOf } from '../engine/machine/machine-limits.ts';
import { threadCounts } from '../engine/machine/machine-plan.ts';
import { ClientAddresses } from '../http/client-address.ts';
import type { Handler } from '../http/request.ts';
import { HttpServer } from '../http/server.ts';
import { addressSpace, createLinkTableMemory } from '../links/layout.ts';
import { LinkWriter } from '../links/writer.ts';
import type { Clock } from '../model/clock.ts';
import { createIdSource, type RandomBytes } from '../model/ids.ts';
import type { Signal } from '../model/signal.ts';
import { type Management, openManagement } from '../store/management/management.ts';
import type { HealthCheck } from '../telemetry/health.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { Ticker } from '../telemetry/ticker.ts';
import type { EdgeFolder } from './edge/edge-folder.ts';
import { edgeChecks, registerEdgeMetrics } from './edge/edge-metrics.ts';
import { createEdgeHandler } from './edge/edge-server.ts';
import { StaleRedirects } from './stale-redirects.ts';

/** New short codes that fit before the link table grows, beyond those that exist. */
const newLinksExpected = 10_000;
/** How often link memory is freed, and links that did not fit are tried again. */
const freeMs = 30_000;
const stoppingHttpMsMax = 1_000;

export interface EdgeOptions {
  /** Fitted to the memory of the machine. */
  readonly config: Config;
  readonly log: Logger;
  readonly machine: {
    readonly clock: Clock;
    readonly randomBytes: RandomBytes;
    readonly random: () => number;
  };
  /** With its `cluster.json`; closed by `close`. */
  readonly folder: EdgeFolder;
  readonly node: {
    /** Numbers of its journals, one for each redirect thread. */
    readonly journals: readonly number[];
    /** Of this edge, for the feed of links. */
    readonly token: () => string;
    /** Addresses of the cores' APIs. */
    readonly cores: () => readonly string[];
    /** Certificates of an authority of the cluster's own, PEM. */
    readonly tlsCa?: string | undefined;
  };
  /** What cores have had of its journals, and from which position on they still need one. */
  readonly journals: Omit<EdgeThreadsOptions['journals'], 'own'>;
  /** Beside its own. */
  readonly checks?: readonly HealthCheck[];
  /** At a stop, when redirects have ended and the journals are complete: what sends them may send the rest. */
  readonly onDrained?: () => Promise<void>;
}

export interface Edge {
  readonly apiPort: number;
  /** Resolves with the port when redirect threads listen: at the latest when a first snapshot is whole. */
  readonly redirecting: Promise<number>;
  /** Journals and their tails, for what sends them to the cores. */
  readonly threads: EdgeThreads;
  /** Changes up to this number are in the link table: what beats say. */
  readonly linkNumber: number;
  /** Fired when it has moved. */
  readonly linksMoved: Signal;
  readonly metrics: Metrics;
  /** The feed ends, then redirects do; what cores do not have yet stays in the journals. */
  close(): Promise<void>;
}

/** @throws ListenError, DisplacedError */
export async function openEdge(options: EdgeOptions): Promise<Edge> {
  const closers: Closers = [() => options.folder.close()];
  const close = (): Promise<void> => closeAll(closers);
  try {
    return await open(options, closers, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function open(
  options: EdgeOptions,
  closers: Closers,
  close: () => Promise<void>,
): Promise<Edge> {
  const { folder, log, machine, node } = options;
  const store = openManagement(folder.folder.managementFile, 'create');
  closers.push(() => store.close());
  const table = new EdgeLinks(options, store, closers);
  const { threads } = table;
  const { token, cores, tlsCa } = node;
  const { clock, random } = machine;
  const openTable = (): Promise<EdgeTable> => table.open();
  const replica = new LinkReplica(
    { store, clock, random, log, cores, token, tlsCa, openTable },
    table.copy,
  );
  closers.push(() => replica.close());
  const metrics = createMetrics(log);
  const { redirects } = threads;
  const stale = new StaleRedirects({ redirects, isInContact: () => replica.isFresh, log });
  stale.start();
  closers.push(() => stale.close());
  const { writer } = table;
  const parts = { threads, replica, writer, links: () => table.links, store, clock, stale };
  registerEdgeMetrics(metrics, parts);
  const { config } = options;
  const docsUrl = `${config.api.publicUrl}/docs`;
  const checks = [...edgeChecks(parts), ...(options.checks ?? [])];
  const health = meteredHealth(metrics, { config, clock, folder: folder.folder }, checks);
  const handler = createEdgeHandler({ health, docsUrl });
  const apiPort = await openServers(options, handler, metrics, closers);
  await replica.open();
  return {
    apiPort,
    redirecting: table.redirecting,
    threads,
    get linkNumber() {
      return replica.number;
    },
    linksMoved: replica.applied,
    metrics,
    close,
  };
}

/** The link table and the threads that read it. */
class EdgeLinks {
  readonly copy: ReplicaStore;
  readonly writer: LinkWriter;
  readonly threads: EdgeThreads;
  readonly redirecting: Promise<number>;
  readonly #options: EdgeOptions;
  readonly #store: Management;
  /** Of what stands on a table that is filled. */
  readonly #closers: Closers = [];
  readonly #booted: Promise<() => Promise<void>>;
  readonly #listening = Promise.withResolvers<number>();
  #opened: Promise<EdgeTable> | undefined;
  /** Once the table is filled. */
  links: LinkLoader | undefined;

  constructor(options: EdgeOptions, store: Management, closers: Closers) {
    const { config, log, machine, node, journals } = options;
    const { folder } = options.folder;
    this.#options = options;
    this.#store = store;
    this.copy = new ReplicaStore(store);
    const threads = Math.min(threadCounts(config).redirect, node.journals.length);
    const memory = createLinkTableMemory({
      ...addressSpace,
      readersMax: threads,
      linksExpected: this.copy.codeNoMax + newLinksExpected,
    });
    this.writer = new LinkWriter(memory, machine.clock);
    const pages = new PageFeed(store);
    const geo = openGeo(config.geo);
    for (const warning of geo.warnings) log.warn(warning);
    this.threads = new EdgeThreads({
      config,
      clock: machine.clock,
      log,
      folder,
      links: memory,
      geo: geo.data,
      connectionsMax: sharesOf(config).redirectThread,
      threads,
      journals: { ...journals, own: node.journals },
      pages: () => pages.all(),
    });
    pages.start((changes) => this.threads.redirects.updatePages(changes));
    closers.push(
      () => geo.close(),
      () => pages.close(),
      () => options.onDrained?.(),
      () => this.threads.stop(),
      () => closeAll(this.#closers),
    );
    this.#booted = this.threads.redirects.boot();
    this.redirecting = this.#listening.promise;
    // An edge that is closed before it has links never listens.
    this.redirecting.catch(() => undefined);
    this.#booted.catch(() => undefined);
  }

  /** Fills the table, and lets the threads listen. */
  open(): Promise<EdgeTable> {
    this.#opened ??= this.#open().catch((error: unknown) => {
      this.#listening.reject(error);
      throw error;
    });
    return this.#opened;
  }

  async #open(): Promise<EdgeTable> {
    const [store, writer] = [this.#store, this.writer];
    const { log, machine } = this.#options;
    const links = new LinkLoader(store, writer, (codeNo) => this.copy.scansOf(codeNo));
    const refresher = new LinkRefresher(store, links);
    this.#closers.push(() => refresher.close());
    loadLinks(links, { log, clock: machine.clock });
    // No codes are here to make it again from.
    if (links.repairedBlocks > 0) await this.copy.distrust();
    links.loadLimited();
    this.links = links;
    const openRedirects = await this.#booted;
    await openRedirects();
    this.#listening.resolve(this.threads.redirects.port);
    const freeing = new Ticker({
      everyMs: freeMs,
      run: () => {
        writer.free();
        links.publishPending();
      },
      log,
      failed: 'freeing link memory failed, retrying',
      resumed: 'freeing link memory resumed',
    });
    freeing.start();
    this.#closers.push(() => freeing.close());
    return new EdgeTable({ writer, links, refresher });
  }
}

/** @returns the port of health and metrics @throws ListenError */
async function openServers(
  { config, machine, log }: EdgeOptions,
  handler: Handler,
  metrics: Metrics,
  closers: Closers,
): Promise<number> {
  const ids = createIdSource(machine.clock, machine.randomBytes);
  const shares = sharesOf(config);
  const standard = {
    addresses: new ClientAddresses(config.trustedProxies),
    newRequestId: () => ids.newId('req'),
    onDefect: (err: unknown, requestId: string) => log.error({ err, requestId }, 'request failed'),
  };
  const { api } = config;
  const server = await HttpServer.open({
    ...standard,
    ...api,
    tls: api,
    connectionsMax: shares.api,
    handler,
  });
  closers.push(() => server.drain(stoppingHttpMsMax));
  if (config.metrics.port !== 0) {
    const own = await HttpServer.open({
      ...standard,
      ...config.metrics,
      connectionsMax: shares.metrics,
      handler: createMetricsHandler(metrics),
    });
    closers.push(() => own.close());
  }
  return server.port;
}
