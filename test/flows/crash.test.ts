/** A short crash run: what `npm run crash` does two hundred times, a few times: running, starting, running. */
import { expect, it } from 'vitest';
import { runCrashes } from '../crash/rounds.ts';
import { freePorts, withDataFolder } from '../support/process.ts';

it(
  'loses and doubles nothing when the service is killed under load and in its start',
  { timeout: 480_000 },
  async () => {
    const ports = await freePorts();
    const result = await withDataFolder((dataDir) =>
      runCrashes({
        dataDir,
        ports,
        rounds: 3,
        seed: 4,
        durability: 'process',
        // Scanned at this rate at most: a tenth of a second is enough for what is checked below.
        loadMsMax: 800,
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
  },
);
