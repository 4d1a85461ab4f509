/**
 * The guide's words for "The brokers have lost their data", with three cores: the third runs on while the second joins.
 * Registered where a nats-server is found.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findNatsServer } from '../../config/demo/nats-server.ts';
import { logNames, streamOf } from '../../src/cluster/nats/log-streams.ts';
import { openNats } from '../../src/cluster/nats/nats-connection.ts';
import { deleteStream } from '../../src/cluster/nats/nats-stream.ts';
import { scanStream } from '../../src/cluster/scans/scan-channels.ts';
import { StoreEnvironment } from '../../src/store/environment.ts';
import { readManagementMark, writeMark } from '../../src/store/installation.ts';
import { notRun } from '../cluster/nats/not-run.ts';
import { word } from '../support/client.ts';
import { runCommand } from '../support/process.ts';
import { soon } from '../support/soon.ts';
import { codeOf, createCluster, scansCounted, TestNode } from './started-cluster.ts';

const target = 'https://example.com/';

const command = (node: TestNode, ...args: string[]) => runCommand(args, node.environment);

/** As a join left it that was cut short when it had put data of the lost log in place. */
async function asCutShort({ environment }: TestNode): Promise<void> {
  const folder = word(environment['QZ_DATA_DIR']);
  rmSync(join(folder, 'cluster.json'));
  const management = new StoreEnvironment(join(folder, 'management.mdb'), 'existing');
  const mark = readManagementMark(management);
  if (mark === undefined) throw new Error('the folder has no mark');
  await writeMark(management, { ...mark, state: 'new' });
  await management.close();
}

const server = await findNatsServer();
if ('missing' in server) {
  notRun('brokers that have lost their data', server);
} else {
  test('one core reseeds, the others join it one after the other, and nothing is lost', async () => {
    const cluster = await createCluster(server);
    const [first, second] = cluster.cores;
    const third = await TestNode.create(cluster.folder, 'core-3', 'all', cluster.brokers.urls);
    const cores = [first, second, third];
    onTestFinished(async () => {
      await Promise.all(cores.map((node) => node.kill()));
      await cluster.close();
    });
    for (const node of cores) await node.start().ready();
    const key = first.service.apiKey;
    const made = await first.client(key).call('POST', '/v1/qr-codes', { body: { target } });
    const code = codeOf(made.json);
    await expect.poll(() => third.scan(code.shortCode), soon).toBe(target);

    const operator = await openNats({ servers: cluster.brokers.urls, nodeName: 'operator' });
    for (const stream of [...logNames.map(streamOf), scanStream]) {
      await deleteStream(operator, stream);
    }
    await operator.close();
    for (const { service } of cores) await service.waitForLog(/"reason":"diverged"/, 60_000);
    await first.service.terminate();
    expect(await command(first, 'cluster', 'reseed')).toMatchObject({ code: 0 });
    await first.start().ready();
    await expect.poll(() => first.role(), soon).toBe('active');

    const { stdout } = await command(third, 'doctor');
    expect(stdout).toMatch(/BAD .*this core has diverged: .*cluster join/);
    for (const node of [second, third]) {
      await node.service.terminate();
      if (node === third) await asCutShort(third);
      expect(await command(node, 'cluster', 'join')).toMatchObject({ code: 0 });
      await node.start().ready();
      await expect.poll(() => node.role(), soon).toBe('standby');
      expect(await node.scan(code.shortCode)).toBe(target);
    }
    for (const node of cores) {
      await expect.poll(() => scansCounted(node.client(key), code), soon).toBe(3);
    }
  }, 240_000);
}
