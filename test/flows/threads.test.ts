/** Threads that die in the midst of their work are back at once, and every number stays exact. */
import { expect, it } from 'vitest';
import { Client } from '../support/client.ts';
import {
  freePorts,
  pause,
  runCommand,
  type ServiceProcess,
  startProcess,
  withDataFolder,
} from '../support/process.ts';
import { Load, trustLoopback } from './load.ts';

/** On a machine with cores to spare; a busy one is measured by what else takes its time there. */
const backMsMax = 1_000;
/** When something else takes the machine's cores for a moment. */
const backMsEver = 6_000;
const deaths = 3;

const threads = new URL('../support/end-threads.ts', import.meta.url).pathname;

it.each([
  ['redirect', 'SIGUSR2'],
  ['shard', 'SIGHUP'],
] as const)('a %s thread that dies is back within a second, totals exact', (kind, signal) =>
  withDataFolder(async (dataDir) => {
    const service = await startProcess({
      dataDir,
      ports: await freePorts(),
      environment: { ...trustLoopback, QZ_REDIRECT_THREADS: '1', QZ_SCANS_SHARDS: '1' },
      nodeArguments: ['--import', threads],
    });
    const client = new Client(service.apiUrl, service.apiKey);
    const load = new Load(service, 3, 800);
    await pause(500);
    const boundMs = Math.max(backMsMax, 3 * (await timeToImport()));
    const backMs: number[] = [];
    for (let death = 1; death <= deaths; death++) {
      backMs.push(await timeToCount(service, load, signal, death));
    }
    const metrics = await client.call('GET', '/metrics', { key: undefined });
    expect(metrics.text).toMatch(
      new RegExp(`quietzone_thread_restarts_total\\{kind="${kind}"\\} ${deaths}`),
    );
    await load.stopWrites();
    const unanswered = await load.stopScans();
    await client.close();
    expect((await service.terminate()).code).toBe(0);
    expect(Math.min(...backMs), `${backMs.join(' ')} ms`).toBeLessThan(boundMs);
    expect(Math.max(...backMs), `${backMs.join(' ')} ms`).toBeLessThan(backMsEver);
    const comparison = await load.compare(dataDir);
    expect(comparison.notes).toEqual([]);
    expect(comparison).toMatchObject({ lost: 0, duplicated: 0, writesLost: 0 });
    // There was a load: how large depends on what else the machine does.
    expect(comparison.answered).toBeGreaterThan(50);
    expect(comparison.counted - comparison.answered).toBeLessThanOrEqual(unanswered);
    const complaints = service.logEntries.filter(({ level }) => level !== 'info');
    expect(complaints.map(({ msg }) => msg)).toEqual(
      Array.from({ length: deaths }, () => `a ${kind} thread died, starting it again`),
    );
  }),
);

/** What the machine takes now to load the program, a third of a second when it is idle. */
async function timeToImport(): Promise<number> {
  const startedMs = performance.now();
  await runCommand(['version'], {});
  return performance.now() - startedMs;
}

/** Ends the threads, then scans a code of the load until it redirects; resolves to when all is counted. */
async function timeToCount(
  service: ServiceProcess,
  load: Load,
  signal: NodeJS.Signals,
  death: number,
): Promise<number> {
  const startedMs = performance.now();
  service.signal(signal);
  await service.waitForLog(new RegExp(`(thread died[^]*){${death}}`), backMsEver);
  // Answers that the dead thread had sent are still on their way.
  await pause(30);
  const before = load.ledger.answered;
  const client = new Client(service.apiUrl, service.apiKey);
  const counted = await counts(client);
  while (load.ledger.answered === before || (await counts(client)) <= counted) {
    if (performance.now() - startedMs > backMsEver) break;
    await pause(40);
  }
  await client.close();
  return performance.now() - startedMs;
}

/** All scans of the newest codes, as the list shows them. */
async function counts(client: Client): Promise<number> {
  const { items } = await client.call('GET', '/v1/qr-codes?limit=40');
  return items.reduce((sum, { scans }) => sum + Number(scans), 0);
}
