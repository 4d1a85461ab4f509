/** How long after its redirect a scan is in the numbers that the API reads, on a service at rest. */
import { setTimeout as wait } from 'node:timers/promises';
import { openScanQueries } from '../../src/engine/analytics/queries.ts';
import { openDataFolder } from '../../src/app/folder/data-folder.ts';
import { openScanStore } from '../../src/store/scans/scans.ts';
import { systemClock } from '../../src/platform/system-clock.ts';
import { Arena } from './arena.ts';
import { shortCodeOf } from './seed.ts';

const codes = 100;
const waitMsMax = 10_000;

/** Milliseconds from the answer to the count, one a scan. */
export async function measureVisibleDelay(scans: number): Promise<number[]> {
  const arena = new Arena();
  try {
    const { server, dataDir } = await arena.service({ codes });
    const folder = openDataFolder(dataDir);
    const store = openScanStore(folder.scansFile);
    const { analytics } = openScanQueries(store, () => undefined);
    const delays: number[] = [];
    for (let scan = 0; scan < scans; scan++) {
      const codeNo = 1 + (scan % codes);
      const counted = analytics.lifetimeScans(codeNo);
      const answer = await fetch(`http://127.0.0.1:${server.port}/${shortCodeOf(codeNo)}`, {
        redirect: 'manual',
        headers: { 'user-agent': 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X)' },
      });
      if (answer.status !== 302) throw new Error(`Wrong answer: ${answer.status}`);
      const answeredMs = systemClock.monotonicMs();
      while (analytics.lifetimeScans(codeNo) === counted) {
        if (systemClock.monotonicMs() - answeredMs > waitMsMax) throw new Error('A scan is lost');
        await wait(1);
      }
      delays.push(systemClock.monotonicMs() - answeredMs);
      // Another moment of the window each time.
      await wait((scan * 37) % 120);
    }
    await store.environment.close();
    return delays;
  } finally {
    await arena.close();
  }
}
