/** SIGTERM under load: nothing in flight fails, the service ends with 0 in time, the ledger is exact. */
import { expect, it } from 'vitest';
import { freePorts, startProcess, withDataFolder } from '../support/process.ts';
import { Load, trustLoopback } from './load.ts';

const endMsMax = 15_000;

it.each(['process', 'power', 'relaxed'])(
  'ends well under load with durability %s',
  { timeout: 120_000 },
  (durability) =>
    withDataFolder(async (dataDir) => {
      const environment = { ...trustLoopback, QZ_DURABILITY: durability, QZ_REDIRECT_THREADS: '2' };
      const service = await startProcess({ dataDir, ports: await freePorts(), environment });
      const load = new Load(service, 5, 1_500);
      await load.isUnderWay();
      const end = await service.terminate();
      await load.stopWrites();
      const unanswered = await load.stopScans();
      expect(service.complaints).toEqual([]);
      expect(end).toMatchObject({ code: 0, signal: null });
      expect(end.ms).toBeLessThan(endMsMax);
      expect(unanswered).toBe(0);
      expect([undefined, 'ECONNREFUSED']).toContain(load.writesBrokenBy);
      const comparison = await load.compare(dataDir);
      expect(comparison.notes).toEqual([]);
      expect(comparison).toMatchObject({ lost: 0, duplicated: 0, writesLost: 0 });
      expect(comparison.counted).toBe(comparison.answered);
    }),
);
