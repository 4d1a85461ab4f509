/** Threads that die in the midst of their work are back at once, and every number stays exact. */
import { expect, it } from 'vitest';
import { Client } from '../support/client.ts';
import {
  freePorts,
  isWithin,
  pause,
  type ServiceProcess,
  startProcess,
  type TimeLimit,
  withDataFolder,
  readMetrics,
} from '../support/process.ts';
import { preload } from '../support/program.ts';
import { Load, trustLoopback } from './load.ts';

const backLimit: TimeLimit = { msMax: 1_000, loadings: 4 };
/** It never comes back. */
const backMsEver = 30_000;

const threads = preload('end-threads');

/** Each dies twice. */
const deaths = [
  ['redirect', 'SIGIO'],
  ['shard', 'SIGWINCH'],
  ['redirect', 'SIGIO'],
  ['shard', 'SIGWINCH'],
] as const;
const deathsEach = 2;

it(
  'redirect threads and shards that die are back within a second, totals exact',
  { timeout: 180_000 },
  () =>
    withDataFolder(async (dataDir) => {
      const service = await startProcess({
        dataDir,
        ports: await freePorts(),
        environment: { ...trustLoopback, QZ_REDIRECT_THREADS: '1', QZ_SCANS_SHARDS: '1' },
        nodeOptions: [threads],
      });
      const client = new Client(service.apiUrl, service.apiKey);
      const load = await Load.start(service, 3, 200);
      await load.isUnderWay();
      const backMs = { redirect: Infinity, shard: Infinity };
      for (const [at, [kind, signal]] of deaths.entries()) {
        backMs[kind] = Math.min(backMs[kind], await timeToCount(service, load, signal, at + 1));
      }
      const { redirect, shard } = backMs;
      const isInTime = await isWithin(Math.max(redirect, shard), backLimit);
      const metrics = await readMetrics(service.apiUrl);
      for (const kind of ['redirect', 'shard']) {
        expect(metrics).toMatch(
          new RegExp(`quietzone_thread_restarts_total\\{kind="${kind}"\\} ${deathsEach}`),
        );
      }
      expect(metrics).toMatch(/^quietzone_thread_restarts_total\{kind="raw_queries"\} 0$/m);
      expect(metrics).toMatch(/^quietzone_raw_queries\{state="waiting"\} 0$/m);
      await load.stopWrites();
      const unanswered = await load.stopScans();
      await client.close();
      expect((await service.terminate()).code).toBe(0);
      expect({ ...backMs, isInTime }).toEqual({ ...backMs, isInTime: true });
      const comparison = await load.compare(dataDir);
      expect(comparison.notes).toEqual([]);
      expect(comparison).toMatchObject({ lost: 0, duplicated: 0, writesLost: 0 });
      expect(comparison.counted - comparison.answered).toBeLessThanOrEqual(unanswered);
      expect(service.complaints.map(({ msg }) => msg)).toEqual(
        deaths.map(([kind]) => `a ${kind} thread failed, restarting`),
      );
    }),
);

/** Ends the threads, then scans a code of the load until it redirects; resolves to when all is counted. */
async function timeToCount(
  service: ServiceProcess,
  load: Load,
  signal: NodeJS.Signals,
  death: number,
): Promise<number> {
  const startedMs = performance.now();
  service.signal(signal);
  await service.waitForLog(new RegExp(`(thread failed[^]*){${death}}`), backMsEver);
  // Answers that the dead thread had sent are still on their way.
  await pause(30);
  const before = load.ledger.answered;
  const client = new Client(service.apiUrl, service.apiKey);
  const counted = await counts(client);
  while (load.ledger.answered === before || (await counts(client)) <= counted) {
    if (performance.now() - startedMs > backMsEver) throw new Error('It never comes back');
    await pause(20);
  }
  await client.close();
  return performance.now() - startedMs;
}

/** All scans of the newest codes, as the list shows them. */
async function counts(client: Client): Promise<number> {
  const { items } = await client.call('GET', '/v1/qr-codes?limit=40');
  return items.reduce((sum, { scans }) => sum + Number(scans), 0);
}
