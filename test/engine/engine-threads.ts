/** The threads of an engine over a new data folder, without geo data. The caller stops them and closes the store. */
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { loadConfig } from '../../src/config.ts';
import { openDataFolder } from '../../src/engine/data-folder.ts';
import { EngineThreads, type EngineThreadsOptions } from '../../src/engine/threads.ts';
import { createLinkTableMemory } from '../../src/links/layout.ts';
import { openScanStore } from '../../src/store/scans/scans.ts';
import { systemClock } from '../../src/system-clock.ts';
import { createLog } from '../../src/telemetry/log.ts';

export function createThreads(path: string, more: Partial<EngineThreadsOptions> = {}) {
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
    visitor: { key: randomBytes(16), geo: {} },
    ...more,
  });
  return { store, threads };
}
