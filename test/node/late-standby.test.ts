/**
 * With `cluster.ack` standby a change waits for a second core, from the moment on in which there is one: the first core of a
 * cluster starts alone, and a second one can join it. Registered where a nats-server is found.
 */
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findNatsServer } from '../../config/demo/nats-server.ts';
import { notRun } from '../cluster/nats/not-run.ts';
import { readMetrics } from '../support/process.ts';
import { soon } from '../support/soon.ts';
import { createCluster, TestNode } from './started-cluster.ts';

const standbyAck = { QZ_CLUSTER_ACK: 'standby' };

const server = await findNatsServer();
if ('missing' in server) {
  notRun('a standby that joins late', server);
} else {
  test('changes wait for a standby once another core has the data, and a core can join before', async () => {
    const cluster = await createCluster(server);
    const { urls } = cluster.brokers;
    const folder = join(cluster.folder, 'waiting');
    const first = await TestNode.create(folder, 'first', 'all', urls, standbyAck);
    const second = await TestNode.create(folder, 'second', 'all', urls, standbyAck);
    onTestFinished(async () => {
      await Promise.all([first.kill(), second.kill()]);
      await cluster.close();
    });
    await first.start().ready();
    const api = first.client(first.service.apiKey);
    const create = async (): Promise<number> => {
      const body = { target: 'https://example.com/' };
      return (await api.call('POST', '/v1/qr-codes', { body })).status;
    };
    expect(await create()).toBe(201);
    await second.start().ready();
    await expect.poll(() => second.role(), soon).toBe('standby');
    await expect.poll(create, soon).toBe(201);
    const nodes = async (): Promise<string> => (await api.call('GET', '/v1/cluster')).text;
    await expect.poll(nodes, soon).toContain('"name":"second"');
    // From here on it has told of what it counts.
    await expect.poll(() => standbyExpected(first), soon).toBe(true);
    expect(await create()).toBe(201);
    await second.kill();
    expect(await create()).toBe(503);
    await second.start().ready();
    await expect.poll(create, soon).toBe(201);
  });
}

/** Whether a core that leads would wait for a standby: silence of standbys is counted from then on. */
async function standbyExpected(node: TestNode): Promise<boolean> {
  const metrics = await readMetrics(node.apiUrl);
  const silent = /^quietzone_cluster_standby_silent_seconds (\S+)$/m.exec(metrics)?.[1];
  return Number(silent) > 0;
}
