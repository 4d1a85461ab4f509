/** A stop under load: nothing in flight fails, it ends in time, the counts are exact. By SIGTERM it ends with 0. */
import { expect, it } from 'vitest';
import {
  freePorts,
  type RunningService,
  startProcess,
  withDataFolder,
} from '../support/process.ts';
import { TestService } from '../support/test-service.ts';
import { Load, trustLoopback } from './load.ts';

const endMsMax = 15_000;
const environmentOf = (durability: string) => ({
  ...trustLoopback,
  QZ_DURABILITY: durability,
  QZ_REDIRECT_THREADS: '2',
});

/** @param stop ends the service; resolves when it has ended */
async function expectCleanStop(
  service: RunningService & { readonly complaints: readonly unknown[] },
  dataDir: string,
  stop: () => Promise<void>,
): Promise<void> {
  const load = await Load.start(service, 5, 1_500);
  await load.isUnderWay();
  const startedMs = performance.now();
  await stop();
  const endMs = performance.now() - startedMs;
  await load.stopWrites();
  const unanswered = await load.stopScans();
  expect(service.complaints).toEqual([]);
  expect(endMs).toBeLessThan(endMsMax);
  expect(unanswered).toBe(0);
  expect([undefined, 'ECONNREFUSED']).toContain(load.writesBrokenBy);
  const comparison = await load.compare(dataDir);
  expect(comparison.notes).toEqual([]);
  expect(comparison).toMatchObject({ lost: 0, duplicated: 0, writesLost: 0 });
  expect(comparison.counted).toBe(comparison.answered);
}

it('ends well under load by SIGTERM', () =>
  withDataFolder(async (dataDir) => {
    const environment = environmentOf('process');
    const service = await startProcess({ dataDir, ports: await freePorts(), environment });
    await expectCleanStop(service, dataDir, async () => {
      expect(await service.terminate()).toMatchObject({ code: 0, signal: null });
    });
  }));

it('ends well under load with durability power', () =>
  withDataFolder(async (dataDir) => {
    const service = await TestService.start({ dataDir, environment: environmentOf('power') });
    await expectCleanStop(service, dataDir, () => service.close());
  }));
