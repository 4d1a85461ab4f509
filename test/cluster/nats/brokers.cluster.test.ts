/** The harness of brokers, with the real thing: on each server that is found, one broker; on one of them, three. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { expect, it } from 'vitest';
import { isListening } from '../../support/leaks.ts';
import { pause } from '../../support/process.ts';
import type { Brokers } from '../../../config/demo/brokers.ts';
import { startBrokers } from './brokers.ts';
import { CuttablePath } from './cuttable-path.ts';
import {
  findNatsServer,
  findNatsServers,
  type NatsServer,
} from '../../../config/demo/nats-server.ts';
import { notRun } from './not-run.ts';

const found = await findNatsServer();

if ('missing' in found) {
  notRun('brokers', found);
} else {
  for (const server of await findNatsServers()) {
    it(`one broker ${server.version} keeps what it acknowledged through a kill`, async () => {
      await withBrokers(1, server, keepsThroughKill);
    });
  }
  it('what passes to a broker can be cut and healed', async () => {
    await withBrokers(1, found, isCutAndHealed);
  });
  it('three brokers go on without one that is stopped, which catches up', async () => {
    await withBrokers(3, found, goOnWithoutOne);
  });
}

async function withBrokers(
  count: 1 | 3,
  server: NatsServer,
  work: (brokers: Brokers) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'qz-brokers-'));
  const brokers = await startBrokers({ count, folder, server });
  try {
    await work(brokers);
  } finally {
    await brokers.close();
    for (const { port } of brokers.all) expect(await isListening(port)).toBe(false);
    rmSync(folder, { recursive: true });
  }
}

async function withClient(
  servers: readonly string[],
  work: (client: NatsConnection) => Promise<void>,
): Promise<void> {
  const options = { maxReconnectAttempts: -1, reconnectTimeWait: 50 };
  const client = await connect({ servers: [...servers], ...options });
  try {
    await work(client);
  } finally {
    await client.close();
  }
}

async function addStream(client: NatsConnection, replicas: number): Promise<void> {
  const manager = await jetstreamManager(client);
  await manager.streams.add({ name: 'A', subjects: ['a'], num_replicas: replicas });
}

async function keepsThroughKill({ all, urls, ready }: Brokers): Promise<void> {
  const [broker] = all;
  await withClient(urls, async (client) => {
    await addStream(client, 1);
    expect((await jetstream(client).publish('a', 'x')).seq).toBe(1);
  });
  await broker!.kill();
  expect(broker!.isRunning).toBe(false);
  expect(await isListening(broker!.port)).toBe(false);
  broker!.start();
  await ready();
  await withClient(urls, async (client) => {
    expect((await jetstream(client).publish('a', 'x')).seq).toBe(2);
  });
  expect(broker!.log).toContain('ended: SIGKILL');
}

async function isCutAndHealed({ all }: Brokers): Promise<void> {
  const path = await CuttablePath.open(all.map(({ port }) => port));
  try {
    await withClient(path.urls, async (client) => {
      expect(await client.rtt()).toBeGreaterThanOrEqual(0);
      path.cut();
      const answer = client.rtt();
      expect(await Promise.race([answer, pause(200)])).toBe(undefined);
      path.heal();
      expect(await answer).toBeGreaterThanOrEqual(200);
    });
  } finally {
    await path.close();
  }
}

async function goOnWithoutOne({ all, ready }: Brokers): Promise<void> {
  const [first, ...others] = all;
  await withClient(
    others.map(({ url }) => url),
    async (client) => {
      await addStream(client, 3);
      first!.stop();
      await ready();
      // Where the stopped one led the stream, the others elect first.
      await expect.poll(() => published(client)).toBeGreaterThanOrEqual(1);
      first!.resume();
      await ready();
    },
  );
  await withClient([first!.url], async (client) => {
    const manager = await jetstreamManager(client);
    const current = async () => {
      const { cluster } = await manager.streams.info('A');
      return cluster?.replicas?.filter((replica) => replica.current).length;
    };
    await expect.poll(current).toBe(2);
  });
}

async function published(client: NatsConnection): Promise<number> {
  try {
    return (await jetstream(client).publish('a', 'x', { timeout: 1000 })).seq;
  } catch {
    return 0;
  }
}
