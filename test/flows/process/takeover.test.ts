/** A little of what `npm run takeover` does at length: more of them, kills, and successors and predecessors that fail. */
import { expect, it } from 'vitest';
import { availability, correctness } from '../../takeover/report.ts';
import { runTakeovers } from '../../takeover/takeovers.ts';
import { freePorts, withDataFolder } from '../../support/process.ts';

/** No predecessor waits long for a connection that is idle. */
const load = { perSecond: 100, keepAlive: 'busy' } as const;
/** Times are for the script, on a machine that does nothing else; one reset there is one in a hundred thousand. */
const ofTheScript = ['p99 at most doubled', 'at most one reset in 100,000'];

it('a takeover under load loses, doubles and refuses nothing', async () => {
  const ports = await freePorts();
  const result = await withDataFolder((dataDir) =>
    runTakeovers({ ...load, dataDir, ports, takeovers: 1, seed: 4, steadyMs: 600 }),
  );
  expect(result.notes).toEqual([]);
  const criteria = [...correctness(result), ...availability(result)];
  const failed = criteria.filter(({ what, holds }) => !holds && !ofTheScript.includes(what));
  expect(failed).toEqual([]);
  expect(result.scans.answered).toBeGreaterThan(50);
  expect(result.scans.faults.reset).toBeLessThanOrEqual(1);
  expect(result.changed.writes).toBeGreaterThan(10);
  expect(result.limited.redirects).toBeGreaterThan(0);
});
