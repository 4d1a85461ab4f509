/**
 * A service among receivers that hang, drip, flood, redirect, reset, lie and speak something else: each attempt
 * ends at its deadline at the latest, the delivery log says why, memory stays, and receivers that are well get
 * their first attempts as if they were alone.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { EventEnvelope } from '../../src/model/event.ts';
import { type Json, word } from '../support/client.ts';
import { pause, withDataFolder } from '../support/process.ts';
import { openReceiver, type Receiver } from '../support/receiver.ts';
import {
  createMany,
  deleteSome,
  deliveriesOf,
  makeEndpoint,
  openReal,
  type RealService,
} from '../webhooks/real-service.ts';
import { authorityFile } from '../webhooks/wild-receiver.ts';
import { species, type Species } from '../webhooks/hostile-receivers.ts';

/** Far above what a busy machine takes for the rest, so that nothing else ends there. */
const deadlineMs = 8_000;
/** A timer's and a busy machine's lateness: beyond it the deadline was none. */
const lateMsMax = 6_000;
/** One retry, in an hour: this is about first attempts. */
const retryMs = 3_600_000;
const healthyCount = 3;
const batches = 4;
const batchSize = 5;
const events = batches * batchSize;
/** To those that are dear. */
const fewEvents = 3;
/** Attempts in flight to one endpoint: of one that hangs, so many end at the first deadline. */
const width = 16;
/** Each look at an endpoint is one of the 600 requests that a minute of the plan has. */
const lookMs = 1_500;
const looksMax = 24;
/** Whoever reads all that a flood sends has a gigabyte; the heaps of a busy service vary by 100 MB. */
const growthBytesMax = 300_000_000;

interface Caged {
  readonly species: Species;
  readonly endpointId: string;
}

interface Result extends Caged {
  /** The log's entries of attempts that ended. */
  readonly attempted: readonly Json[];
}

/** Without pages of files. */
function memoryOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kilobytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0);
  return (kilobytes('VmRSS') - kilobytes('RssFile')) * 1_024;
}

const eventsOf = ({ isDear }: Species): number => (isDear ? fewEvents : events);

async function openZoo(canary: string): Promise<{ child: ChildProcess; urls: string[] }> {
  const child = fork(new URL('../webhooks/hostile-receivers-process.ts', import.meta.url), [
    canary,
  ]);
  const [urls] = await once(child, 'message');
  return { child, urls };
}

async function resultOf(real: RealService, caged: Caged): Promise<Result> {
  const deliveries = await deliveriesOf(real, caged.endpointId);
  return { ...caged, attempted: deliveries.filter(({ attemptCount }) => Number(attemptCount) > 0) };
}

/** What is wrong with the log, in words. */
function faultsOf({ species: one, attempted }: Result): string[] {
  const isWell = one.failure === undefined;
  const found = attempted.flatMap(({ lastAttempt, attemptCount, state, nextAttemptAt }) => {
    const { failure, status, durationMs, at } = lastAttempt ?? {};
    const isExpected =
      [one.failure ?? null, one.orElse].some((expected) => expected === failure) &&
      Number(status) === (one.status ?? 0) &&
      Number(attemptCount) === 1 &&
      word(state) === (isWell ? 'delivered' : 'pending');
    const wrong = isExpected ? [] : [JSON.stringify({ failure, status, attemptCount, state })];
    if (Number(durationMs) > deadlineMs + lateMsMax) wrong.push(`took ${word(durationMs)} ms`);
    // Timers count whole milliseconds.
    if (one.isSlow && Number(durationMs) < deadlineMs - 2) wrong.push('ended early');
    const waitMs = isWell ? 0 : Date.parse(word(nextAttemptAt)) - Date.parse(word(at));
    if (waitMs > 2 * retryMs + deadlineMs + lateMsMax) wrong.push(`waits ${waitMs} ms`);
    if (!isWell && waitMs < retryMs) wrong.push(`waits only ${waitMs} ms`);
    return wrong;
  });
  const tried = one.isSlow ? attempted.length >= width : attempted.length === eventsOf(one);
  if (!tried) found.push(`${attempted.length} were tried`);
  return [...new Set(found)].map((fault) => `${one.name}: ${fault}`);
}

/** From its cause to the first bytes of its first POST, of each event. */
function latenciesOf({ requests }: Receiver): number[] {
  return requests.map(({ body, atMs }) => {
    const { createdAt = '' }: EventEnvelope = JSON.parse(body.toString());
    return atMs - Date.parse(createdAt);
  });
}

/** Every event once, and soon. */
function checkHealthy(healthy: readonly Receiver[], growthBytes: number): void {
  for (const { requests } of healthy) {
    const ids = requests.map(({ headers }) => word(headers['webhook-id']));
    expect(new Set(ids).size).toBe(events);
    expect(ids).toHaveLength(events);
  }
  const latenciesMs = healthy.flatMap(latenciesOf).sort((a, b) => a - b);
  const [p50, p99] = [0.5, 0.99].map(
    (share) => latenciesMs[Math.floor(latenciesMs.length * share)],
  );
  process.stdout.write(
    `healthy among the bad: p50 ${p50?.toFixed(0)} p99 ${p99?.toFixed(0)} ms, ` +
      `memory ${(growthBytes / 1e6).toFixed(0)} MB more\n`,
  );
  // No measurement: who waited for one that hangs would take the deadline.
  expect(p99).toBeLessThan(deadlineMs);
}

/** Once the first sixteen of each that hangs have ended, and all of the others. */
async function collect(real: RealService, caged: readonly Caged[]): Promise<Result[]> {
  const results: Result[] = [];
  let open = caged;
  for (let looks = 0; open.length > 0 && looks < looksMax; looks++) {
    await pause(lookMs);
    const now = await Promise.all(open.map((one) => resultOf(real, one)));
    const isWhole = ({ species: one, attempted }: Result): boolean =>
      attempted.length >= (one.isSlow ? width : eventsOf(one));
    results.push(...now.filter((one) => isWhole(one) || looks === looksMax - 1));
    open = now.filter((one) => !isWhole(one));
  }
  return results;
}

it('ends every attempt in time and says why, and delays nobody', { timeout: 120_000 }, () =>
  withDataFolder(async (dataDir) => {
    const canary = await openReceiver();
    const healthy = await Promise.all(Array.from({ length: healthyCount }, () => openReceiver()));
    const zoo = await openZoo(canary.url('/canary'));
    const real = await openReal(dataDir, {
      environment: {
        QZ_WEBHOOKS_ATTEMPT_TIMEOUT_MS: String(deadlineMs),
        QZ_WEBHOOKS_RETRY_DELAYS_MS: String(retryMs),
        NODE_EXTRA_CA_CERTS: authorityFile,
      },
    });
    const caged: Caged[] = [];
    for (const [at, one] of species(canary.url('/canary')).entries()) {
      const kinds = [one.isDear ? 'qr.deleted' : 'qr.created'];
      const endpointId = await makeEndpoint(real, zoo.urls[at] ?? '', kinds);
      caged.push({ species: one, endpointId });
    }
    for (const receiver of healthy) await makeEndpoint(real, receiver.url());
    await createMany(real, batchSize);
    await Promise.all(healthy.map((receiver) => receiver.arrived(batchSize)));
    const memoryBefore = memoryOf(real.service.pid);
    for (let batch = 1; batch < batches; batch++) {
      await createMany(real, batchSize);
      if (batch === 1) await deleteSome(real, fewEvents);
      await pause(200);
    }
    await Promise.all(healthy.map((receiver) => receiver.arrived(events)));
    const results = await collect(real, caged);
    const growthBytes = memoryOf(real.service.pid) - memoryBefore;
    expect(results.flatMap(faultsOf)).toEqual([]);
    expect(growthBytes).toBeLessThan(growthBytesMax);
    expect(canary.connections).toBe(0);
    checkHealthy(healthy, growthBytes);
    await real.api.close();
    expect((await real.service.terminate()).code).toBe(0);
    expect(real.service.logEntries.filter(({ level }) => level === 'error')).toEqual([]);
    zoo.child.kill('SIGKILL');
    await Promise.all([canary, ...healthy].map((receiver) => receiver.close()));
  }),
);
