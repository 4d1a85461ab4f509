/** Replicated stores on a real broker: brokers that are full, and a log that is pruned while it is followed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findNatsServer, type NatsServer } from '../../config/demo/nats-server.ts';
import { LogPruning } from '../../src/cluster/log/log-pruning.ts';
import { StoreReplication } from '../../src/cluster/store-replication.ts';
import { type Management, openManagement } from '../../src/store/management/management.ts';
import { systemClock, systemTimers } from '../../src/system-clock.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { soon } from '../support/soon.ts';
import { notRun, openNats, startBrokers } from './nats/brokers.ts';

interface Core {
  readonly store: Management;
  readonly replication: StoreReplication;
  /** The bytes that it may have; -1 = as many as it likes. */
  readonly limit: (max_bytes: number) => Promise<void>;
  close(): Promise<void>;
}

async function oneBroker(server: NatsServer) {
  const folder = mkdtempSync(join(tmpdir(), 'qz-replication-'));
  const brokers = await startBrokers({ count: 1, folder, server });
  const closers: Array<() => Promise<void>> = [];
  onTestFinished(async () => {
    for (const close of closers) await close();
    await brokers.close();
    rmSync(folder, { recursive: true });
  });
  return async (nodeName: string): Promise<Core> => {
    const connection = await openNats({ servers: brokers.urls, nodeName });
    const store = openManagement(join(folder, `${nodeName}.mdb`), 'create');
    const replication = new StoreReplication({
      environment: store.environment,
      connection,
      name: 'core',
      replicas: 1,
      self: { owner: `${nodeName}.1`, url: `http://${nodeName}`, version: '1' },
      timers: systemTimers,
      random: Math.random,
      log: createLog('silent'),
      onChanged: () => undefined,
    });
    replication.start();
    let isClosed = false;
    const close = async (): Promise<void> => {
      if (isClosed) return;
      isClosed = true;
      replication.close();
      await store.close();
      await connection.close();
    };
    closers.push(close);
    const limit = async (max_bytes: number): Promise<void> => {
      const { manager } = await connection.ready(5_000);
      await manager.streams.update('CORE', { max_bytes });
    };
    return { store, replication, close, limit };
  };
}

async function runsFull(server: NatsServer): Promise<void> {
  const open = await oneBroker(server);
  const { replication, limit } = await open('core-1');
  await expect.poll(() => replication.isHeld, soon).toBe(true);
  expect([replication.problem, replication.isStorageFull]).toEqual([undefined, false]);
  await limit(1);
  await expect.poll(() => replication.problem, soon).toMatch(/^the brokers are out of storage: /);
  await expect.poll(() => replication.refusedMs, soon).toBeGreaterThan(3_000);
  expect([replication.isStorageFull, replication.isHeld]).toEqual([true, false]);
  await limit(-1);
  await expect.poll(() => replication.isHeld, soon).toBe(true);
  expect([replication.problem, replication.refusedMs]).toEqual([undefined, 0]);
}

const found = await findNatsServer();
if ('missing' in found) {
  notRun('replicated stores', found);
} else {
  test('brokers that are out of storage are named, until they have more', () => runsFull(found));

  test('a log is pruned while it is followed', () => prunesWhileFollowed(found));
}

async function prunesWhileFollowed(server: NatsServer): Promise<void> {
  const open = await oneBroker(server);
  const a = await open('a');
  const b = await open('b');
  await expect
    .poll(() => a.replication.isHeld || b.replication.isHeld, { timeout: 15_000 })
    .toBe(true);
  const [leader, standby] = a.replication.isHeld ? [a, b] : [b, a];
  const change = async (): Promise<void> => {
    await leader.store.environment.transaction(() => leader.store.next('code'));
  };
  for (let count = 0; count < 20; count++) await change();
  const { messages } = leader.replication;
  const stored = (): Map<string, number> =>
    new Map([leader, standby].map(({ replication }, at) => [String(at), replication.storedSeq]));
  const pruning = new LogPruning({
    log: messages,
    clock: systemClock,
    timers: systemTimers,
    everyMs: 50,
    isLeader: () => leader.replication.isHeld,
    stored,
    replayedBy: '0',
  });
  pruning.start();
  onTestFinished(() => pruning.stop());
  await expect.poll(async () => (await messages.bounds()).first, soon).toBeGreaterThan(20);
  // Beats come, and nothing else: none of them can be removed before something is written.
  const before = leader.replication.storedSeq;
  await expect.poll(async () => (await messages.bounds()).last, soon).toBeGreaterThan(before + 2);
  await leader.replication.moveOn(systemClock.now());
  await expect.poll(async () => (await messages.bounds()).first, soon).toBeGreaterThan(before + 2);
  expect(pruning.entries).toBeLessThan(10);
  await change();
  await expect.poll(() => standby.store.last('code'), soon).toBe(21);
  expect([standby.replication.problem, leader.replication.problem]).toEqual([undefined, undefined]);
}
