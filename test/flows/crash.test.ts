/** The shortest crash run: one life under load, one kill, one start, compared. `npm run crash` does it at length. */
import { expect, it } from 'vitest';
import { runCrashes } from '../crash/rounds.ts';
import { freePorts, withDataFolder } from '../support/process.ts';

it('loses and doubles nothing when the service is killed under load', async () => {
  const ports = await freePorts();
  const result = await withDataFolder((dataDir) =>
    runCrashes({
      dataDir,
      ports,
      rounds: 1,
      seed: 4,
      durability: 'process',
      loadMsMax: 200,
      perSecond: 600,
    }),
  );
  expect(result.notes).toEqual([]);
  const { lost, duplicated, writesLost, unexpected, exitCode } = result;
  expect({ lost, duplicated, writesLost, unexpected, exitCode }).toEqual({
    lost: 0,
    duplicated: 0,
    writesLost: 0,
    unexpected: 0,
    exitCode: 0,
  });
  expect(result.answered).toBeGreaterThan(50);
  expect(result.counted).toBeGreaterThanOrEqual(result.answered);
  expect(result.counted).toBeLessThanOrEqual(result.sent);
  expect(result.writes).toBeGreaterThan(2);
  const { receipts } = result;
  expect(receipts?.committed).toBeGreaterThan(50);
  expect([receipts?.missing, receipts?.altered]).toEqual([0, 0]);
});
