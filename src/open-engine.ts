/**
 * The engine: link table, redirect threads and shards, opened at a start or, for a takeover, beside the running service.
 *
 *   start      the folder is ours -> shards count -> links loaded -> redirect threads listen
 *   takeover   links loaded, threads booted -> the predecessor yields -> the folder is ours -> the last changes, limits
 *                -> shards count -> redirect threads listen
 */
import { loadLinks } from './codes/links/link-loader.ts';
import { LinkRefresher } from './codes/links/link-refresher.ts';
import type { Closers } from './engine/closers.ts';
import { type DataFolder, DataFolderError, readSecret } from './engine/data-folder.ts';
import { GeoOpening } from './engine/geo-data.ts';
import { visitorKeyBytes, visitorKeyFile } from './engine/installation/key-files.ts';
import { raise } from './engine/installation/numbers.ts';
import { PageFeed } from './engine/page-feed.ts';
import { ZoneFeed } from './engine/zone-feed.ts';
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
import type { VisitorSetup } from './scans/visitor/visitor.ts';
import { openScanStore, type ScanStore } from './store/scans/scans.ts';
import type { Engine } from './writers.ts';

/** New short codes that fit before the link table grows, beyond those that exist. */
const newLinksExpected = 10_000;

export interface EngineOpening {
  readonly base: Base;
  /** Settles before anything listens. */
  readonly pages: Promise<unknown>;
  /** The folder is this process's from here on: marks the start, makes the first owner. */
  readonly begin: () => Promise<void>;
  readonly closers: Closers;
  /** Of a node in a cluster. */
  readonly node?: (scans: ScanStore) => EngineThreadsOptions['node'];
}

export interface StartedEngine {
  readonly engine: Engine;
  readonly refresher: LinkRefresher;
  /** Absent = no other process redirects. */
  /** Resolves to 0. */
  readonly changesFollowed?: () => Promise<number>;
}

/** All that counts and redirects: running when this resolves. */
export async function startEngine(opening: EngineOpening): Promise<StartedEngine> {
  await opening.begin();
  const made = makeEngine(opening, undefined);
  const { engine, refresher } = made;
  const { threads, codes } = engine;
  // All threads boot while this one fills the link table.
  void threads.shards.boot();
  const catchingUp = threads.startCounting(engine.geo.isReady ? 'always' : 'if needed');
  const openRedirects = await threads.redirects.boot();
  loadLinks(codes.links, opening.base);
  await catchingUp;
  codes.links.loadLimited();
  refresher.start();
  // The last process that the service starts has ended before connections may take every descriptor.
  await opening.pages;
  await openRedirects();
  return made;
}

/** The same at a takeover: the predecessor redirects until this resolves, and a moment longer. */
export async function takeOver(
  opening: EngineOpening,
  predecessor: PredecessorConnection,
): Promise<StartedEngine> {
  const { begin, pages, base } = opening;
  const made = makeEngine(opening, predecessor.journals);
  const { engine, refresher } = made;
  const { threads, codes, geo } = engine;
  loadLinks(codes.links, base);
  await geo.table;
  await threads.shards.boot('one by one');
  const openRedirects = await threads.redirects.boot('one by one');
  await pages;
  // Here, so that little is left to follow once changes are held.
  await refresher.refresh();
  // On a full disk the predecessor has scans in memory that no journal takes; those of this process would be lost.
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
  const catchingUp = threads.startCounting('always');
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
  return { ...made, changesFollowed };
}

/** What the predecessor still journals is counted here. */
function followTails(
  { journals, folder }: EngineThreads,
  predecessor: PredecessorConnection,
  tails: Tails,
  { log }: Base,
): void {
  const publish = (told: Tails): void => {
    for (const [journal, position] of told) journals.tails.publish(journal, position);
  };
  publish(tails);
  predecessor.onTails = publish;
  predecessor.ended
    .then(() => folder.whenInPlace())
    .then(() => journals.recoverOthers())
    .catch((err: unknown) => {
      log.error({ err }, 'recovering journals failed, the next start does it');
    });
}

/**
 * Makes all of it; nothing runs yet.
 * @param othersJournals of the predecessor, in a takeover
 */
function makeEngine(
  { base, closers, node }: EngineOpening,
  othersJournals: readonly number[] | undefined,
): { readonly engine: Engine; readonly refresher: LinkRefresher } {
  const { config, folder, log, clock, management } = base;
  const scans = openScanStore(folder.scansFile);
  closers.push(() => scans.environment.close());
  const memory = createLinkTableMemory({
    ...addressSpace,
    readersMax: threadCounts(config).redirect,
    linksExpected: management.last('code') + newLinksExpected,
  });
  const links = new LinkWriter(memory, clock);
  const rawQueries = new RawQueries({ path: folder.scansFile });
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
  const geo = new GeoOpening(config.geo, folder.cacheRoot, base);
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
    visitor: visitorSetup(geo, folder),
    othersJournals,
    pages: () => pages.all(),
    zones: () => zones.all(),
    node: node?.(scans),
  });
  zones.start((changed) => threads.shards.setZones(changed));
  pages.start((changes) => threads.redirects.updatePages(changes));
  closers.push(() => threads.stop());
  void geo.table.then((table) => threads.redirects.useGeo(table));
  // In a cluster the numbers are those of the log.
  if (node === undefined) threads.shards.onSeen = (seen) => raise(management, log, seen);
  const engine = { scans, queries, rawQueries, links, codes, images, threads, geo };
  return { engine, refresher };
}

/** What tells scanners apart, and where they are. */
function visitorSetup({ table }: GeoOpening, folder: DataFolder): Promise<VisitorSetup> {
  const key = readSecret(folder, visitorKeyFile, visitorKeyBytes);
  return table.then((geo) => ({ key, geo }));
}
