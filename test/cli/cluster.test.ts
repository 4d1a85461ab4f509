/** `quietzone cluster`, against services that are none: what is asked, of which machine, and what is printed. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { run } from '../../src/cli/run.ts';
import type { ClusterStatus } from '../../src/cluster/control/cluster-status.ts';
import { MachineProof } from '../../src/cluster/machine-proof.ts';
import { ClusterKeys } from '../../src/cluster/nodes/cluster-keys.ts';
import { systemClock } from '../../src/system-clock.ts';

const secret = 'the secret of a cluster in these tests';
const proof = new MachineProof(new ClusterKeys(secret).requests, systemClock);

const closers: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

type Answer = (
  target: string,
) => readonly [status: number, body: object | string, location?: string];

class FakeNode {
  readonly asked: string[] = [];
  readonly #server: Server;
  #port = 0;

  private constructor(answer: Answer) {
    this.#server = createServer((request, response) => this.#reply(request, response, answer));
  }

  static async open(answer: Answer): Promise<FakeNode> {
    const node = new FakeNode(answer);
    const server = node.#server.listen(0, '127.0.0.1');
    closers.push(() => server[Symbol.asyncDispose]());
    await once(server, 'listening');
    const address = server.address();
    node.#port = typeof address === 'object' && address !== null ? address.port : 0;
    return node;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get environment(): Record<string, string> {
    const dataDir = mkdtempSync(join(tmpdir(), 'quietzone-cli-'));
    closers.push(() => rmSync(dataDir, { recursive: true }));
    return {
      QZ_DATA_DIR: dataDir,
      QZ_API_PORT: String(this.#port),
      QZ_CLUSTER_NATS: 'nats://127.0.0.1:1',
      QZ_CLUSTER_PLAIN_HTTP: 'true',
      QZ_CLUSTER_NODE_NAME: 'a',
    };
  }

  #reply(
    { method = '', url = '', headers }: IncomingMessage,
    response: ServerResponse,
    answer: Answer,
  ): void {
    const header = (name: string): string | undefined => headers[name]?.toString();
    const isSigned = proof.isFromMachine({ method, path: url, header });
    this.asked.push(`${method} ${url}${isSigned ? '' : ' unsigned'}`);
    const [status, body, location] = answer(url);
    response.writeHead(status, location === undefined ? {} : { location });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  }
}

async function cluster(environment: Record<string, string>, ...words: string[]) {
  const lines: string[] = [];
  const code = await run(['cluster', ...words], {
    result: (text) => void lines.push(text),
    show: () => Promise.resolve(),
    progress: (text) => void lines.push(text),
    terminal: undefined,
    environment,
  });
  return { code, text: lines.join('\n') };
}

const onCore = ({ environment }: FakeNode): Record<string, string> => ({
  ...environment,
  QZ_CLUSTER_SECRET: secret,
});

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
  const node = await FakeNode.open(() => [200, status]);
  expect(await cluster(onCore(node), 'status')).toEqual({
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
  const { text } = await cluster(onCore(node), 'status', '--json');
  expect(JSON.parse(text)).toEqual(status);
  expect(node.asked).toEqual(['GET /cluster/status', 'GET /cluster/status']);
  const leading = await FakeNode.open(() => [200, { ...status, role: 'active', problem: null }]);
  const lines = (await cluster(onCore(leading), 'status')).text.split('\n');
  expect(lines.slice(0, 2)).toEqual(['a is active, in epoch 4 at position 90', '']);
  const alone = await FakeNode.open(() => [200, { ...status, leader: null }]);
  expect((await cluster(onCore(alone), 'status')).text).toContain('\nno node is known to lead\n');
});

it('status says that versions differ while some nodes are not upgraded', async () => {
  const [a, edge] = status.nodes;
  const others = ['b', 'c'].map((name) => ({ ...a, name, version: '0.1.0' }));
  const away = { ...edge, name: 'd' };
  const nodes = [a, ...others, away];
  const node = await FakeNode.open(() => [200, { ...status, nodes }]);
  expect((await cluster(onCore(node), 'status')).text).toContain(
    '\nan upgrade is under way: a runs 0.2.0; b, c run 0.1.0\n',
  );
});

it('a handover is asked of this node, and once of the leader that it names', async () => {
  const leader = await FakeNode.open(() => [200, { leader: 'c', ms: 41 }]);
  const node = await FakeNode.open((target) => [307, {}, `${leader.url}${target}`]);
  expect(await cluster(onCore(node), 'handover', '--to', 'c')).toEqual({
    code: 0,
    text: 'c leads now: after 41 ms',
  });
  expect(node.asked).toEqual(['POST /cluster/handover?to=c']);
  expect(leader.asked).toEqual(node.asked);
  expect((await cluster(onCore(leader), 'handover', '--to', 'd')).text).toBe(
    'c leads now, not d, which did not take it: after 41 ms',
  );
  expect((await cluster(onCore(leader), 'handover')).text).toBe('c leads now: after 41 ms');
  expect(leader.asked.at(-1)).toBe('POST /cluster/handover');
  const circle: FakeNode = await FakeNode.open((target) => [307, {}, `${circle.url}${target}`]);
  expect(await cluster(onCore(circle), 'handover')).toEqual({ code: 1, text: 'it answers 307' });
  expect(circle.asked).toHaveLength(2);
});

it('what is refused, and what does not answer, is said', async () => {
  const detail = 'Cannot leave e out: it is connected; stop it first';
  const node = await FakeNode.open(() => [409, { detail }]);
  expect(await cluster(onCore(node), 'leave', 'e')).toEqual({ code: 1, text: detail });
  expect(node.asked).toEqual(['POST /cluster/leave?name=e']);
  const left = await FakeNode.open(() => [200, { name: 'e', journals: [4, 5] }]);
  const { code, text } = await cluster(onCore(left), 'leave', 'e');
  expect(code).toBe(0);
  expect(text).toMatch(
    /^e is no node of the cluster any more\. Its journals \(4, 5\) stay known: /,
  );
  const away = { ...onCore(node), QZ_API_PORT: '9' };
  expect(await cluster(away, 'status')).toMatchObject({
    code: 1,
    text: expect.stringMatching(/^Cannot reach the service at http:\/\/127\.0\.0\.1:9: /),
  });
  expect(await cluster({}, 'status')).toMatchObject({
    code: 2,
    text: expect.stringContaining('This is a machine alone'),
  });
});

it('an edge has no secret: its health and metrics say what it is like', async () => {
  let contact = '1.26';
  const node = await FakeNode.open((target) =>
    target === '/metrics'
      ? [
          200,
          `quietzone_links{state="gone"} 1\nquietzone_links{state="live"} 12\nquietzone_cluster_links_behind 3\nquietzone_cluster_contact_seconds ${contact}\n`,
        ]
      : [503, { status: 'not_ready', reasons: ['links may be old: no core has answered'] }],
  );
  const unseen = await cluster(node.environment, 'status', '--role', 'edge');
  expect(unseen.text).toMatch(
    /^a is an edge; set metrics.port .* contact\nproblem: links may be old/,
  );
  const environment = { ...node.environment, QZ_METRICS_PORT: new URL(node.url).port };
  const first = await cluster(environment, 'status', '--role', 'edge');
  expect(first).toEqual({
    code: 0,
    text: [
      'a is an edge with 12 links, 3 changes behind; last contact with a core: 1.3 s ago',
      'problem: links may be old: no core has answered',
      'The whole cluster: `quietzone cluster status` on a core',
    ].join('\n'),
  });
  const edge = { ...environment, QZ_CLUSTER_ROLE: 'edge' };
  contact = '-1';
  expect((await cluster(edge, 'status')).text).toContain('last contact with a core: never');
  expect(JSON.parse((await cluster(edge, 'status', '--json')).text)).toMatchObject({
    role: 'edge',
    isReady: false,
    links: 12,
    linksBehind: 3,
    contactSeconds: -1,
  });
  for (const words of [['handover'], ['leave', 'x']]) {
    expect(await cluster(edge, ...words)).toEqual({
      code: 1,
      text: 'An edge cannot ask for this: use the command on a core',
    });
  }
});
