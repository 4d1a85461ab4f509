/**
 * An edge: link table and redirect threads, filled by the cores of a cluster.
 *
 *   links on the disk   link table filled -> redirect threads listen -> the feed of a core is followed
 *   none yet            the feed is followed -> all links are there -> link table filled -> redirect threads listen
 *
 * It needs no broker and no core to redirect once it has links. Another thread sends its scans to the cores
 * (cluster/scans/), which its caller starts over `threads.journals`.
 */
import { liveReply, readyReply } from '../../api/health.ts';
import { problemReply } from '../../api/kernel/problem.ts';
import { LinkReplica, type ReplicaTable } from '../links/link-replica.ts';
import { ReplicaStore } from '../links/replica-store.ts';
import { LinkLoader, loadLinks } from '../../product/codes/links/link-loader.ts';
import type { Closers } from '../../platform/closers.ts';
import { createMetrics } from '../../app/metrics/engine-metrics.ts';
import { meteredHealth } from '../../app/metrics/operator-metrics.ts';
import { EdgeThreads } from '../../engine/threads.ts';
import { type Handler, isRead, type Reply, type Request } from '../../platform/uws/request.ts';
import { Failure } from '../../model/failure.ts';
import type { Base } from '../../app/modules.ts';
import { openPorts } from '../../app/ports.ts';
import { openLinkTable } from '../../app/open-engine.ts';
import type { LinkWriter } from '../../engine/links/writer.ts';
import type { HealthCheck, HealthReport } from '../../platform/health.ts';
import { addressQuota } from '../../product/workspaces/memory-quota.ts';
import type { EdgeFolder } from './edge/edge-folder.ts';
import { edgeChecks, registerEdgeMetrics } from './edge/edge-metrics.ts';
import { edgeStatusOf } from './edge/edge-status.ts';
import { Upkeep } from './upkeep.ts';

export interface EdgeOptions {
  /** Its management.mdb is closed with the edge. */
  readonly base: Base;
  /** Numbers of its journals, one for each redirect thread. */
  readonly journals: readonly number[];
  /** The position from which cores need a journal. */
  readonly keptFrom: (journal: number) => number;
  /** Of this edge, for the feed of links. */
  readonly token: () => string;
  /** Addresses of the cores' APIs. */
  readonly cores: () => readonly string[];
  readonly checks?: readonly HealthCheck[];
  readonly hostCommands: EdgeFolder['hostCommands'];
  /** Called at a stop, when the journals are complete. */
  readonly onDrained?: () => Promise<void>;
}

export interface Edge {
  readonly apiPort: number;
  /** Resolves with the port when redirect threads listen: at the latest when a first snapshot is whole. */
  readonly redirecting: Promise<number>;
  readonly threads: EdgeThreads;
  readonly replica: LinkReplica;
}

/** @throws ListenError, DisplacedError */
export async function openEdge(options: EdgeOptions, closers: Closers): Promise<Edge> {
  const { base, token, cores, checks = [], hostCommands } = options;
  const { config, log, management, clock, random } = base;
  closers.push(() => management.close());
  const store = new ReplicaStore(management);
  const { threads, writer } = openThreads(options, store.codeNoMax, closers);
  const { redirects } = threads;
  const links = new LinkLoader(management, writer, (codeNo) => store.scansOf(codeNo));
  const listening = whenListening(threads);
  const isInContact = (): boolean => replica.isFresh;
  const upkeep = new Upkeep({ writer, links, redirects, isInContact, log });
  closers.push(() => upkeep.close());
  const replica: LinkReplica = new LinkReplica({
    store,
    table: replicaTable(links, writer, base),
    onFilled: () => listening.open(),
    onCounted: () => void upkeep.closeLimits(),
    clock,
    random,
    log,
    cores,
    token,
  });
  closers.push(() => replica.close());
  const metrics = createMetrics(log);
  const parts = { threads, replica, writer, links, management, upkeep };
  registerEdgeMetrics(metrics, parts);
  const health = meteredHealth(metrics, base, [...edgeChecks(parts), ...checks]);
  const handler = healthAlone(health, `${config.api.publicUrl}/docs`);
  const ipQuota = addressQuota(clock);
  const apiPort = await openPorts(base, { handler, metrics, redirects, ipQuota }, closers);
  const status = () => edgeStatusOf(config.cluster.nodeName, parts, health());
  hostCommands({ 'cluster.status': async () => status() });
  await replica.open();
  return { apiPort, redirecting: listening.port, threads, replica };
}

function openThreads(
  { base, journals: own, keptFrom, onDrained }: EdgeOptions,
  codes: number,
  closers: Closers,
) {
  const { memory, links: writer, geo, pages } = openLinkTable(base, closers, codes);
  const threads = new EdgeThreads({
    ...base,
    links: memory,
    geo: geo.data,
    connectionsMax: base.shares.redirectThread,
    redirectThreads: Math.min(base.threads.redirect, own.length),
    journals: {
      own,
      keptFrom,
      known: { numbers: () => own, endAtLeast: () => 0 },
      // Cores may have what follows a damaged end: its positions are not given out again.
      recovery: () => ({ torn: 'kept' }),
    },
    pages: () => pages.all(),
  });
  pages.start((changes) => threads.redirects.updatePages(changes));
  closers.push(
    () => onDrained?.(),
    () => threads.stop(),
  );
  return { threads, writer };
}

export const replicaTable = (
  links: LinkLoader,
  writer: LinkWriter,
  base: Pick<Base, 'log' | 'clock'>,
): ReplicaTable => ({
  fill: () => {
    loadLinks(links, base);
    links.loadLimited();
    return links.repairedBlocks === 0;
  },
  publishMany: (codeNos) => links.publishMany(codeNos),
  publishAll: () => links.publishAll(),
  delete: (key) => writer.delete(key),
});

/** Boots the threads, which listen once `open` is called. */
function whenListening({ redirects }: EdgeThreads): {
  readonly port: Promise<number>;
  open(): Promise<void>;
} {
  const { promise: port, resolve, reject } = Promise.withResolvers<number>();
  const booted = redirects.boot();
  // An edge that is closed before it has links never listens.
  port.catch(() => undefined);
  booted.catch(() => undefined);
  const open = async (): Promise<void> => {
    try {
      const openRedirects = await booted;
      await openRedirects();
      resolve(redirects.port);
    } catch (error) {
      reject(error);
      throw error;
    }
  };
  return { port, open };
}

/** The API port of an edge. */
function healthAlone(health: () => HealthReport, docsUrl: string): Handler {
  const refuse = (request: Request, failure: Failure): Reply =>
    problemReply(failure, request, docsUrl);
  const handle = async (request: Request): Promise<Reply> => {
    const { path } = request;
    if (isRead(request) && path === '/health/live') return liveReply();
    if (isRead(request) && path === '/health/ready') return readyReply(health());
    const detail = 'This is an edge of a cluster: the API and the dashboard are on its cores';
    return refuse(request, new Failure('not_found', detail));
  };
  return { handle, refuse };
}
