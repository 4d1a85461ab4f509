/** A machine of a cluster: who may see the others, and what its answers say of changes and of what may be old. */
import { connect } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { ClusterReport } from '../../src/api/cluster/cluster.ts';
import { Failure } from '../../src/model/failure.ts';
import type { Role } from '../../src/model/workspace.ts';
import type { ApiCluster } from '../../src/api/services.ts';
import { Signal } from '../../src/model/signal.ts';
import type { Replicator } from '../../src/store/replicated-transactions.ts';
import { Client, word } from '../support/client.ts';
import { openTestApp, startTestApi, type TestApp } from '../support/test-app.ts';
import { makeStranger, useTestApi } from '../support/test-client.ts';
import { soon } from '../support/soon.ts';

const report: ClusterReport = {
  node: 'a',
  id: 'cl_1',
  epoch: 4,
  leader: 'a',
  versions: undefined,
  problems: [{ node: 'e', problem: 'e is away.', remedy: 'Start it.' }],
  nodes: [
    {
      name: 'a',
      role: 'all',
      state: 'active',
      version: '0.2.0',
      linksBehind: 0,
      scansBehind: 0,
      atTwoCores: false,
      joinedAtMs: Date.UTC(2026, 2, 1),
    },
    {
      name: 'e',
      role: 'edge',
      state: 'away',
      version: null,
      linksBehind: null,
      scansBehind: null,
      atTwoCores: null,
      joinedAtMs: Date.UTC(2026, 2, 2),
    },
  ],
};

/** To whom a test's cluster gives the lead. */
const given: Array<string | undefined> = [];
const cluster: ApiCluster = {
  scanStore: 'a',
  changesFollowed: async () => 0,
  isStale: () => false,
  changesRefused: () => undefined,
  answerWithinMs: 5_000,
  // The answer leaves out what else a core knows.
  status: () => ({ ...report, url: 'http://a', position: 9 }),
  handOver: async (to) => {
    if (to === 'x') throw new Failure('not_found', 'The cluster has no node x');
    given.push(to);
    return { leader: to ?? 'b', ms: 12 };
  },
};
const { service, client: owner } = await useTestApi({ answers: { cluster } });

async function started(changed: Partial<ApiCluster>): Promise<Client> {
  const app = await startTestApi({ answers: { cluster: { ...cluster, ...changed } } });
  return new Client(app.url, app.apiKey);
}

test('owners and admins of the first workspace see the nodes, without addresses', async () => {
  const { nodes, ...rest } = report;
  const joined = ['2026-03-01T00:00:00.000Z', '2026-03-02T00:00:00.000Z'];
  const shown = nodes.map(({ joinedAtMs: _ms, ...node }, at) => ({
    ...node,
    joinedAt: joined[at],
  }));
  const wanted = { ...rest, versions: null, nodes: shown };
  const statuses: Partial<Record<Role, number>> = {};
  for (const role of ['owner', 'admin', 'editor', 'viewer'] as const) {
    const key = await service.keyOf(role);
    const { status, json } = await owner.get('/v1/cluster', { key });
    statuses[role] = status;
    if (status === 200) expect(json).toEqual(wanted);
    const session = await owner.get('/v1/session', { key });
    expect([role, session.json.cluster]).toEqual([role, status === 200]);
  }
  expect(statuses).toEqual({ owner: 200, admin: 200, editor: 403, viewer: 403 });
});

test('to another workspace, and on a machine alone, there is no cluster', async () => {
  const key = await makeStranger(service);
  const { url, apiKey } = await startTestApi();
  const alone = new Client(url, apiKey);
  for (const [method, path] of [
    ['GET', '/v1/cluster'],
    ['POST', '/v1/cluster/handover'],
  ] as const) {
    const answers = [await owner.call(method, path, { key }), await alone.call(method, path)];
    const wanted = { status: 404, code: 'not_found', detail: 'This installation is not a cluster' };
    expect(answers.map(({ json }) => json)).toMatchObject([wanted, wanted]);
  }
  const sessions = [await owner.get('/v1/session', { key }), await alone.get('/v1/session')];
  expect(sessions.map(({ json }) => json.cluster)).toEqual([false, false]);
  expect(given).toEqual([]);
});

test('an owner lets another core lead; each request does so, under whatever key it is repeated', async () => {
  const path = '/v1/cluster/handover';
  const done = await owner.post(path);
  expect([done.status, done.json]).toEqual([200, { leader: 'b', ms: 12 }]);
  const headers = { 'idempotency-key': 'once' };
  for (const to of ['c', 'c']) {
    const answer = await owner.post(path, { to }, { headers });
    expect(answer).toMatchObject({ status: 200, json: { leader: 'c' } });
  }
  expect(given).toEqual([undefined, 'c', 'c']);
  const unknown = await owner.post(path, { to: 'x' });
  expect(unknown).toMatchObject({ status: 404, json: { detail: 'The cluster has no node x' } });
});

const target = 'https://example.com/menu';
const code = { target, slug: 'menu' };
const stale = 'x-quietzone-stale';

test('a change says how many machines do not redirect by it yet', async () => {
  let behind = 2;
  const client = await started({ changesFollowed: async () => behind });
  const made = await client.post('/v1/qr-codes', code);
  expect(made).toMatchObject({ status: 201, headers: { 'x-links-behind': '2' } });
  const read = await client.get('/v1/qr-codes');
  expect(read.headers).not.toHaveProperty('x-links-behind');
  const others = [
    await client.post('/v1/qr-codes', code),
    await client.post('/v1/qr-codes', {}, { key: 'not-a-key' }),
    await client.post('/v1/qr-codes/preview', { target }),
  ];
  expect(others.map(({ status }) => status)).toEqual([409, 401, 200]);
  for (const other of others) expect(other.headers).not.toHaveProperty('x-links-behind');
  behind = 0;
  const removed = await client.delete(`/v1/qr-codes/${word(made.json.id)}`);
  expect(removed.status).toBe(200);
  expect(removed.headers).not.toHaveProperty('x-links-behind');
});

test('reads say that they may be old, while they may; nothing else does', async () => {
  let isStale = false;
  let refused: string | undefined;
  const client = await started({ isStale: () => isStale, changesRefused: () => refused });
  const made = await client.post('/v1/qr-codes', code);
  const image = `/i/${word(made.json.id)}.svg`;
  for (const path of ['/v1/qr-codes', image, image]) {
    expect((await client.get(path)).headers).not.toHaveProperty(stale);
  }
  isStale = true;
  for (const path of ['/v1/qr-codes', image]) {
    const read = await client.get(path);
    expect(read).toMatchObject({ status: 200, headers: { [stale]: '1' } });
  }
  const head = await client.call('HEAD', '/v1/qr-codes');
  expect(head.headers).toMatchObject({ [stale]: '1' });
  const renamed = { body: { name: 'Menu' } };
  const change = await client.call('PATCH', `/v1/qr-codes/${word(made.json.id)}`, renamed);
  expect(change).toMatchObject({ status: 503, json: { code: 'not_active' } });
  refused = 'the brokers are out of storage';
  const full = await client.post('/v1/qr-codes', code);
  const detail = `Cannot change anything here: ${refused}`;
  expect(full).toMatchObject({ status: 503, json: { code: 'not_active', detail } });
  for (const other of [change, await client.get('/health/live')]) {
    expect(other.headers).not.toHaveProperty(stale);
  }
});

test('a change is not refused by what may be old, and costs no quota while another machine may lead', async () => {
  let isStale = false;
  const client = await started({ isStale: () => isStale });
  const nowhere = '/v1/qr-codes/qr_01k3zq8m4hd2v7c5x9ab';
  const remaining = async (): Promise<number> =>
    Number((await client.get('/v1/qr-codes')).headers['x-ratelimit-remaining']);
  expect(await client.delete(nowhere)).toMatchObject({ status: 404 });
  const before = await remaining();
  isStale = true;
  const refusal = { status: 503, json: { code: 'not_active' } };
  expect(await client.delete(nowhere)).toMatchObject(refusal);
  expect(await client.post('/v1/qr-codes', code, { key: '' })).toMatchObject(refusal);
  expect(await remaining()).toBe(before - 1);
  let asked = 0;
  const later = await started({ isStale: () => asked++ > 0 });
  expect(await later.delete(nowhere)).toMatchObject(refusal);
  asked = 0;
  const made = await later.post('/v1/qr-codes', code);
  expect(made.status).toBe(201);
});

/** A log that takes entries when a test lets it. */
class GatedLog implements Replicator {
  readonly lapsed = new Signal();
  readonly #app: TestApp;
  #gate = Promise.withResolvers<void>();
  entries = 0;

  constructor(app: TestApp) {
    this.#app = app;
    app.store.environment.replicateWith(this);
    this.open();
  }

  check(): void {}

  async commit(writes: Parameters<Replicator['commit']>[0]): Promise<void> {
    this.entries += 1;
    await this.#gate.promise;
    await this.#app.store.environment.applyWrites(writes, () => undefined);
  }

  open(): void {
    this.#gate.resolve();
  }

  shut(): void {
    this.#gate = Promise.withResolvers<void>();
    this.entries = 0;
  }
}

async function replicated(answerWithinMs: number) {
  const app = await openTestApp({ answers: { cluster: { ...cluster, answerWithinMs } } });
  const log = new GatedLog(app);
  // A test that fails before it opens the log must not keep the application from closing.
  onTestFinished(() => log.open());
  await app.listen();
  return { app, log, client: new Client(app.url, app.apiKey) };
}

test('a change that waits for the log too long has an unknown outcome, and is made once all the same', async () => {
  const { log, client } = await replicated(300);
  const headers = { 'idempotency-key': 'menu-1' };
  const send = () => client.post('/v1/qr-codes', code, { headers });
  log.shut();
  const first = await send();
  expect(first).toMatchObject({
    status: 503,
    headers: { 'retry-after': '1', 'x-ratelimit-limit': expect.any(String) },
    json: { code: 'outcome_unknown' },
  });
  // While the first still waits, it is waited for.
  expect((await send()).status).toBe(503);
  const third = send();
  await vi.waitFor(() => expect(log.entries).toBe(1), soon);
  log.open();
  expect(await third).toMatchObject({ status: 201, headers: { 'idempotent-replayed': 'true' } });
  expect(await send()).toMatchObject({ status: 201, headers: { 'idempotent-replayed': 'true' } });
  expect((await client.get('/v1/qr-codes')).json.total).toBe(1);
});

test('reads wait for nothing, and many changes by one request may take longer', async () => {
  const { log, client } = await replicated(100);
  log.shut();
  const bulk = client.post('/v1/qr-codes/bulk', [code]);
  await vi.waitFor(() => expect(log.entries).toBe(1), soon);
  expect((await client.get('/v1/qr-codes')).status).toBe(200);
  await new Promise((resolve) => setTimeout(resolve, 200));
  log.open();
  expect(await bulk).toMatchObject({ status: 200, json: { created: 1 } });
});

test('the time of a body on its way does not count', async () => {
  const { app } = await replicated(300);
  const body = JSON.stringify(code);
  const socket = connect(app.port, '127.0.0.1');
  let answer = '';
  socket.on('data', (bytes) => (answer += bytes.toString()));
  socket.write(
    `POST /v1/qr-codes HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${app.apiKey}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
  );
  await new Promise((resolve) => setTimeout(resolve, 500));
  socket.write(body.slice(5));
  await expect.poll(() => answer, soon).toMatch(/^HTTP\/1.1 201 /);
  socket.destroy();
});
