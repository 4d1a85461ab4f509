/** Brokers (config/demo/brokers.ts) on ports that no other test has, and connections to them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  type Brokers,
  type BrokersOptions,
  type Place,
  startBrokers as startBrokersAt,
} from '../../../config/demo/brokers.ts';
import { findNatsServer, type NatsServer } from '../../../config/demo/nats-server.ts';
import {
  beginNats,
  type NatsConnection,
  type NatsOptions,
} from '../../../src/cluster/nats/nats-connection.ts';
import { ensureStream, type NatsStreamOptions } from '../../../src/cluster/nats/nats-stream.ts';
import { messageOf } from '../../../src/model/failure.ts';
import { freePorts } from '../../support/process.ts';

export interface Options extends Omit<BrokersOptions, 'places'> {
  readonly count: 1 | 3;
}

/** Starts them and waits until they are ready. */
export async function startBrokers({ count, ...options }: Options): Promise<Brokers> {
  return await startBrokersAt({ ...options, places: await freePlaces(count) });
}

async function freePlaces(count: number): Promise<readonly Place[]> {
  const places: Place[] = [];
  for (let no = 1; no <= count; no += 1) {
    const { api: client, redirect: route } = await freePorts();
    const { api: monitor } = await freePorts();
    places.push({ name: `n${no}`, client, route, monitor });
  }
  return places;
}

/** Resolves when it is connected. */
export async function openNats(options: NatsOptions): Promise<NatsConnection> {
  const connection = beginNats(options);
  await connection.ready(10_000);
  return connection;
}

/** One broker in a folder of its own, and connections of nodes to it; `close` ends all of them. */
export async function temporaryBrokers(
  server: NatsServer,
  accounts?: Options['accounts'],
): Promise<{
  readonly brokers: Brokers;
  /** For more of the test. */
  readonly folder: string;
  readonly connect: (nodeName: string) => Promise<NatsConnection>;
  readonly close: () => Promise<void>;
}> {
  const folder = mkdtempSync(join(tmpdir(), 'quietzone-brokers-'));
  const options = { server, folder: join(folder, 'brokers'), ...(accounts && { accounts }) };
  const brokers = await startBrokers({ count: 1, ...options });
  const connections: NatsConnection[] = [];
  return {
    brokers,
    folder,
    connect: async (nodeName) => {
      const connection = await openNats({ servers: brokers.urls, nodeName });
      connections.push(connection);
      return connection;
    },
    close: async () => {
      await Promise.all(connections.map((connection) => connection.close()));
      await brokers.close();
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

/** Brokers that have just started refuse new streams for some seconds. */
export async function makeStream(
  connection: NatsConnection,
  options: NatsStreamOptions,
): Promise<void> {
  const made = (): Promise<unknown> =>
    ensureStream(connection, options).then(() => 'made', messageOf);
  await expect.poll(made, { timeout: 15_000, interval: 200 }).toBe('made');
}

/** Registers tests where a broker is found; else one line says why they are not run. */
export async function withNatsServer(
  what: string,
  register: (server: NatsServer) => void,
): Promise<void> {
  const found = await findNatsServer();
  if (!('missing' in found)) return register(found);
  it(`${what}: not run`, () => {
    process.stdout.write(`${what}: not run: ${found.missing}\n`);
    expect(found.missing).not.toBe('');
  });
}
