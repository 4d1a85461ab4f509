/**
 * Opens the engine: link table, redirect threads and shards.
 *
 *   start      the folder is ours -> shards count -> links loaded -> redirect threads listen
 *   takeover   links loaded, threads booted -> the predecessor yields -> the folder is ours -> the last changes, limits
 *                -> shards count -> redirect threads listen
 */
import { loadLinks } from './codes/links/link-loader.ts';
import { LinkRefresher } from './codes/links/link-refresher.ts';
import type { Closers } from './engine/closers.ts';
import { DataFolderError, readSecret } from './engine/data-folder.ts';
import { visitorKeyBytes, visitorKeyFile } from './engine/installation/key-files.ts';
import { raise } from './engine/installation/numbers.ts';
import { PageFeed, ZoneFeed } from './engine/workspace-feeds.ts';
import { threadCounts } from './engine/machine/machine-plan.ts';
import type { Tails } from './engine/takeover/messages.ts';
import type { PredecessorConnection } from './engine/takeover/predecessor-connection.ts';
import { EngineThreads, type EngineThreadsOptions } from './engine/threads.ts';
import { openImages } from './images/image-service.ts';
import { addressSpace, createLinkTableMemory } from './links/layout.ts';
import { LinkWriter } from './links/writer.ts';
import { type Base, imageOptions, openCodeModule } from './modules.ts';
import { openScanQueries } from './scans/query/queries.ts';
import { RawQueries } from './scans/query/raw/raw-queries.ts';
import { openGeo } from './scans/visitor/geo/geo-data.ts';
import { openScanStore, type ScanStore } from './store/scans/scans.ts';
import type { Engine } from './services.ts';

const newLinksExpected = 10_000;

type NodeOf = (scans: ScanStore) => EngineThreadsOptions['node'];

/** The folder is this process's own. Resolves when shards count and redirect threads listen. */
export async function startEngine(base: Base, closers: Closers, node?: NodeOf): Promise<Engine> {
  const engine = makeEngine(base, closers, node);
  const { threads, codes, refresher } = engine;
  // The threads boot while this one fills the link table.
  void threads.shards.boot();
  const catchingUp = threads.startCounting();
  const openRedirects = await threads.redirects.boot();
  loadLinks(codes.links, base);
  await catchingUp;
  codes.links.loadLimited();
  refresher.start();
  await openRedirects();
  return engine;
}

/**
 * The same at a takeover: the predecessor redirects until shortly after this resolves.
 * @param begin makes the folder this process's own
 */
export async function takeOver(
  base: Base,
  closers: Closers,
  predecessor: PredecessorConnection,
  begin: () => Promise<void>,
): Promise<Engine> {
  const engine = makeEngine(base, closers, undefined, predecessor.journals);
  const { threads, codes, refresher } = engine;
  loadLinks(codes.links, base);
  await threads.shards.boot('one by one');
  const openRedirects = await threads.redirects.boot('one by one');
  // Leaves few changes to follow while the predecessor holds changes back.
  await refresher.refresh();
  // On a full disk the predecessor has scans in memory that it cannot journal, and this process would lose its own.
  if (base.management.environment.isFull) {
    throw new DataFolderError(
      `Cannot take over: data folder ${base.folder.path} has no space left`,
    );
  }
  const yielded = await predecessor.yield();
  await begin();
  if (yielded === 'gone') threads.journals.recoverOthers();
  else followTails(threads, predecessor, yielded.tails, base);
  await refresher.refresh();
  const catchingUp = threads.startCounting();
  if (yielded === 'gone') await catchingUp;
  codes.links.loadLimited(yielded === 'gone' ? [] : yielded.limits);
  refresher.start();
  await openRedirects();
  const changesFollowed = async (): Promise<number> => {
    if (!predecessor.isWriting) return 0;
    base.management.environment.refresh();
    await predecessor.followed(base.management.last('link'));
    return 0;
  };
  return { ...engine, changesFollowed };
}

/** Counts the scans that the predecessor still journals. */
function followTails(
  { journals, folder }: EngineThreads,
  predecessor: PredecessorConnection,
  tails: Tails,
  { log }: Base,
): void {
  predecessor.onTails = (reported) => {
    for (const [journal, position] of reported) journals.tails.publish(journal, position);
  };
  predecessor.onTails(tails);
  predecessor.ended
    .then(() => folder.whenInPlace())
    .then(() => journals.recoverOthers())
    .catch((err: unknown) => {
      log.error({ err }, 'cannot recover journals, the next start recovers them');
    });
}

/** Starts no thread. @param othersJournals of the predecessor, in a takeover */
function makeEngine(
  base: Base,
  closers: Closers,
  node: NodeOf | undefined,
  othersJournals?: readonly number[],
): Engine {
  const { config, folder, log, clock, management } = base;
  const scans = openScanStore(folder.scansFile);
  closers.push(() => scans.environment.close());
  const memory = createLinkTableMemory({
    ...addressSpace,
    readersMax: threadCounts(config).redirect,
    linksExpected: management.last('code') + newLinksExpected,
  });
  const links = new LinkWriter(memory, clock);
  const rawQueries = new RawQueries(folder.scansFile);
  closers.push(() => rawQueries.close());
  const queries = openScanQueries(scans, (codeNo) => codes.findScanned(codeNo), rawQueries);
  const images = openImages(imageOptions(base));
  closers.push(() => images.close());
  const codes = openCodeModule(base, {
    links,
    scansOf: (codeNo) => queries.analytics.lifetimeScans(codeNo),
    routesSeen: (codeNo) => queries.analytics.routesSeen(codeNo),
    designs: images.designs,
  });
  const refresher = new LinkRefresher(management, codes.links, log);
  closers.push(() => refresher.close());
  const geo = openGeo(config.geo);
  for (const warning of geo.warnings) log.warn(warning);
  closers.push(() => geo.close());
  const pages = new PageFeed(management, log);
  closers.push(() => pages.close());
  const zones = new ZoneFeed(management, log);
  closers.push(() => zones.close());
  const threads = new EngineThreads({
    config,
    clock,
    log,
    folder,
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
  // In a cluster the log gives the numbers.
  if (node === undefined) threads.shards.onSeen = (seen) => raise(management, log, seen);
  return { scans, queries, rawQueries, links, codes, images, threads, geo, refresher };
}
