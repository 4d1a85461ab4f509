/**
 * A service among receivers that hang, drip, flood, redirect, reset, lie and speak another protocol: each attempt ends
 * at its deadline at the latest, the delivery log says why, memory does not grow, and healthy receivers get their
 * first attempts as if they were alone.
 */
import { fork } from 'node:child_process';
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

/** What the log says wrong, as text. */
function faultsOf({ receiver: one, attempted }: Opened): string[] {
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

/** Every event once, and soon: a delivery that waits for one that hangs takes the deadline. */
function checkHealthy({ requests }: Receiver): void {
  expect(new Set(requests.map(({ headers }) => headers['webhook-id'])).size).toBe(events);
  expect(requests).toHaveLength(events);
  for (const { body, atMs } of requests) {
    const { createdAt = '' }: EventEnvelope = JSON.parse(body.toString());
    expect(atMs - Date.parse(createdAt)).toBeLessThan(deadlineMs);
  }
}

/** Once all attempts have ended, or for the last time. */
async function collect(real: RealService, opened: readonly Opened[]): Promise<Opened[]> {
  for (let polls = 1; ; polls++) {
    await pause(pollMs);
    const now = await Promise.all(
      opened.map(async (one) => {
        if (one.attempted.length >= eventsOf(one.receiver)) return one;
        const deliveries = await deliveriesOf(real, one.endpointId);
        const attempted = deliveries.filter(({ attemptCount }) => Number(attemptCount) > 0);
        return { ...one, attempted };
      }),
    );
    const isWhole = now.every(({ receiver, attempted }) => attempted.length >= eventsOf(receiver));
    if (isWhole || polls === pollsMax) return now;
    opened = now;
  }
}

it('ends every attempt in time and says why, and delays no healthy receiver', () =>
  withDataFolder(async (dataDir) => {
    const canary = await openReceiver();
    const healthy = await Promise.all(Array.from({ length: healthyCount }, () => openReceiver()));
    const file = new URL('../webhooks/hostile-receivers-process.ts', import.meta.url);
    const hostile = fork(file, [canary.url('/canary')]);
    const [urls]: string[][] = await once(hostile, 'message');
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
      const endpointId = await makeEndpoint(real, urls?.[at] ?? '', kinds);
      opened.push({ receiver: one, endpointId, attempted: [] });
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
    for (const receiver of healthy) checkHealthy(receiver);
    await real.api.close();
    expect((await real.service.terminate()).code).toBe(0);
    expect(real.service.logEntries.filter(({ level }) => level === 'error')).toEqual([]);
    hostile.kill('SIGKILL');
    await Promise.all([canary, ...healthy].map((receiver) => receiver.close()));
  }));
