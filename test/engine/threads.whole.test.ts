/** Threads of an engine: silent, stopped early, of a node in a cluster; the pages that they get, and their timers. */
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/platform/config/config.ts';
import { openDataFolder } from '../../src/app/folder/data-folder.ts';
import { shardBounds } from '../../src/app/machine/machine-plan.ts';
import { EngineThreads, type EngineThreadsOptions } from '../../src/engine/threads.ts';
import { PageFeed } from '../../src/engine/workspace-feeds.ts';
import type { PageChanges } from '../../src/engine/redirect/pages.ts';
import { createLinkTableMemory } from '../../src/engine/links/layout.ts';
import type { Clock } from '../../src/model/clock.ts';
import { JournalPositions } from '../../src/engine/journal/positions.ts';
import { journalFolder, listSegments, recoverJournal } from '../../src/engine/journal/segments.ts';
import { JournalWriter } from '../../src/engine/journal/writer.ts';
import { openScanQueries } from '../../src/engine/analytics/queries.ts';
import { openScanStore, type ScanStore } from '../../src/store/scans/scans.ts';
import { systemClock, systemTimers } from '../../src/platform/system-clock.ts';
import { createLog } from '../../src/platform/log.ts';
import { frameOf } from './journal/journal-files.ts';
import { temporaryFolder } from '../store/temporary-management.ts';
import { soon } from '../support/soon.ts';
import { StoredBytes } from '../support/stored-bytes.ts';
import { openTestApp } from '../support/test-app.ts';

let store: ScanStore;
let threads: EngineThreads;

/** Over a new data folder, without geo data. */
function openThreads(more: Partial<EngineThreadsOptions> = {}): void {
  const folder = openDataFolder(temporaryFolder());
  mkdirSync(folder.journalRoot);
  store = openScanStore(folder.scansFile, 'create');
  const bytes = { slotBytesMax: 2 ** 20, arenaBytesMax: 2 ** 20 };
  threads = new EngineThreads({
    config: loadConfig(undefined),
    threads: { redirect: 1, shards: 1 },
    bounds: shardBounds(),
    clock: systemClock,
    log: createLog('silent'),
    folder,
    store,
    links: createLinkTableMemory({ ...bytes, readersMax: 1, linksExpected: 0 }),
    visitor: { key: randomBytes(16), geo: {} },
    ...more,
  });
  onTestFinished(async () => {
    await threads.stop();
    await store.environment.close();
  });
}

test('shards that send no figures are silent, and what they do not count is behind', async () => {
  let nowMs = 0;
  const clock: Clock = { now: () => Date.now(), monotonicMs: () => nowMs };
  openThreads({ clock });
  const problemOf = (named: string): string | undefined =>
    threads.shards.checks.find(({ name }) => name === named)?.problem();
  void threads.shards.boot();
  void threads.shards.start(0);
  threads.journals.tails.publish(0, 1_000);
  threads.shards.lag.sample(nowMs);
  expect([problemOf('counting'), problemOf('lag')]).toEqual([undefined, undefined]);
  nowMs += 60_000;
  expect(problemOf('counting')).toMatch(/no figures for 60 s/);
  expect(problemOf('lag')).toBe('counting is 60 s behind');
  threads.journals.tails.publish(0, 0);
  await expect.poll(() => problemOf('counting'), soon).toBeUndefined();
});

test('redirect threads that are stopped before they may listen never do', async () => {
  openThreads();
  const { redirects } = threads;
  await redirects.boot();
  await redirects.stop(60_000);
  expect(redirects.port).toBe(0);
  expect(redirects.states.some(({ isListening }) => isListening)).toBe(false);
  expect(redirects.states.every(({ figures }) => figures !== undefined)).toBe(true);
});

/** Of a node in a cluster: without redirects, and with journals that appear while shards run. */
function openNode(shards: number, keptFrom?: (journal: number) => number): void {
  const node = { redirectThreads: 0, journals: { own: [], keptFrom } };
  openThreads({ threads: { redirect: 1, shards }, node });
}

/** As the thread that receives the scans of other nodes: it has the folder's place and the tails' memory. */
async function receive(journal: number): Promise<void> {
  const { root, tails } = threads.journals;
  const folder = journalFolder(root.path, journal);
  const { position } = recoverJournal(folder, tails.position(journal));
  const writer = new JournalWriter({
    folder,
    journal,
    position,
    segmentBytesMax: 1,
    segmentMsMax: 60_000,
    backlogBytesMax: 0,
    tails: new JournalPositions(tails.memory),
  });
  // Codes of both shards.
  for (let frame = 0; frame < 4; frame++) writer.append(frameOf(frame * 10, 10), 10);
  await writer.close();
}

test('a core without redirect threads opens, has nothing to complain of, and stops', async () => {
  openNode(1);
  void threads.shards.boot();
  const open = await threads.redirects.boot();
  await threads.startCounting();
  await open();
  expect([threads.redirects.port, threads.redirects.states]).toEqual([0, []]);
  expect(threads.redirects.checks.map(({ problem }) => problem())).toEqual([undefined, undefined]);
  await threads.redirects.handOver();
});

test('shards count journals of other nodes that appear while they run, and their segments go', async () => {
  const kept = 40_001;
  openNode(2, (journal) => (journal === kept ? 0 : Infinity));
  void threads.shards.boot();
  await threads.startCounting();
  const { shards, journals } = threads;
  const journalsOfOthers = [3, 40_000, kept, 65_535];
  for (const round of [1, 2]) {
    for (const journal of journalsOfOthers) await receive(journal);
    shards.lag.sample(0);
    await expect.poll(() => shards.lag.uncountedBytes, soon).toBe(0);
    const ends = journalsOfOthers.map((at) => [at, journals.tails.position(at)] as const);
    await expect
      .poll(() => [...shards.counted()].toSorted(([a], [b]) => a - b), soon)
      .toEqual(ends);
    store.environment.refresh();
    const queries = openScanQueries(store, (codeNo) => ({ id: `qr_${codeNo}` }));
    expect(queries.analytics.lifetimeScans(17)).toBe(journalsOfOthers.length * round);
    const segments = (journal: number): number => listSegments(journals.folder(journal)).length;
    await expect.poll(() => [3, 40_000, 65_535].map(segments), soon).toEqual([1, 1, 1]);
    expect(segments(kept)).toBeGreaterThanOrEqual(4 * round);
  }
});

test('what is counted last, at the stop, is known after it', async () => {
  openNode(2);
  void threads.shards.boot();
  await threads.startCounting();
  const { shards, journals } = threads;
  await receive(7);
  await threads.stop();
  expect([...shards.counted()]).toContainEqual([7, journals.tails.position(7)]);
});

test('what a shard has not told of is not counted by all', async () => {
  openNode(2);
  void threads.shards.boot();
  await threads.startCounting();
  const { shards } = threads;
  const [one, other] = shards.states;
  one!.consumed = new Map([1, 2].map((journal) => [journal, journal * 150]));
  other!.consumed = new Map([2, 3].map((journal) => [journal, 200]));
  expect(shards.counted()).toEqual(new Map([[2, 200]]));
});

/** What workspaces say on their pages, as redirect threads get it. */
test('a start has the pages of workspaces, a change arrives, and a damaged record keeps no other from its pages', async () => {
  const dataDir = temporaryFolder();
  const before = await openTestApp({ dataDir });
  const { workspaces } = before.workspaces;
  const second = await workspaces.create(before.first.user.id, 'Second');
  const say = (no: number, name: string | undefined): Promise<unknown> =>
    workspaces.change(no, {}, () => ({ brand: name === undefined ? {} : { name }, texts: {} }));
  for (const no of [1, second.no]) await say(no, `No ${no}`);
  const feed = new PageFeed(before.store);
  expect(feed.all().map(([no]) => no)).toEqual([1, second.no]);
  const changes: unknown[] = [];
  feed.start((pages: PageChanges) => {
    for (const [no, page] of pages) changes.push([no, page?.brand.name]);
  });
  await say(1, undefined);
  await expect.poll(() => changes, soon).toEqual([[1, undefined]]);
  await say(1, 'Again');
  await expect.poll(() => changes.at(-1), soon).toEqual([1, 'Again']);
  feed.close();
  await before.close();
  const bytes = new StoredBytes(join(dataDir, 'management.mdb'));
  const [first] = bytes.keys('workspace_pages');
  bytes.flip('workspace_pages', first!, 99);
  await bytes.close();
  const after = await openTestApp({ dataDir, plan: 'none' });
  expect(new PageFeed(after.store).all().map(([no]) => no)).toEqual([second.no]);
  await after.close();
});

test('systemTimers run what is due, never before, and not what was cancelled', async () => {
  const startedMs = systemTimers.monotonicMs();
  const early: number[] = [];
  const due = Array.from({ length: 50 }, async (_, at) => {
    const ms = at * 0.4;
    await new Promise<void>((resolve) => void systemTimers.after(ms, resolve));
    const tookMs = systemTimers.monotonicMs() - startedMs;
    if (tookMs < ms) early.push(tookMs - ms);
  });
  systemTimers.after(5, () => early.push(5))();
  // Timers do not keep a process alive: here the runner of tests does.
  await Promise.all(due);
  expect(early).toEqual([]);
});
