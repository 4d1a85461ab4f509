/**
 * A service among receivers that hang, drip, flood, redirect, reset, lie and speak another protocol: each attempt ends
 * at its deadline at the latest, the delivery log says why, memory does not grow, and healthy receivers get their
 * first attempts as if they were alone.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { EventEnvelope } from '../../src/model/event.ts';
import { type Json, word } from '../support/client.ts';
import { pause, withDataFolder } from '../support/process.ts';
import { openReceiver, type Receiver } from '../support/fakes/receiver.ts';
import {
  createMany,
  deleteSome,
  deliveriesOf,
  makeEndpoint,
  openReal,
  type RealService,
} from '../webhooks/real-service.ts';
import {
  authorityFile,
  type HostileReceiver,
  hostileReceivers,
} from '../webhooks/hostile-receivers.ts';

/** Far above what a busy machine takes for the rest, so that nothing else ends there. */
const deadlineMs = 6_000;
/** A timer may be late on a busy machine; beyond this there was no deadline. */
const lateMsMax = 6_000;
/** One retry, in an hour: this is about first attempts. */
const retryMs = 3_600_000;
const healthyCount = 2;
const batchSize = 3;
/** Of two batches. */
const events = 2 * batchSize;
/** For those that are expensive. */
const fewEvents = 2;
/** One call per endpoint, of the 600 requests that a minute of the plan has. */
const pollMs = 1_500;
const pollsMax = 24;
/** A sender that reads all of a flood has a gigabyte; the heaps of a busy service vary by 100 MB. */
const growthBytesMax = 300_000_000;

interface Opened {
  readonly receiver: HostileReceiver;
  readonly endpointId: string;
}

interface Result extends Opened {
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

const eventsOf = ({ isExpensive }: HostileReceiver): number => (isExpensive ? fewEvents : events);

async function openHostileProcess(
  canary: string,
): Promise<{ child: ChildProcess; urls: string[] }> {
  const child = fork(new URL('../webhooks/hostile-receivers-process.ts', import.meta.url), [
    canary,
  ]);
  const [urls] = await once(child, 'message');
  return { child, urls };
}

async function resultOf(real: RealService, opened: Opened): Promise<Result> {
  const deliveries = await deliveriesOf(real, opened.endpointId);
  return {
    ...opened,
    attempted: deliveries.filter(({ attemptCount }) => Number(attemptCount) > 0),
  };
}

/** What the log says wrong, as text. */
function faultsOf({ receiver: one, attempted }: Result): string[] {
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
  if (attempted.length !== eventsOf(one)) found.push(`${attempted.length} were tried`);
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
function checkHealthy(healthy: readonly Receiver[]): void {
  for (const { requests } of healthy) {
    const ids = requests.map(({ headers }) => word(headers['webhook-id']));
    expect(new Set(ids).size).toBe(events);
    expect(ids).toHaveLength(events);
  }
  // No measurement: a delivery that waits for one that hangs takes the deadline.
  expect(Math.max(...healthy.flatMap(latenciesOf))).toBeLessThan(deadlineMs);
}

/** Once all attempts have ended. */
async function collect(real: RealService, opened: readonly Opened[]): Promise<Result[]> {
  const results: Result[] = [];
  let open = opened;
  for (let polls = 0; open.length > 0 && polls < pollsMax; polls++) {
    await pause(pollMs);
    const now = await Promise.all(open.map((one) => resultOf(real, one)));
    const isWhole = ({ receiver: one, attempted }: Result): boolean =>
      attempted.length >= eventsOf(one);
    results.push(...now.filter((one) => isWhole(one) || polls === pollsMax - 1));
    open = now.filter((one) => !isWhole(one));
  }
  return results;
}

it('ends every attempt in time and says why, and delays no healthy receiver', () =>
  withDataFolder(async (dataDir) => {
    const canary = await openReceiver();
    const healthy = await Promise.all(Array.from({ length: healthyCount }, () => openReceiver()));
    const hostile = await openHostileProcess(canary.url('/canary'));
    const real = await openReal(dataDir, {
      environment: {
        QZ_WEBHOOKS_ATTEMPT_TIMEOUT_MS: String(deadlineMs),
        QZ_WEBHOOKS_RETRY_DELAYS_MS: String(retryMs),
        NODE_EXTRA_CA_CERTS: authorityFile,
      },
    });
    const opened: Opened[] = [];
    for (const [at, one] of hostileReceivers(canary.url('/canary')).entries()) {
      const kinds = [one.isExpensive ? 'qr.deleted' : 'qr.created'];
      const endpointId = await makeEndpoint(real, hostile.urls[at] ?? '', kinds);
      opened.push({ receiver: one, endpointId });
    }
    for (const receiver of healthy) await makeEndpoint(real, receiver.url());
    await createMany(real, batchSize);
    await Promise.all(healthy.map((receiver) => receiver.arrived(batchSize)));
    const memoryBefore = memoryOf(real.service.pid);
    await createMany(real, batchSize);
    await deleteSome(real, fewEvents);
    await Promise.all(healthy.map((receiver) => receiver.arrived(events)));
    const results = await collect(real, opened);
    const growthBytes = memoryOf(real.service.pid) - memoryBefore;
    expect(results.flatMap(faultsOf)).toEqual([]);
    expect(growthBytes).toBeLessThan(growthBytesMax);
    expect(canary.connections).toBe(0);
    checkHealthy(healthy);
    await real.api.close();
    expect((await real.service.terminate()).code).toBe(0);
    expect(real.service.logEntries.filter(({ level }) => level === 'error')).toEqual([]);
    hostile.child.kill('SIGKILL');
    await Promise.all([canary, ...healthy].map((receiver) => receiver.close()));
  }));
