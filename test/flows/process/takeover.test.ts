/** A little of what `npm run takeover` does at length: more of them, kills, and successors and predecessors that fail. */
import { expect, it } from 'vitest';
import { freePorts, withDataFolder } from '../../support/process.ts';
import { tallyOf } from '../../torture/ledger.ts';
import { runTakeovers } from '../../torture/takeover/takeovers.ts';

/** No predecessor waits long for a connection that is idle; response times are for the script. */
const load = { perSecond: 100, isMostlyIdle: false, isTimed: false } as const;

it('a takeover under load loses, doubles and refuses nothing', async () => {
  const ports = await freePorts();
  const result = await withDataFolder((dataDir) =>
    runTakeovers({ ...load, dataDir, ports, takeovers: 1, seed: 4, steadyMs: 600 }),
  );
  const { notes, phones, ledger } = result;
  expect(notes).toEqual([]);
  expect(phones[0]?.view.answered).toBeGreaterThan(50);
  expect(phones[0]?.faults.reset).toBeLessThanOrEqual(1);
  expect(ledger.acknowledged).toBeGreaterThan(10);
  const limited = ledger.codes.filter(({ scanLimit }) => scanLimit !== undefined);
  expect(limited.some((code) => tallyOf(code).answered > 0)).toBe(true);
});
