/**
 * Two cores and an edge as an operator runs them, with a broker: one step after another, from the first start of all of
 * them to an edge alone. Registered where a nats-server is found.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { ClusterStatus } from '../../../src/cluster/control/cluster-status.ts';
import { shipped } from '../../../src/platform/shipped.ts';
import { withNatsServer } from '../nats/brokers.ts';
import { word } from '../../support/client.ts';
import { openReceiver } from '../../support/fakes/receiver.ts';
import { pause, runCommand, ServiceProcess } from '../../support/process.ts';
import { soon } from '../../support/soon.ts';
import {
  createCluster,
  idsSent,
  type StartedCluster,
  TestCode,
  type TestNode,
} from './started-cluster.ts';

const target = 'https://example.com/menu';
const other = 'https://example.org/lunch';

let cluster: StartedCluster;
let key: string;
let code: TestCode;
let backedUp = 0;
let stopped: TestNode;
/** API keys that each secret has signed, the first one first. */
const signed: string[] = [];

/** @param behind nodes that had not followed when a change was answered, on a machine that has too much to do */
async function scanAll(expected: string, behind?: string): Promise<void> {
  for (const node of cluster.nodes) {
    if (behind === undefined) expect(await code.scan(node)).toBe(expected);
    else await expect.poll(() => code.scan(node), soon).toBe(expected);
  }
}

async function startAll(): Promise<void> {
  key = await cluster.startAtOnce(cluster.nodes);
  signed.push(key);
  const [leading, standby] = await cluster.roles();
  expect(leading.service.stdout).toContain('API key');
  expect(standby.service.stdout).toMatch(/Cluster +node core-\d, role all/);
  expect(cluster.edge.service.stdout).toContain('redirects for a cluster, as its edge edge-1');
}

async function change(): Promise<void> {
  const [, standby] = await cluster.roles();
  const api = standby.client(key);
  const made = await api.call('POST', '/v1/qr-codes', { body: { target } });
  expect(made.status).toBe(201);
  code = new TestCode(made.json);
  await scanAll(target, made.headers['x-links-behind']);
  const changed = await api.call('PATCH', `/v1/qr-codes/${code.id}`, { body: { target: other } });
  expect(changed.status).toBe(200);
  await scanAll(other, changed.headers['x-links-behind']);
  await code.isCounted(standby, key);
  await api.close();
}

/** A command on the machine of a node. */
async function command({ environment }: TestNode, ...words: string[]) {
  const { code: exit, stdout, stderr } = await runCommand(['cluster', ...words], environment);
  return { code: exit, text: `${stdout}${stderr}`.trim() };
}

async function statusOf(node: TestNode): Promise<ClusterStatus> {
  return JSON.parse((await command(node, 'status', '--json')).text);
}

const draft = { body: { target: 'https://example.com/' } };

/** @returns how many were answered */
async function scanUntil(node: TestNode, path: string, signal: AbortSignal): Promise<number> {
  let count = 0;
  while (!signal.aborted) {
    await pause(10);
    if (typeof (await node.scan(path)) === 'string') count += 1;
  }
  return count;
}

/** By a command on the standby, and back by its API. */
async function handsOver(): Promise<void> {
  const [leading, standby] = await cluster.roles();
  const { node: former } = await statusOf(leading);
  const { node: name, epoch } = await statusOf(standby);
  expect(await statusOf(leading)).toMatchObject({ role: 'active', problem: null, epoch });
  const { code, text } = await command(standby, 'status');
  expect(code).toBe(0);
  expect(text).toMatch(
    /^core-\d is a standby, in epoch \d at position \d+\ncore-\d leads, at http:/,
  );
  expect(text).toMatch(/core-\d +all +active +[\d.]+ +0 +\d+ +1 +\d/);
  expect(text).toMatch(/core-\d +all +connected +[\d.]+ +0 +\d+ +1 +\d/);
  const done = await command(standby, 'handover', '--to', name);
  expect(done).toEqual({
    code: 0,
    text: expect.stringMatching(new RegExp(`^${name} leads now \\(after \\d{1,4} ms\\)$`)),
  });
  // The former leader has read its lead, and it may not have stored it yet.
  await expect
    .poll(() => statusOf(standby), soon)
    .toMatchObject({ role: 'active', epoch: epoch + 1 });
  const api = leading.client(key);
  const seen = async (): Promise<unknown> => (await api.call('GET', '/v1/cluster')).json;
  const nodes = ['core-1', 'core-2', 'edge-1'].map((each) => {
    const state = each === name ? 'active' : 'connected';
    return { name: each, state, linksBehind: 0, version: shipped.version };
  });
  const status = { node: name, leader: name, versions: null, nodes };
  await expect.poll(seen, soon).toMatchObject(status);
  expect((await api.call('GET', '/v1/session')).json).toMatchObject({ cluster: true });
  const back = await api.call('POST', '/v1/cluster/handover', { body: { to: former } });
  expect([back.status, back.json]).toEqual([200, { leader: former, ms: expect.any(Number) }]);
  await expect.poll(seen, soon).toMatchObject({ node: former, leader: former });
  expect(await cluster.roles()).toEqual([leading, standby]);
  await api.close();
}

async function deliversOnce(): Promise<void> {
  const [first, second] = await cluster.roles();
  const api = first.client(key);
  const scanned = new TestCode((await api.call('POST', '/v1/qr-codes', draft)).json);
  const receiver = await openReceiver({ kind: 'answer' });
  // A new leader may send scans of the 2 s before the endpoint was made, which are of other codes.
  const received = (): number => new Set(idsSent(receiver, scanned)).size;
  const receives = async (more: number): Promise<void> => {
    const before = received();
    await expect.poll(received, soon).toBeGreaterThan(before + more);
  };
  const scanning = new AbortController();
  try {
    const body = { url: receiver.url(), events: ['qr.scanned'] };
    const endpoint = await api.call('POST', '/v1/webhooks', { body });
    expect(endpoint.status).toBe(201);
    const counts = [first, second].map((node) =>
      scanUntil(node, scanned.shortCode, scanning.signal),
    );
    for (let clean = 0; clean < 2;) {
      const [leading, standby] = await cluster.roles();
      await receives(50);
      // Events in flight at the handover may come twice, these have their answers by then.
      const settled = idsSent(receiver, scanned);
      await receives(20);
      const { epoch } = await statusOf(leading);
      expect(await command(leading, 'handover')).toMatchObject({ code: 0 });
      await receives(50);
      // A busy machine may lose its lease, and the next leader may repeat a minute of scans.
      if ((await statusOf(standby)).epoch !== epoch + 1) continue;
      expect(await cluster.roles()).toEqual([standby, leading]);
      const later = new Set(idsSent(receiver, scanned).slice(settled.length));
      expect(settled.filter((id) => later.has(id))).toEqual([]);
      clean += 1;
    }
    scanning.abort();
    const scans = (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
    await expect.poll(received, soon).toBe(scans);
    await api.call('DELETE', `/v1/webhooks/${word(endpoint.json['id'])}`);
    await api.close();
  } finally {
    scanning.abort();
    await receiver.close();
  }
}

/** @returns what runs */
async function leaderLeaves(): Promise<readonly TestNode[]> {
  const [leading, standby] = await cluster.roles();
  const { node: name } = await statusOf(leading);
  const before = leading.service.stderr.length;
  expect(await leading.service.terminate()).toMatchObject({ code: 0 });
  expect(leading.service.stderr.slice(before)).toContain('the lead was given away');
  // Not after a lease: the other one leads when this one has ended, or a moment later.
  await expect.poll(() => statusOf(standby), soon).toMatchObject({ role: 'active' });
  const api = standby.client(key);
  const created = async (): Promise<number> =>
    (await api.call('POST', '/v1/qr-codes', draft)).status;
  await expect.poll(created, soon).toBe(201);
  await api.close();
  expect((await command(standby, 'handover')).text).toBe(
    'Cannot hand over: no other core is connected',
  );
  const left = await command(standby, 'leave', name);
  expect(left).toMatchObject({ code: 0 });
  expect(left.text).toMatch(new RegExp(`^${name} has left the cluster. .* its journals `));
  const { nodes } = await statusOf(standby);
  expect(nodes.map((node) => node.name)).not.toContain(name);
  return [standby, cluster.edge];
}

const secretsOf = ({ dataDir }: TestNode): string =>
  readFileSync(join(dataDir, 'signing-keys.json'), 'utf8');

async function haveSameSecrets([one, other]: readonly TestNode[]): Promise<void> {
  await expect.poll(() => secretsOf(other!), soon).toBe(secretsOf(one!));
}

async function rotate(node: TestNode): Promise<string> {
  const { stdout, stderr } = await runCommand(['keys', 'rotate-signing'], node.environment);
  expect(stderr).toBe('');
  return stdout;
}

async function makeKey(node: TestNode, key: string): Promise<string> {
  const client = node.client(key);
  const made = await client.call('POST', '/v1/api-keys', { body: { name: 'k', role: 'owner' } });
  await client.close();
  expect(made.status).toBe(201);
  return word(made.json['key']);
}

const kidOf = (token: string): string =>
  JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()).kid;

/** By way of the standby. @returns an API key that the new secret has signed */
async function rotateOnAll(key: string): Promise<string> {
  const [leading, standby] = await cluster.roles();
  const text = await rotate(standby);
  const kid = /^New API keys are now signed with (\S+), on every core/.exec(text)?.[1];
  const made = await makeKey(leading, key);
  expect(kidOf(made)).toBe(kid);
  await haveSameSecrets([leading, standby]);
  return made;
}

/** @returns an API key that the new secret has signed */
async function rotateAlone(leading: TestNode): Promise<string> {
  await expect.poll(() => rotate(leading), soon).toMatch(/Not connected now: core-\d; a core gets/);
  return await makeKey(leading, key);
}

/** As the core does that leads now. */
async function signsAs(leading: TestNode, key: string): Promise<void> {
  expect(kidOf(await makeKey(leading, key))).toBe(kidOf(key));
}

/** The keys are changed while the standby is away. */
async function stopStandby(): Promise<void> {
  const [leading, standby] = await cluster.roles();
  const headers = { authorization: `Bearer ${key}` };
  const { body } = await fetch(`${standby.apiUrl}/v1/events/stream`, { headers });
  const reader = body!.getReader();
  expect((await reader.read()).done).toBe(false);
  const ended = standby.service.terminate();
  while (!(await reader.read()).done);
  expect(await ended).toMatchObject({ code: 0 });
  stopped = standby;
  signed.push(await rotateAlone(leading));
}

async function startStandby(): Promise<void> {
  await stopped.start().ready();
  const [leading, standby] = await cluster.roles();
  expect(standby).toBe(stopped);
  await haveSameSecrets([leading, standby]);
  expect(standby.service.stderr).not.toContain('taken out');
}

async function backUp(): Promise<void> {
  const copy = join(cluster.folder, 'copy');
  const restored = { QZ_DATA_DIR: join(cluster.folder, 'alone') };
  // It has counted all: the standby may not have received the last scans yet.
  const nodes = await cluster.roles();
  const [{ environment }] = nodes;
  const onlyProgress = expect.stringMatching(/^( *\d+ % .*\n)*$/);
  expect(await runCommand(['verify'], environment)).toMatchObject({
    code: 0,
    stderr: onlyProgress,
  });
  expect(await runCommand(['doctor'], environment)).toMatchObject({ code: 0 });
  expect(await runCommand(['backup', copy], environment)).toMatchObject({ code: 0 });
  backedUp = code.scans;
  expect(existsSync(join(copy, 'cluster.json'))).toBe(false);
  expect(await runCommand(['restore', copy], restored)).toMatchObject({ code: 0 });
}

/** Each core reads its own data; a change goes to the leader. */
async function administer(): Promise<void> {
  const [leading, standby] = await cluster.roles();
  const create = ['keys', 'create', '-n', 'till', '--json'];
  for (const { environment } of [standby, leading]) {
    const made = await runCommand(create, environment);
    expect(made).toMatchObject({ code: 0, stderr: '' });
    const { key: till, id } = JSON.parse(made.stdout);
    const api = leading.client(till);
    expect((await api.call('GET', '/v1/qr-codes')).status).toBe(200);
    const list = async () => (await runCommand(['keys', 'list'], standby.environment)).stdout;
    await expect.poll(list, soon).toContain(id);
    expect((await runCommand(['keys', 'revoke', id], environment)).code).toBe(0);
    expect((await api.call('GET', '/v1/qr-codes')).status).toBe(401);
    await api.close();
  }
  const links = join(cluster.folder, 'links.ndjson');
  writeFileSync(links, `{"target":"${target}","slug":"imported"}\n`);
  expect(await runCommand(['import', links], standby.environment)).toMatchObject({ code: 0 });
  for (const node of cluster.nodes) {
    await expect.poll(() => node.scan('imported'), soon).toBe(target);
  }
  const bad = await runCommand(['users', 'create', '-e', 'x', '-n', 'X'], standby.environment);
  expect(bad).toMatchObject({ code: 1, stderr: expect.stringContaining('email') });
  const edge = { ...cluster.edge.environment, QZ_CLUSTER_ROLE: 'edge' };
  const refused = await runCommand(create, edge);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('an edge') });
  const status = await runCommand(['cluster', 'status'], edge);
  expect(status.stdout).toMatch(/^edge-1 is an edge with \d+ links, 0 changes behind; .* s ago\n/);
}

async function killLeader(): Promise<void> {
  const [killed, leading] = await cluster.roles();
  await killed.kill();
  const at = `/v1/qr-codes/${code.id}`;
  for (const each of signed) {
    const api = leading.client(each);
    await expect.poll(async () => (await api.call('GET', at)).status, soon).toBe(200);
    expect((await api.call('GET', at)).json['target']).toBe(other);
    await api.close();
  }
  await signsAs(leading, signed.at(-1)!);
  await code.isCounted(leading, key);
  expect(await code.scan(cluster.edge)).toBe(other);
  await killed.start().ready();
  expect(killed.service.stdout).not.toContain('API key');
  expect(await killed.role()).toBe('standby');
  await scanAll(other);
  await code.isCounted(leading, key);
}

async function stopAll(): Promise<void> {
  const running = await leaderLeaves();
  for (const { service } of running) expect(await service.terminate()).toMatchObject({ code: 0 });
  for (const { service } of cluster.nodes) {
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
  const [core] = cluster.cores;
  const alone = new ServiceProcess({ dataDir, ports: core.service.ports });
  onTestFinished(() => alone.kill());
  await alone.ready();
  expect(await core.scan(code.shortCode)).toBe(other);
  const api = core.client(key);
  await expect.poll(() => code.counted(api), soon).toBe(backedUp + 1);
  await api.close();
  expect(await alone.terminate()).toMatchObject({ code: 0 });
  expect(alone.complaints).toEqual([]);
}

await withNatsServer('a cluster of cores and an edge', (found) => {
  beforeAll(async () => {
    cluster = await createCluster(found);
  });
  afterAll(() => cluster.close());
  test('all are started at once: one core leads, and one sign-in is shown', startAll);
  test(
    'a change by way of a standby: all redirect by it when it is answered, and count once',
    change,
  );
  test(
    'status is what each core sees; a standby lets another core lead, by a command and its API',
    handsOver,
  );
  test(
    'each scan is delivered, and what was delivered before a handover is not delivered again',
    deliversOnce,
  );
  test('every core signs with a new secret', async () => {
    signed.push(await rotateOnAll(key));
  });
  test('a standby that is stopped ends live events, which are not cut', stopStandby);
  test('a standby that was away signs with the secret that was made meanwhile', startStandby);
  test('commands run on every core, and change its cluster', administer);
  test('a backup next to a running core has no trace of the cluster', backUp);
  test(
    'the leader is killed: the other one has all that was answered; it comes back as standby',
    killLeader,
  );
  test('a leader that is stopped gives the lead away and may leave; an edge starts alone', stopAll);
  test('what was restored starts as a machine alone, and counts on', startRestored);
});
