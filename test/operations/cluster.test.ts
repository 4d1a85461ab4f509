/** `quietzone cluster`, with a service that runs given commands: what it is asked, and what is printed. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { ClusterStatus } from '../../src/cluster/control/cluster-status.ts';
import { Failure } from '../../src/model/failure.ts';
import type { EdgeStatus } from '../../src/cluster/roles/edge/edge-status.ts';
import { temporaryFolder } from '../store/temporary-management.ts';
import { runHere, serve } from './running.ts';

type Environment = Readonly<Record<string, string>>;

const node: Environment = {
  QZ_CLUSTER_NATS: 'nats://127.0.0.1:1',
  QZ_CLUSTER_PLAIN_HTTP: 'true',
  QZ_CLUSTER_NODE_NAME: 'a',
};
const core = { ...node, QZ_CLUSTER_SECRET: 'the secret of a cluster in these tests' };
const edge = { ...node, QZ_CLUSTER_ROLE: 'edge' };

/** The data folder of a service. @param answers by command; asked with its input */
async function start(answers: Readonly<Record<string, (input: unknown) => unknown>>) {
  const dataDir = temporaryFolder();
  mkdirSync(join(dataDir, 'journal'));
  const asked: unknown[] = [];
  const commands = Object.entries(answers).map(([name, answer]) => [
    name,
    async (input: unknown) => {
      asked.push([name, input]);
      return answer(input);
    },
  ]);
  onTestFinished(await serve(dataDir, Object.fromEntries(commands)));
  return { asked, environment: { QZ_DATA_DIR: dataDir } };
}

async function cluster(environment: Environment, ...words: string[]) {
  const { code, result, progress } = await runHere(['cluster', ...words], environment);
  return { code, text: result + progress };
}

const status: ClusterStatus = {
  node: 'a',
  role: 'standby',
  cluster: 'cl_1',
  epoch: 4,
  position: 90,
  leader: { name: 'b', url: 'http://b:8080' },
  problem: 'the brokers are away',
  nodes: [
    {
      name: 'a',
      role: 'all',
      state: 'connected',
      run: 2,
      version: '0.2.0',
      url: 'http://a:8080',
      linksBehind: 0,
      scansBehind: 7,
      marks: [
        { journal: 1, counted: 100 },
        { journal: 2, counted: null },
      ],
      joinedAtMs: 5,
    },
    {
      name: 'edge',
      role: 'edge',
      state: 'away',
      run: 1,
      version: null,
      url: null,
      linksBehind: null,
      scansBehind: null,
      marks: [],
      joinedAtMs: 5,
    },
  ],
};

it('status is a table, or JSON', async () => {
  let seen: ClusterStatus = status;
  const { environment } = await start({ 'cluster.status': () => seen });
  const own = { ...core, ...environment };
  expect(await cluster(own, 'status')).toEqual({
    code: 0,
    text: [
      'a is a standby, in epoch 4 at position 90',
      'b leads, at http://b:8080',
      'problem: the brokers are away',
      '',
      'name  role  state      version  linksBehind  scansBehind  run  journals  counted  url',
      'a     all   connected  0.2.0    0            7            2    1 2       100 -    http://a:8080',
      'edge  edge  away       -        -            -            1    -         -        -',
    ].join('\n'),
  });
  expect(JSON.parse((await cluster(own, 'status', '--json')).text)).toEqual(status);
  seen = { ...status, role: 'active', problem: null };
  const lines = (await cluster(own, 'status')).text.split('\n');
  expect(lines.slice(0, 2)).toEqual(['a is active, in epoch 4 at position 90', '']);
  seen = { ...status, leader: null };
  expect((await cluster(own, 'status')).text).toContain('\nno known leader\n');
});

it('status says that versions differ while some nodes are not upgraded', async () => {
  const [a, other] = status.nodes;
  const others = ['b', 'c'].map((name) => ({ ...a, name, version: '0.1.0' }));
  const nodes = [a, ...others, { ...other, name: 'd' }];
  const { environment } = await start({ 'cluster.status': () => ({ ...status, nodes }) });
  expect((await cluster({ ...core, ...environment }, 'status')).text).toContain(
    '\nan upgrade is running: a runs 0.2.0; b, c run 0.1.0\n',
  );
});

it('handover and leave ask the running node', async () => {
  const { asked, environment } = await start({
    'cluster.handover': () => ({ leader: 'c', ms: 41 }),
    'cluster.leave': (input) => {
      if (JSON.stringify(input).includes('"f"')) {
        throw new Failure('conflict', 'Cannot leave f out: it is connected; stop it first');
      }
      return { name: 'e', journals: [4, 5] };
    },
  });
  const own = { ...core, ...environment };
  expect(await cluster(own, 'handover', '--to', 'c')).toEqual({
    code: 0,
    text: 'c leads now (after 41 ms)',
  });
  expect((await cluster(own, 'handover', '--to', 'd')).text).toBe(
    'c leads now, because d did not take over (after 41 ms)',
  );
  expect((await cluster(own, 'handover')).text).toBe('c leads now (after 41 ms)');
  expect(await cluster(own, 'leave', 'e')).toMatchObject({
    code: 0,
    text: expect.stringMatching(/^e has left the cluster\. .*its journals \(4, 5\)\. /),
  });
  expect(await cluster(own, 'leave', 'f')).toEqual({
    code: 1,
    text: 'Cannot leave f out: it is connected; stop it first',
  });
  expect(asked).toEqual([
    ['cluster.handover', { to: 'c' }],
    ['cluster.handover', { to: 'd' }],
    ['cluster.handover', {}],
    ['cluster.leave', { name: 'e' }],
    ['cluster.leave', { name: 'f' }],
  ]);
});

it('an edge says what it has, and leaves the rest to the cores', async () => {
  let seen: EdgeStatus = {
    node: 'a',
    role: 'edge',
    isReady: true,
    links: 12,
    linksBehind: 3,
    contactSeconds: 1.26,
    problems: ['links may be old: no core has answered'],
  };
  const { environment } = await start({ 'cluster.status': () => seen });
  expect(await cluster({ ...node, ...environment }, 'status', '--role', 'edge')).toEqual({
    code: 0,
    text: [
      'a is an edge with 12 links, 3 changes behind; last contact with a core: 1.3 s ago',
      'problem: links may be old: no core has answered',
      'The whole cluster: `quietzone cluster status` on a core',
    ].join('\n'),
  });
  const own = { ...edge, ...environment };
  seen = { ...seen, contactSeconds: null };
  expect((await cluster(own, 'status')).text).toContain('last contact with a core: never');
  expect(JSON.parse((await cluster(own, 'status', '--json')).text)).toEqual(seen);
  for (const words of [['handover'], ['leave', 'x']]) {
    expect(await cluster(own, ...words)).toEqual({
      code: 1,
      text: 'Cannot do this on an edge: run the command on a core',
    });
  }
});

it('without a running node, or a cluster, a command says so', async () => {
  const dataDir = temporaryFolder();
  mkdirSync(join(dataDir, 'journal'));
  const stopped = { ...core, QZ_DATA_DIR: dataDir };
  expect(await cluster(stopped, 'status')).toEqual({
    code: 1,
    text: expect.stringMatching(/^No service runs in data folder .*: start it/),
  });
  expect(await cluster({}, 'status')).toEqual({
    code: 2,
    text: expect.stringContaining('This machine is not in a cluster'),
  });
});
