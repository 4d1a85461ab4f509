/** Threads of a node in a cluster: without redirects, and with journals that appear while shards run. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadConfig } from '../../../src/config.ts';
import type { EngineThreads } from '../../../src/engine/threads.ts';
import { JournalPositions } from '../../../src/scans/journal/positions.ts';
import {
  journalFolder,
  listSegments,
  recoverJournal,
} from '../../../src/scans/journal/segments.ts';
import { JournalWriter } from '../../../src/scans/journal/writer.ts';
import { openScanQueries } from '../../../src/scans/query/queries.ts';
import type { ScanStore } from '../../../src/store/scans/scans.ts';
import { frameOf } from '../../scans/journal-files.ts';
import { soon } from '../../support/soon.ts';
import { createThreads } from '../engine-threads.ts';

let path = '';
let store: ScanStore;
let threads: EngineThreads;
beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'quietzone-node-threads-'));
});
afterEach(async () => {
  await threads.stop();
  await store.environment.close();
  rmSync(path, { recursive: true, force: true });
});

function openThreads(shards: number, keptFrom?: (journal: number) => number): void {
  const config = loadConfig(undefined);
  ({ store, threads } = createThreads(path, {
    config: { ...config, scans: { ...config.scans, shards } },
    node: { redirectThreads: 0, journals: { own: [], keptFrom } },
  }));
}

/** As the thread that receives the scans of other nodes: it has the folder's place and the tails' memory. */
function receive(journal: number): JournalWriter {
  const { root, tails } = threads.journals;
  const folder = journalFolder(root.path, journal);
  const { position } = recoverJournal(folder, tails.position(journal));
  return new JournalWriter({
    folder,
    journal,
    position,
    segmentBytesMax: 1,
    segmentMsMax: 60_000,
    backlogBytesMax: 0,
    tails: new JournalPositions(tails.memory),
  });
}

test('a core without redirect threads opens, has nothing to complain of, and stops', async () => {
  openThreads(1);
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
  openThreads(2, (journal) => (journal === kept ? 0 : Infinity));
  void threads.shards.boot();
  await threads.startCounting();
  const { shards, journals } = threads;
  const journalsOfOthers = [3, 40_000, kept, 65_535];
  for (const round of [1, 2]) {
    for (const journal of journalsOfOthers) {
      const writer = receive(journal);
      // Codes of both shards.
      for (let frame = 0; frame < 4; frame++) writer.append(frameOf(frame * 10, 10), 10);
      await writer.close();
    }
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
  openThreads(2);
  void threads.shards.boot();
  await threads.startCounting();
  const { shards, journals } = threads;
  const writer = receive(7);
  for (let frame = 0; frame < 4; frame++) writer.append(frameOf(frame * 10, 10), 10);
  await writer.close();
  await threads.stop();
  expect([...shards.counted()]).toContainEqual([7, journals.tails.position(7)]);
});

test('what a shard has not told of is not counted by all', async () => {
  openThreads(2);
  void threads.shards.boot();
  await threads.startCounting();
  const { shards } = threads;
  const [one, other] = shards.states as [
    (typeof shards.states)[number],
    (typeof shards.states)[number],
  ];
  one.consumed = new Map([
    [1, 100],
    [2, 300],
  ]);
  other.consumed = new Map([
    [2, 200],
    [3, 50],
  ]);
  expect(shards.counted()).toEqual(new Map([[2, 200]]));
});
