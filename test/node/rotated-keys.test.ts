/** `quietzone keys rotate-signing` in a cluster of processes. Registered where a nats-server is found. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findNatsServer } from '../../config/demo/nats-server.ts';
import { notRun } from '../cluster/nats/not-run.ts';
import { runCommand } from '../support/process.ts';
import { soon } from '../support/soon.ts';
import { createCluster, type StartedCluster, type TestNode } from './started-cluster.ts';

let cluster: StartedCluster;
let first: string;

const fileOf = (node: TestNode): string => join(node.environment.QZ_DATA_DIR!, 'signing-keys.json');
const read = (node: TestNode): string => readFileSync(fileOf(node), 'utf8');

async function rotate(node: TestNode): Promise<string> {
  const { stdout, stderr } = await runCommand(['keys', 'rotate-signing'], node.environment);
  expect(stderr).toBe('');
  return stdout;
}

async function makeKey(node: TestNode): Promise<string> {
  const client = node.client(first);
  const made = await client.call('POST', '/v1/api-keys', { body: { name: 'k', role: 'owner' } });
  await client.close();
  expect(made.status).toBe(201);
  const { key } = made.json;
  if (typeof key !== 'string') throw new Error('Expected a key');
  return key;
}

async function statusOf(node: TestNode, key: string): Promise<number> {
  const client = node.client(key);
  const { status } = await client.call('GET', '/v1/qr-codes');
  await client.close();
  return status;
}

const kidOf = (token: string): string =>
  JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()).kid;

const server = await findNatsServer();
if ('missing' in server) {
  notRun('rotated signing keys', server);
} else {
  beforeAll(async () => {
    cluster = await createCluster(server);
    const services = cluster.cores.map((core) => core.start());
    await Promise.all(services.map((service) => service.ready()));
    first = services.find(({ stdout }) => stdout.includes('API key'))!.apiKey;
  });
  afterAll(async () => {
    await Promise.all(cluster.cores.map((core) => core.kill()));
    await cluster.close();
  });

  test('every core signs with the new secret, also one that was away or ended midway', async () => {
    const [one, two] = cluster.cores;
    const leading = (await one.role()) === 'active' ? one : two;
    const standby = leading === one ? two : one;
    // By way of the standby.
    const text = await rotate(standby);
    const kid = /^New API keys are signed with (\S+) from now on, on every core/.exec(text)?.[1];
    const second = await makeKey(leading);
    expect(kidOf(second)).toBe(kid);
    await expect.poll(() => read(standby), soon).toBe(read(leading));

    const former = read(standby);
    await standby.kill();
    await expect.poll(() => rotate(leading), soon).toMatch(/Not connected now: core-\d; it has/);
    const third = await makeKey(leading);
    // As of an end between the entry and the file.
    await standby.start().ready();
    await expect.poll(() => read(standby), soon).toBe(read(leading));
    await standby.kill();
    writeFileSync(fileOf(standby), former);
    await standby.start().ready();
    expect(read(standby)).toBe(read(leading));
    expect(standby.service.stderr).not.toContain('taken out');

    await expect.poll(() => standby.role(), soon).toBe('standby');
    await leading.kill();
    await expect.poll(() => standby.role(), soon).toBe('active');
    for (const key of [first, second, third]) {
      await expect.poll(() => statusOf(standby, key), soon).toBe(200);
    }
    expect(kidOf(await makeKey(standby))).toBe(kidOf(third));
  });
}
