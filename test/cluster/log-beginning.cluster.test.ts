/** A log that begins with data which is there: over a real broker, where one is found. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findNatsServer, type NatsServer } from '../../config/demo/nats-server.ts';
import {
  beginLog,
  deleteLog,
  type LogBeginningOptions,
  isFollowed,
  LogBegunError,
} from '../../src/cluster/log-beginning.ts';
import { Applier, emptyPosition } from '../../src/cluster/log/applier.ts';
import { EnvironmentStore } from '../../src/cluster/log/environment-store.ts';
import { findBounds, readEntryAt } from '../../src/cluster/nats/nats-stream.ts';
import { StoreEnvironment } from '../../src/store/environment.ts';
import { notRun, openNats, startBrokers } from './nats/brokers.ts';

async function open(server: NatsServer) {
  const folder = mkdtempSync(join(tmpdir(), 'quietzone-log-beginning-'));
  const brokers = await startBrokers({ count: 1, folder: join(folder, 'brokers'), server });
  const connection = await openNats({ servers: brokers.urls, nodeName: 'a' });
  const environments: StoreEnvironment[] = [];
  onTestFinished(async () => {
    for (const environment of environments) await environment.close();
    await connection.close();
    await brokers.close();
    rmSync(folder, { recursive: true });
  });
  /** Data that nothing else is like. */
  const dataOf = async (byte: number): Promise<LogBeginningOptions> => {
    const environment = new StoreEnvironment(join(folder, `${byte}.mdb`), 'create');
    environments.push(environment);
    const chain = new Uint8Array(16).fill(byte);
    const store = new EnvironmentStore(environment);
    await store.place({ seq: 0, epoch: 4, n: 7, chain, before: chain });
    const leader = { owner: `a.${byte}`, url: 'http://a', version: '1' };
    return { connection, name: 'core', replicas: 1, environment, leader };
  };
  return { connection, dataOf };
}

async function beginsOnce(server: NatsServer): Promise<void> {
  const { connection, dataOf } = await open(server);
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

const found = await findNatsServer();
if ('missing' in found) notRun('logs that begin with data', found);
else {
  test('a log begins with data once; a store with other data, or without any, does not follow', () =>
    beginsOnce(found));
}
