/**
 * Opens the engine: link table, redirect threads and shards. An edge has no shards (cluster/roles/open-edge.ts).
 *
 *   shards boot, and count what is journaled ─┐
 *   redirect threads boot                     ├─> limits loaded ─> redirect threads listen
 *   links are loaded                         ─┘
 *
 * During a takeover, the predecessor redirects, and its journals are counted when it has ended. Scans of these seconds
 * may exceed a scan limit.
 */
import { loadLinks } from '../product/codes/links/link-loader.ts';
import { LinkRefresher } from '../product/codes/links/link-refresher.ts';
import type { Closers } from '../platform/closers.ts';
import { inheritedFontSettings, setProcessVariables } from '../platform/config/environment.ts';
import { readSecret } from './folder/data-folder.ts';
import { visitorKeyBytes, visitorKeyFile } from './folder/key-files.ts';
import { raise } from './folder/numbers.ts';
import { PageFeed, ZoneFeed } from '../engine/workspace-feeds.ts';
import { shardBounds } from './machine/machine-plan.ts';
import type { PredecessorConnection } from './upgrade/predecessor-connection.ts';
import { EngineThreads, type EngineThreadsOptions } from '../engine/threads.ts';
import type { Codes } from '../product/codes/codes.ts';
import { type Images, libraryVariables, openImages } from '../product/images/image-service.ts';
import {
  addressSpace,
  createLinkTableMemory,
  type LinkTableMemory,
} from '../engine/links/layout.ts';
import { LinkWriter } from '../engine/links/writer.ts';
import { type Base, imageOptions, openCodeModule } from './modules.ts';
import { openScanQueries, type ScanQueries } from '../engine/analytics/queries.ts';
import { RawQueries } from '../engine/analytics/raw/raw-queries.ts';
import { openGeo, type OpenGeo } from '../engine/visitor/geo/geo-data.ts';
import { openScanStore, type ScanStore } from '../store/scans/scans.ts';

const newLinksExpected = 10_000;

export interface Engine {
  readonly scans: ScanStore;
  readonly queries: ScanQueries;
  readonly rawQueries: RawQueries;
  readonly links: LinkWriter;
  readonly codes: Codes;
  readonly images: Images;
  readonly threads: EngineThreads;
  readonly geo: OpenGeo;
  readonly refresher: LinkRefresher;
}

type NodeOf = (scans: ScanStore) => EngineThreadsOptions['node'];

/**
 * Requires that this process owns the folder. Resolves when shards count and redirect threads listen.
 * @param predecessor at a takeover @param node in a cluster
 */
export async function startEngine(
  base: Base,
  closers: Closers,
  predecessor?: PredecessorConnection,
  node?: NodeOf,
): Promise<Engine> {
  const engine = makeEngine(base, closers, node, predecessor?.accepted.journals);
  const { threads, codes } = engine;
  // While another process redirects, starting threads one by one leaves it a CPU.
  const pace = predecessor === undefined ? 'at once' : 'one by one';
  // The threads boot while this thread fills the link table.
  void threads.shards.boot(pace);
  const catchingUp = threads.startCounting();
  const openRedirects = await threads.redirects.boot(pace);
  loadLinks(codes.links, base);
  await catchingUp;
  codes.links.loadLimited();
  await openRedirects();
  await predecessor?.listening();
  if (predecessor !== undefined) threads.journals.recoverOthers();
  return engine;
}

interface LinkTable {
  readonly memory: LinkTableMemory;
  readonly links: LinkWriter;
  readonly geo: OpenGeo;
  readonly pages: PageFeed;
}

/** The data of redirect threads. @param codes number of codes that may have a link */
export function openLinkTable(base: Base, closers: Closers, codes: number): LinkTable {
  const { config, log, clock, management } = base;
  const memory = createLinkTableMemory({
    ...addressSpace,
    readersMax: base.threads.redirect,
    linksExpected: codes + newLinksExpected,
  });
  const geo = openGeo(config.geo);
  for (const warning of geo.warnings) log.warn(warning);
  closers.push(() => geo.close());
  const pages = new PageFeed(management);
  closers.push(() => pages.close());
  return { memory, links: new LinkWriter(memory, clock), geo, pages };
}

/** Does not start threads. @param othersJournals of the predecessor, in a takeover */
function makeEngine(
  base: Base,
  closers: Closers,
  node: NodeOf | undefined,
  othersJournals?: readonly number[],
): Engine {
  const { config, folder, log, clock, management } = base;
  const scans = openScanStore(folder.scansFile);
  closers.push(() => scans.environment.close());
  const { memory, links, geo, pages } = openLinkTable(base, closers, management.last('code'));
  const rawQueries = new RawQueries(folder.scansFile);
  closers.push(() => rawQueries.close());
  const queries = openScanQueries(scans, (codeNo) => codes.findScanned(codeNo), rawQueries);
  // The pool's threads read them when they load their libraries.
  setProcessVariables(libraryVariables(folder.path, inheritedFontSettings));
  const images = openImages(imageOptions(base));
  closers.push(() => images.close());
  const codes = openCodeModule(base, {
    links,
    scansOf: (codeNo) => queries.analytics.lifetimeScans(codeNo),
    routesSeen: (codeNo) => queries.analytics.routesSeen(codeNo),
    designs: images.designs,
  });
  const refresher = new LinkRefresher(management, codes.links);
  closers.push(() => refresher.close());
  const zones = new ZoneFeed(management);
  closers.push(() => zones.close());
  const threads = new EngineThreads({
    config,
    clock,
    log,
    folder,
    threads: base.threads,
    bounds: shardBounds(),
    store: scans,
    links: memory,
    connectionsMax: base.shares.redirectThread,
    visitor: { key: readSecret(folder, visitorKeyFile, visitorKeyBytes), geo: geo.data },
    othersJournals,
    pages: () => pages.all(),
    zones: () => zones.all(),
    node: node?.(scans),
  });
  zones.start((changed) => threads.shards.setZones(changed));
  pages.start((changes) => threads.redirects.updatePages(changes));
  closers.push(() => threads.stop());
  // In a cluster, the log assigns the numbers.
  if (node === undefined) threads.shards.onSeen = (seen) => raise(management, log, seen);
  return { scans, queries, rawQueries, links, codes, images, threads, geo, refresher };
}
