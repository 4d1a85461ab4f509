/**
 * Two cores and an edge as an operator runs them, with a broker: one step after another, from the first start of all of
 * them to an edge alone. Registered where a nats-server is found.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { findNatsServer } from '../../config/demo/nats-server.ts';
import { notRun } from '../cluster/nats/not-run.ts';
import { runCommand, ServiceProcess } from '../support/process.ts';
import { soon } from '../support/soon.ts';
import {
  codeOf,
  createCluster,
  scansCounted,
  type StartedCluster,
  type TestCode,
  type TestNode,
} from './started-cluster.ts';

const target = 'https://example.com/menu';
const other = 'https://example.org/lunch';

let cluster: StartedCluster;
let nodes: readonly TestNode[] = [];
let leading: TestNode;
let standby: TestNode;
let key: string;
let code: TestCode;
/** Made of the code by now, on all nodes. */
let scans = 0;
let backedUp = 0;

/** @param behind nodes that had not followed when a change was answered, on a machine that has too much to do */
async function scanAll(expected: string, behind?: string): Promise<void> {
  for (const node of nodes) {
    if (behind === undefined) expect(await scan(node)).toBe(expected);
    else await expect.poll(() => scan(node), soon).toBe(expected);
  }
}

async function scan(node: TestNode): Promise<string | number> {
  const led = await node.scan(code.shortCode);
  if (typeof led === 'string') scans += 1;
  return led;
}

async function startAll(): Promise<void> {
  const services = nodes.map((node) => node.start());
  await Promise.all(services.map((service) => service.ready()));
  const [shown, ...more] = services.filter(({ stdout }) => stdout.includes('API key'));
  expect(more).toEqual([]);
  key = shown!.apiKey;
  const roles = await Promise.all(cluster.cores.map((core) => core.role()));
  expect(new Set(roles)).toEqual(new Set(['active', 'standby']));
  const [first, second] = cluster.cores;
  [leading, standby] = roles[0] === 'active' ? [first, second] : [second, first];
  expect(leading.service).toBe(shown);
  expect(standby.service.stdout).toMatch(/Cluster +node core-\d, role all/);
  expect(cluster.edge.service.stdout).toContain('redirects for a cluster, as its edge edge-1');
}

async function change(): Promise<void> {
  const api = standby.client(key);
  const made = await api.call('POST', '/v1/qr-codes', { body: { target } });
  expect(made.status).toBe(201);
  code = codeOf(made.json);
  await scanAll(target, made.headers['x-links-behind']);
  const changed = await api.call('PATCH', `/v1/qr-codes/${code.id}`, { body: { target: other } });
  expect(changed.status).toBe(200);
  await scanAll(other, changed.headers['x-links-behind']);
  await expect.poll(() => scansCounted(api, code), soon).toBe(scans);
  await api.close();
}

async function backUp(): Promise<void> {
  const copy = join(cluster.folder, 'copy');
  const restored = { QZ_DATA_DIR: join(cluster.folder, 'alone') };
  // It has counted all: the standby may not have received the last scans yet.
  const { environment } = leading;
  expect(await runCommand(['verify'], environment)).toMatchObject({ code: 0, stderr: '' });
  expect(await runCommand(['doctor'], environment)).toMatchObject({ code: 0 });
  expect(await runCommand(['backup', copy], environment)).toMatchObject({ code: 0 });
  backedUp = scans;
  expect(existsSync(join(copy, 'cluster.json'))).toBe(false);
  expect(await runCommand(['restore', copy], restored)).toMatchObject({ code: 0 });
  const refused = await runCommand(['keys', 'create', '-n', 'till'], environment);
  expect(refused.stderr).toContain('Cannot change anything here');
}

async function killLeader(): Promise<void> {
  await leading.kill();
  [leading, standby] = [standby, leading];
  const api = leading.client(key);
  const at = `/v1/qr-codes/${code.id}`;
  await expect.poll(async () => (await api.call('GET', at)).status, soon).toBe(200);
  expect((await api.call('GET', at)).json['target']).toBe(other);
  await expect.poll(() => scansCounted(api, code), soon).toBe(scans);
  expect(await scan(cluster.edge)).toBe(other);
  await standby.start().ready();
  expect(standby.service.stdout).not.toContain('API key');
  expect(await standby.role()).toBe('standby');
  await scanAll(other);
  await expect.poll(() => scansCounted(api, code), soon).toBe(scans);
  await api.close();
}

async function stopAll(): Promise<void> {
  for (const { service } of nodes) {
    expect(await service.terminate()).toMatchObject({ code: 0 });
    const errors = service.logEntries.filter(({ level }) => level === 'error' || level === 'fatal');
    expect(errors).toEqual([]);
  }
  await cluster.brokers.close();
  await cluster.edge.start().ready();
  expect(await cluster.edge.scan(code.shortCode)).toBe(other);
  expect(await cluster.edge.service.terminate()).toMatchObject({ code: 0 });
}

async function startRestored(): Promise<void> {
  const dataDir = join(cluster.folder, 'alone');
  const alone = new ServiceProcess({ dataDir, ports: standby.service.ports });
  onTestFinished(() => alone.kill());
  await alone.ready();
  expect(await standby.scan(code.shortCode)).toBe(other);
  const api = standby.client(key);
  await expect.poll(() => scansCounted(api, code), soon).toBe(backedUp + 1);
  await api.close();
  expect(await alone.terminate()).toMatchObject({ code: 0 });
  expect(alone.complaints).toEqual([]);
}

const found = await findNatsServer();
if ('missing' in found) notRun('a cluster of cores and an edge', found);
else {
  beforeAll(async () => {
    cluster = await createCluster(found);
    nodes = [...cluster.cores, cluster.edge];
  });
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.kill()));
    await cluster.close();
  });
  test('all are started at once: one core leads, and one sign-in is shown', startAll);
  test(
    'a change by way of a standby: all redirect by it when it is answered, and count once',
    change,
  );
  test(
    'a backup beside a core has no trace of the cluster; changes by commands are refused',
    backUp,
  );
  test(
    'the leader is killed: the other one has all that was answered; it comes back as standby',
    killLeader,
  );
  test('SIGTERM ends each with 0; an edge alone starts without cores and broker', stopAll);
  test('what was restored starts as a machine alone, and counts on', startRestored);
}
