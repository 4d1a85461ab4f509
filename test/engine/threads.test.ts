/** Latencies of all redirect threads, over more requests than a test can send. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { createLinkTableMemory } from '../../src/links/layout.ts';
import { openDataFolder } from '../../src/engine/data-folder.ts';
import { EngineThreads } from '../../src/engine/threads.ts';
import { openScanStore } from '../../src/store/scans/scans.ts';
import { systemClock } from '../../src/system-clock.ts';
import {
  addCounts,
  createLatencyHistogram,
  takeCounts,
} from '../../src/telemetry/latency-histogram.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { noGeo } from '../scans/visitor/geo-data.ts';

test('latencies of more than 2^32 redirects still have quantiles and a mean', async () => {
  const path = mkdtempSync(join(tmpdir(), 'quietzone-threads-'));
  const folder = openDataFolder(path);
  mkdirSync(folder.journalRoot);
  const store = openScanStore(folder.scansFile, 'create');
  const threads = new EngineThreads({
    config: loadConfig(undefined),
    clock: systemClock,
    log: createLog('silent'),
    folder,
    store,
    links: createLinkTableMemory({
      slotBytesMax: 2 ** 20,
      arenaBytesMax: 2 ** 20,
      readersMax: 1,
      linksExpected: 0,
    }),
    visitor: Promise.resolve({ key: randomBytes(16), geo: noGeo }),
  });
  const month = createLatencyHistogram();
  month.recordValueWithCount(100, 2 ** 31);
  month.recordValueWithCount(5_000, 2 ** 20);
  const counts = takeCounts(month);
  expect(month.totalCount).toBe(0);
  for (let i = 0; i < 3; i++) addCounts(threads.redirects.latency, counts);
  expect(threads.redirects.latency.totalCount).toBe(3 * (2 ** 31 + 2 ** 20));
  expect(threads.redirects.latency.getValueAtPercentile(50)).toBe(100);
  expect(threads.redirects.latency.mean).toBeCloseTo(102.4, 0);
  await store.environment.close();
  rmSync(path, { recursive: true, force: true });
});
