/** The shortest crash run: one life under load, one kill, one start, compared. `npm run crash` does it at length. */
import { expect, it } from 'vitest';
import { freePorts, withDataFolder } from '../support/process.ts';
import { runCrashes } from '../torture/crash/rounds.ts';

it('loses and doubles nothing when the service is killed under load', async () => {
  const load = { durability: 'process', loadMsMax: 200, perSecond: 600, isTimed: false } as const;
  const ports = await freePorts();
  const { notes, answered, counted, sent, ledger, receipts } = await withDataFolder((dataDir) =>
    runCrashes({ ...load, dataDir, ports, rounds: 1, seed: 4 }),
  );
  expect(notes).toEqual([]);
  expect(answered).toBeGreaterThan(50);
  expect(counted).toBeGreaterThanOrEqual(answered);
  expect(counted).toBeLessThanOrEqual(sent);
  expect(ledger.acknowledged).toBeGreaterThan(2);
  expect(receipts?.committed).toBeGreaterThan(50);
});
