/**
 * `quietzone cluster join`: an empty folder, and that of a core that was stopped, get the data of a core that runs.
 * Registered where a nats-server is found.
 */
import { readdirSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { findNatsServer } from '../../config/demo/nats-server.ts';
import { notRun } from '../cluster/nats/not-run.ts';
import { word } from '../support/client.ts';
import { runCommand } from '../support/process.ts';
import { soon } from '../support/soon.ts';
import { codeOf, createCluster, scansCounted, type TestNode } from './started-cluster.ts';

const target = 'https://example.com/';

const join = (node: TestNode, ...options: string[]) =>
  runCommand(['cluster', 'join', ...options], node.environment);

const server = await findNatsServer();
if ('missing' in server) {
  notRun('cluster join', server);
} else {
  test('an empty folder joins by a command; a stopped core joins anew, and not while it alone has scans', async () => {
    const cluster = await createCluster(server);
    const [first, second] = cluster.cores;
    onTestFinished(async () => {
      await Promise.all([first.kill(), second.kill()]);
      await cluster.close();
    });
    expect(await join(second)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('it has no data yet; start its first core'),
    });
    await first.start().ready();
    const key = first.service.apiKey;
    const made = await first.client(key).call('POST', '/v1/qr-codes', { body: { target } });
    const code = codeOf(made.json);
    const countedBy = (node: TestNode): Promise<unknown> => scansCounted(node.client(key), code);
    let scans = 0;
    const scan = async (node: TestNode): Promise<void> => {
      expect(await node.scan(code.shortCode)).toBe(target);
      scans += 1;
    };
    await scan(first);
    await expect.poll(() => countedBy(first), soon).toBe(scans);

    expect(await join(second)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('has the data of the cluster, as core-2'),
    });
    await second.start().ready();
    await scan(second);
    await expect.poll(() => countedBy(first), soon).toBe(scans);

    // The brokers hang: these scans are on its disk alone.
    for (const broker of cluster.brokers.all) broker.stop();
    await scan(second);
    await second.kill();
    for (const broker of cluster.brokers.all) broker.resume();
    await expect.poll(async () => (await join(second)).stderr, soon).toContain('not enough other');
    await second.start().ready();
    await expect.poll(() => countedBy(first), soon).toBe(scans);
    await second.service.terminate();

    const joined = async (): Promise<number | null> => (await join(second)).code;
    // The mark that says so comes each second, of all journals each ten.
    await expect.poll(joined, soon).toBe(0);
    const names = readdirSync(word(second.environment['QZ_DATA_DIR']));
    expect(names.filter((name) => name.startsWith('before-join.set-aside-'))).toHaveLength(1);
    await second.start().ready();
    await scan(second);
    await expect.poll(() => countedBy(first), soon).toBe(scans);
    await first.service.terminate();
    await expect.poll(() => second.role(), soon).toBe('active');
    await expect.poll(() => countedBy(second), soon).toBe(scans);
  });
}
