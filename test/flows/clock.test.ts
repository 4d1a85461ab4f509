/**
 * The wall clock steps by an hour and by a year, forwards and back, under a real redirect on a real
 * socket and a real shard: every scan is counted once, on the day that the clock said, and none twice.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import * as uWS from 'uWebSockets.js';
import { expect, it } from 'vitest';
import { ClientAddresses } from '../../src/http/client-address.ts';
import { MissThrottle } from '../../src/http/miss-throttle.ts';
import { Redirect } from '../../src/http/redirect.ts';
import { Refusals } from '../../src/http/refusals.ts';
import { ScannerAddresses } from '../../src/http/scanner-address.ts';
import { createLinkTableMemory } from '../../src/links/layout.ts';
import { LinkReader } from '../../src/links/reader.ts';
import { LinkWriter } from '../../src/links/writer.ts';
import { dayOf } from '../../src/model/day.ts';
import { journalFolder, recoverJournal } from '../../src/scans/journal/segments.ts';
import { identify } from '../../src/scans/journal/file-identity.ts';
import { JournalPositions } from '../../src/scans/journal/positions.ts';
import { JournalWriter } from '../../src/scans/journal/writer.ts';
import { Geo } from '../../src/scans/visitor/geo/geo.ts';
import { openScanQueries } from '../../src/scans/query/queries.ts';
import { Shard } from '../../src/scans/shard.ts';
import { Visitor } from '../../src/scans/visitor/visitor.ts';
import { openScanStore } from '../../src/store/scans/scans.ts';
import { createLatencyHistogram } from '../../src/http/redirect-thread.ts';
import { Client } from '../support/client.ts';
import { withDataFolder } from '../support/process.ts';
import { systemClock } from '../../src/system-clock.ts';

const hourMs = 3_600_000;
const yearMs = 365 * 24 * hourMs;
const steps = [0, hourMs, -hourMs, -hourMs, yearMs, -yearMs, -yearMs, yearMs, 3 * hourMs];
const scansPerStep = 7;

it('counts every scan once, on the day of the clock, whichever way it steps', () =>
  withDataFolder(async (dataDir) => {
    let nowMs = Date.UTC(2026, 5, 15, 22, 30);
    const clock = { now: () => nowMs, monotonicMs: () => performance.now() };
    const journalRoot = join(dataDir, 'journal');
    mkdirSync(journalRoot);
    const { position } = recoverJournal(journalFolder(journalRoot, 0), 0);
    const tails = new JournalPositions();
    const journal = new JournalWriter({
      folder: journalFolder(journalRoot, 0),
      journal: 0,
      position,
      segmentBytesMax: 65_536,
      segmentMsMax: 60_000,
      backlogBytesMax: 65_536,
      tails,
    });
    const store = openScanStore(join(dataDir, 'scans.mdb'), 'create');
    const shardOptions = { shard: 0, shards: 1, windowBytesMax: 65_536, actorsMax: 100 };
    const limits = { rawRetentionDays: 3_650, deliveredBlock: 0 };
    const visitor = new Visitor({ key: Buffer.alloc(16, 1), geo: {} });
    const shard = new Shard({
      ...shardOptions,
      ...limits,
      journalRoot: identify(journalRoot),
      store,
      tails,
      consumed: new JournalPositions(),
      visitor,
      clock,
    });
    const app = listen(journal, clock);
    const links = new Client(`http://127.0.0.1:${app.port}`);
    const days = new Map<number, number>();
    for (const step of steps) {
      nowMs += step;
      for (let scan = 0; scan < scansPerStep; scan++) {
        const headers = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/126.0' };
        expect((await links.call('GET', '/clock', { headers })).status).toBe(302);
      }
      days.set(dayOf(nowMs), (days.get(dayOf(nowMs)) ?? 0) + scansPerStep);
      shard.cycle();
    }
    await links.close();
    app.close();
    while (shard.cycle());
    shard.close();
    const { analytics, events } = openScanQueries(store, () => ({ id: 'qr_clock' }));
    expect(analytics.lifetimeScans(1)).toBe(steps.length * scansPerStep);
    for (const [day, scans] of days) {
      const found = await analytics.totals({ code: 1 }, { fromDay: day, toDay: day });
      expect(found.totalScans).toBe(scans);
    }
    const all = { fromDay: Math.min(...days.keys()), toDay: Math.max(...days.keys()) };
    const { totalScans } = await analytics.totals({ code: 1 }, all);
    expect(totalScans).toBe(steps.length * scansPerStep);
    const { data } = events.page(1, undefined, 1_000);
    expect(new Set(data.map(({ id }) => id)).size).toBe(steps.length * scansPerStep);
    await journal.close();
    await store.environment.close();
  }));

/** A redirect with one link, `clock`, on a port of its own. */
function listen(
  journal: JournalWriter,
  clock: { now: () => number; monotonicMs: () => number },
): { port: number; close: () => void } {
  const memory = createLinkTableMemory({
    slotBytesMax: 1_048_576,
    arenaBytesMax: 16_777_216,
    readersMax: 1,
    linksExpected: 10,
  });
  new LinkWriter(memory, systemClock).put({
    key: 'CLOCK',
    codeNo: 1,
    workspaceNo: 1,
    target: 'https://example.com/',
    expiresAtMs: 0,
    scansLeft: -1,
    state: 'live',
  });
  const addresses = new ScannerAddresses(new ClientAddresses([]));
  const app = uWS.App();
  new Redirect({
    links: new LinkReader(memory, 0),
    geo: new Geo({}),
    journal,
    durability: 'process',
    addresses,
    refusals: new Refusals(addresses, new MissThrottle(0)),
    clock,
    gate: new Int32Array(1),
    latency: createLatencyHistogram(),
  }).attach(app);
  let port = 0;
  app.listen('127.0.0.1', 0, (socket) => {
    if (socket !== false) port = uWS.us_socket_local_port(socket);
  });
  return { port, close: () => app.close() };
}
