/** SIGTERM under load: nothing in flight fails, not even what waits for the disk; it ends in time, the counts are exact. */
import { expect, it } from 'vitest';
import { freePorts, startProcess, withDataFolder } from '../support/process.ts';
import { Load, trustLoopback } from './load.ts';

const endMsMax = 15_000;

it('ends well under load', () =>
  withDataFolder(async (dataDir) => {
    const environment = { ...trustLoopback, QZ_DURABILITY: 'power', QZ_REDIRECT_THREADS: '2' };
    const service = await startProcess({ dataDir, ports: await freePorts(), environment });
    const load = await Load.start(service, 5, 1_500);
    await load.isUnderWay();
    const { code, signal, ms } = await service.terminate();
    await load.stopWrites();
    const unanswered = await load.stopScans();
    expect([code, signal, unanswered]).toEqual([0, null, 0]);
    expect(ms).toBeLessThan(endMsMax);
    expect(service.complaints).toEqual([]);
    expect([undefined, 'ECONNREFUSED']).toContain(load.writesBrokenBy);
    const comparison = await load.compare(dataDir);
    expect(comparison.notes).toEqual([]);
    expect(comparison).toMatchObject({ lost: 0, duplicated: 0, writesLost: 0 });
    expect(comparison.counted).toBe(comparison.answered);
  }));
