/** Threads that die in the midst of their work are back at once, and every number stays exact. */
import { expect, it } from 'vitest';
import {
  fewThreads,
  isWithin,
  pause,
  type ServiceProcess,
  startProcess,
  type TimeLimit,
  withDataFolder,
} from '../support/process.ts';
import { preload } from '../support/program.ts';
import { eventually, soon } from '../support/soon.ts';
import { Load, trustLoopback } from './load.ts';

const backLimit: TimeLimit = { msMax: 1_000, loadings: 4 };

/** Each dies twice. */
const kinds = [['redirect', 'SIGIO'] as const, ['shard', 'SIGWINCH'] as const];
const deaths = [...kinds, ...kinds];
const deathsEach = 2;

it('redirect threads and shards that die are back within a second, totals exact', () =>
  withDataFolder(async (dataDir) => {
    const environment = { ...trustLoopback, ...fewThreads };
    const nodeOptions = [preload('end-threads')];
    const service = await startProcess({ dataDir, environment, nodeOptions });
    const load = await Load.start(service, 3, 200);
    await load.isUnderWay();
    const backMs = { redirect: Infinity, shard: Infinity };
    for (const [at, [kind, signal]] of deaths.entries()) {
      backMs[kind] = Math.min(backMs[kind], await timeToCount(service, load, signal, at + 1));
    }
    const { redirect, shard } = backMs;
    const isInTime = await isWithin(Math.max(redirect, shard), backLimit);
    const metrics = await service.metrics();
    for (const line of [
      `quietzone_thread_restarts_total{kind="redirect"} ${deathsEach}`,
      `quietzone_thread_restarts_total{kind="shard"} ${deathsEach}`,
      'quietzone_thread_restarts_total{kind="raw_queries"} 0',
      'quietzone_raw_queries{state="waiting"} 0',
    ])
      expect(metrics.split('\n')).toContain(line);
    await load.stopWrites();
    const unanswered = await load.stopScans();
    expect((await service.terminate()).code).toBe(0);
    expect({ ...backMs, isInTime }).toEqual({ ...backMs, isInTime: true });
    const { answered, counted } = await load.expectKept();
    expect(counted - answered).toBeLessThanOrEqual(unanswered);
    expect(service.complaints.map(({ msg }) => msg)).toEqual(
      deaths.map(([kind]) => `a ${kind} thread failed, restarting`),
    );
  }));

/** Ends the threads, then scans a code of the load until it redirects; resolves to when all is counted. */
async function timeToCount(
  service: ServiceProcess,
  load: Load,
  signal: NodeJS.Signals,
  death: number,
): Promise<number> {
  const startedMs = performance.now();
  service.signal(signal);
  await service.waitForLog(new RegExp(`(thread failed[^]*){${death}}`), soon.timeout);
  // Answers that the dead thread had sent are still on their way.
  await pause(30);
  const before = load.ledger.answered;
  const counted = await counts(service);
  const isBack = async () => load.ledger.answered > before && (await counts(service)) > counted;
  await eventually(isBack, 'it redirects and counts');
  return performance.now() - startedMs;
}

/** All scans of the newest codes, as the list shows them. */
async function counts({ api }: ServiceProcess): Promise<number> {
  const { items } = await api.get('/v1/qr-codes?limit=40');
  return items.reduce((sum, { scans }) => sum + Number(scans), 0);
}
