/** /cluster: who may see the machines of an installation, what they are told, and the lead that is given away. */
import { expect, test } from 'vitest';
import type { ClusterAccess, ClusterReport } from '../../../src/api/cluster/cluster.ts';
import { Failure } from '../../../src/model/failure.ts';
import type { Role } from '../../../src/model/workspace.ts';
import { Client } from '../../support/client.ts';
import { startTestApi, type TestApp } from '../../support/test-app.ts';

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

interface Started {
  readonly app: TestApp;
  readonly client: Client;
  /** Whom the lead was given to. */
  readonly given: Array<string | undefined>;
}

async function started(): Promise<Started> {
  const given: Array<string | undefined> = [];
  const cluster: ClusterAccess = {
    // What a core knows beside is not told.
    status: () => ({ ...report, url: 'http://a', position: 9 }),
    handOver: async (to) => {
      if (to === 'x') throw new Failure('not_found', 'The cluster has no node x');
      given.push(to);
      return { leader: to ?? 'b', ms: 12 };
    },
  };
  const app = await startTestApi({ answers: { cluster } });
  return { app, client: new Client(app.url, app.apiKey), given };
}

/** A key of another workspace. */
async function strangerOf({ workspaces: { workspaces, users, keys } }: TestApp): Promise<string> {
  const user = await users.create(1, 'owner', { email: 'other@example.com', name: 'O' });
  const { no: workspaceNo } = await workspaces.create(user.id, 'Second');
  const own = { workspaceNo, userId: user.id, name: 'o', role: 'owner' } as const;
  return (await keys.create(own)).token;
}

test('owners and admins of the first workspace see the nodes, without addresses', async () => {
  const { app, client } = await started();
  const { nodes, ...rest } = report;
  const joined = ['2026-03-01T00:00:00.000Z', '2026-03-02T00:00:00.000Z'];
  const shown = nodes.map(({ joinedAtMs: _ms, ...node }, at) => ({
    ...node,
    joinedAt: joined[at],
  }));
  const wanted = { ...rest, versions: null, nodes: shown };
  const statuses: Partial<Record<Role, number>> = {};
  for (const role of ['owner', 'admin', 'editor', 'viewer'] as const) {
    const key = await app.keyOf(role);
    const { status, json } = await client.call('GET', '/v1/cluster', { key });
    statuses[role] = status;
    if (status === 200) expect(json).toEqual(wanted);
    const session = await client.call('GET', '/v1/session', { key });
    expect([role, session.json.cluster]).toEqual([role, status === 200]);
  }
  expect(statuses).toEqual({ owner: 200, admin: 200, editor: 403, viewer: 403 });
});

test('to another workspace, and on a machine alone, there is no cluster', async () => {
  const { app, client, given } = await started();
  const key = await strangerOf(app);
  const alone = await startTestApi();
  const other = new Client(alone.url, alone.apiKey);
  for (const [method, path] of [
    ['GET', '/v1/cluster'],
    ['POST', '/v1/cluster/handover'],
  ] as const) {
    const answers = [await client.call(method, path, { key }), await other.call(method, path)];
    const wanted = { status: 404, code: 'not_found', detail: 'There is no cluster here' };
    expect(answers.map(({ json }) => json)).toMatchObject([wanted, wanted]);
  }
  const sessions = [
    await client.call('GET', '/v1/session', { key }),
    await other.call('GET', '/v1/session'),
  ];
  expect(sessions.map(({ json }) => json.cluster)).toEqual([false, false]);
  expect(given).toEqual([]);
});

test('an owner lets another core lead; each request does so, under whatever key it is repeated', async () => {
  const { app, client, given } = await started();
  const path = '/v1/cluster/handover';
  const key = await app.keyOf('admin');
  expect(await client.call('POST', path, { key })).toMatchObject({ status: 403 });
  const done = await client.call('POST', path);
  expect([done.status, done.json]).toEqual([200, { leader: 'b', ms: 12 }]);
  const headers = { 'idempotency-key': 'once' };
  for (const to of ['c', 'c']) {
    const answer = await client.call('POST', path, { body: { to }, headers });
    expect(answer).toMatchObject({ status: 200, json: { leader: 'c' } });
  }
  expect(given).toEqual([undefined, 'c', 'c']);
  const unknown = await client.call('POST', path, { body: { to: 'x' } });
  expect(unknown).toMatchObject({ status: 404, json: { detail: 'The cluster has no node x' } });
  for (const body of [{ to: 'a b' }, { to: '' }, { node: 'c' }]) {
    expect(await client.call('POST', path, { body })).toMatchObject({ status: 422 });
  }
});
