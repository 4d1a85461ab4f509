/**
 * Stores that are replicated over a real broker: a log that begins with data, also after an interruption of the first start of a
 * core; brokers that are full; and a log that is pruned while it is followed. Registered where a nats-server is found.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { NatsServer } from '../../config/demo/nats-server.ts';
import { isCopying } from '../../src/cluster/copy/copy-receiver.ts';
import {
  beginLog,
  deleteLog,
  isFollowed,
  type LogBeginningOptions,
  LogBegunError,
} from '../../src/cluster/log/log-beginning.ts';
import { Applier, emptyPosition } from '../../src/cluster/log/applier.ts';
import { EnvironmentStore } from '../../src/cluster/log/environment-store.ts';
import { LogPruning } from '../../src/cluster/log/log-pruning.ts';
import { findBounds, readEntryAt } from '../../src/cluster/nats/nats-stream.ts';
import {
  type NodeIdentity,
  nodeFileName,
  readNodeFile,
} from '../../src/cluster/nodes/node-file.ts';
import { StoreReplication } from '../../src/cluster/log/store-replication.ts';
import { loadConfig } from '../../src/platform/config/config.ts';
import { openDataFolder } from '../../src/app/folder/data-folder.ts';
import { beginInstallation } from '../../src/app/folder/installation.ts';
import { thisMachine } from '../../src/app/modules.ts';
import { connectNode } from '../../src/cluster/roles/context.ts';
import { joinAsCore } from '../../src/cluster/roles/join-as-core.ts';
import { StoreEnvironment, withEnvironment } from '../../src/store/environment.ts';
import { type Management, openManagement } from '../../src/store/management/management.ts';
import { systemClock, systemTimers } from '../../src/platform/system-clock.ts';
import { createLog } from '../../src/platform/log.ts';
import { TestNode } from './roles/started-cluster.ts';
import { soon } from '../support/soon.ts';
import { withNatsServer, temporaryBrokers } from './nats/brokers.ts';

async function open(server: NatsServer) {
  const opened = await temporaryBrokers(server);
  onTestFinished(opened.close);
  return opened;
}

async function beginsOnce(server: NatsServer): Promise<void> {
  const { folder, connect } = await open(server);
  const connection = await connect('a');
  /** Data that nothing else is like. */
  const dataOf = async (byte: number): Promise<LogBeginningOptions> => {
    const environment = new StoreEnvironment(join(folder, `${byte}.mdb`), 'create');
    onTestFinished(() => environment.close());
    const chain = new Uint8Array(16).fill(byte);
    await new EnvironmentStore(environment).place({ seq: 0, epoch: 4, n: 7, chain, before: chain });
    const leader = { owner: `a.${byte}`, url: 'http://a', version: '1' };
    return { connection, name: 'core', replicas: 1, environment, leader };
  };
  const [one, other] = [await dataOf(1), await dataOf(2)];
  await expect(beginLog({ ...one, replicas: 3 })).rejects.toThrow('expected 3 brokers');
  const former = new EnvironmentStore(one.environment).position();
  const position = await beginLog(one);
  expect(position).toMatchObject({ seq: 1, epoch: 5, n: 0, before: former.chain });
  expect(new EnvironmentStore(one.environment).position()).toEqual(position);
  expect(await isFollowed(one, position)).toBe(true);

  // It was killed before it had stored that.
  await new EnvironmentStore(one.environment).place(former);
  expect(await beginLog(one)).toEqual(position);
  await expect(beginLog(other)).rejects.toThrow(LogBegunError);
  expect(await isFollowed(other, new EnvironmentStore(other.environment).position())).toBe(false);

  const body = (await readEntryAt(connection, 'CORE', 1))!;
  expect(new Applier(position).accept(1, body).kind).toBe('known');
  const stopped = [emptyPosition, new EnvironmentStore(other.environment).position()];
  expect(stopped.map((at) => new Applier(at).accept(1, body).kind)).toEqual([
    'diverged',
    'diverged',
  ]);

  await deleteLog(connection, 'core');
  await deleteLog(connection, 'core');
  expect(await findBounds(connection, 'CORE')).toBeUndefined();
  expect(await isFollowed(one, position)).toBe(false);
  expect(await beginLog(one)).toMatchObject({ seq: 1, epoch: 6, n: 0, before: position.chain });
}

async function startsOnce(server: NatsServer): Promise<void> {
  const { brokers, folder: root } = await open(server);
  const { environment } = await TestNode.create(root, 'core-1', 'all', brokers.urls);
  const config = loadConfig(undefined, environment);
  const folder = openDataFolder(config.dataDir);
  await beginInstallation(folder);
  const start = async (): Promise<NodeIdentity> => {
    const context = connectNode(config, createLog('silent'), thisMachine);
    const joined = await joinAsCore(context, folder);
    await context.connection.close();
    return joined;
  };
  const first = await start();
  expect(readNodeFile(folder.path)).toEqual(first);

  // It was killed before it had written that the cluster began with its data.
  rmSync(join(folder.path, nodeFileName));
  const again = await start();
  expect(again).toMatchObject({ name: 'core-1', run: 1 });
  expect(again.journals).not.toEqual(first.journals);
  const position = await withEnvironment(folder.managementFile, 'existing', (opened) =>
    new EnvironmentStore(opened).position(),
  );
  expect(position).toMatchObject({ seq: 1, epoch: 1 });
  expect(isCopying(folder)).toBe(false);
}

interface Core {
  readonly store: Management;
  readonly replication: StoreReplication;
  /** The bytes that it may have; -1 = as many as it likes. */
  readonly limit: (max_bytes: number) => Promise<void>;
}

async function openCore(
  { folder, connect }: Awaited<ReturnType<typeof open>>,
  nodeName: string,
): Promise<Core> {
  const connection = await connect(nodeName);
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
  onTestFinished(async () => {
    replication.close();
    await store.close();
  });
  const limit = async (max_bytes: number): Promise<void> => {
    const { manager } = await connection.ready(5_000);
    await manager.streams.update('CORE', { max_bytes });
  };
  return { store, replication, limit };
}

async function runsFull(server: NatsServer): Promise<void> {
  const { replication, limit } = await openCore(await open(server), 'core-1');
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

async function prunesWhileFollowed(server: NatsServer): Promise<void> {
  const brokers = await open(server);
  const [a, b] = [await openCore(brokers, 'a'), await openCore(brokers, 'b')];
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

await withNatsServer('replicated stores', (found) => {
  test('a log begins with data once; a store with other data, or without any, does not follow', () =>
    beginsOnce(found));
  test('a core begins the cluster, also after it was killed', () => startsOnce(found));
  test('brokers that are out of storage are named, until they have more', () => runsFull(found));
  test('a log is pruned while it is followed', () => prunesWhileFollowed(found));
});
