/**
 * A folder of a node is copied while it runs, and started under the same name: the copy answers no scan, says why, and the
 * numbers of the original stay exact. Registered where a nats-server is found.
 */
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { findNatsServer } from '../../config/demo/nats-server.ts';
import { notRun } from '../cluster/nats/not-run.ts';
import { pause } from '../support/process.ts';
import { soon } from '../support/soon.ts';
import { word } from '../support/client.ts';
import {
  codeOf,
  createCluster,
  scansCounted,
  type StartedCluster,
  type TestCode,
  TestNode,
} from './started-cluster.ts';

const target = 'https://example.com/';
const paceMs = 10;

let cluster: StartedCluster;
let key: string;
let code: TestCode;
/** Answered by the originals. */
let scans = 0;
let copies = 0;

const folderOf = (node: TestNode): string => word(node.environment['QZ_DATA_DIR']);

/** As another machine has it. @param record what its `start.json` says instead */
async function copyOf(node: TestNode, role: 'all' | 'edge', record?: object): Promise<TestNode> {
  const name = word(node.environment['QZ_CLUSTER_NODE_NAME']);
  const parent = join(cluster.folder, `copies-${++copies}`);
  const copy = await TestNode.create(parent, name, role, cluster.brokers.urls);
  const isLock = (path: string): boolean => /service\.(sock|pid|\d+)$/.test(path);
  cpSync(folderOf(node), folderOf(copy), { recursive: true, filter: (path) => !isLock(path) });
  if (record !== undefined) {
    const file = join(folderOf(copy), 'start.json');
    const known: object = JSON.parse(readFileSync(file, 'utf8'));
    writeFileSync(file, JSON.stringify({ ...known, ...record }));
  }
  return copy;
}

async function scan(node: TestNode): Promise<void> {
  expect(await node.scan(code.shortCode)).toBe(target);
  scans += 1;
}

/** Scans at the copy until it has ended, and at the originals that run. */
async function refused(copy: TestNode, originals: readonly TestNode[]): Promise<string> {
  const service = copy.start();
  onTestFinished(() => copy.kill());
  let answered = 0;
  while ((await Promise.race([service.exit, pause(paceMs)])) === undefined) {
    for (const node of originals) await scan(node);
    answered += await copy.scan(code.shortCode).then(
      () => 1,
      () => 0,
    );
  }
  expect(answered).toBe(0);
  expect((await service.exit).code).toBe(1);
  return service.stderr;
}

async function numbersAreExact(): Promise<void> {
  for (const core of cluster.cores) {
    const api = core.client(key);
    await expect.poll(() => scansCounted(api, code), soon).toBe(scans);
    expect(await (await fetch(`${core.apiUrl}/health/ready`)).text()).not.toContain(
      'before this core had them',
    );
    await api.close();
  }
}

const found = await findNatsServer();
if ('missing' in found) notRun('a copy of a node', found);
else {
  beforeAll(async () => {
    cluster = await createCluster(found);
    const [first, second] = cluster.cores;
    await first.start().ready();
    await Promise.all([second.start().ready(), cluster.edge.start().ready()]);
    key = first.service.apiKey;
    const api = first.client(key);
    const made = await api.call('POST', '/v1/qr-codes', { body: { target } });
    code = codeOf(made.json);
    await api.close();
  });
  afterAll(async () => {
    await Promise.all([...cluster.cores, cluster.edge].map((node) => node.kill()));
    await cluster.close();
  });

  test('a copy of a folder that runs is refused by what it says', async () => {
    const { cores, edge } = cluster;
    for (const node of [cores[1], edge]) {
      await expect.poll(() => node.scan(code.shortCode), soon).toBe(target);
      scans += 1;
    }
    for (const [node, role] of [[cores[1], 'all'] as const, [edge, 'edge'] as const]) {
      const why = await refused(await copyOf(node, role), [node]);
      expect(why).toMatch(/Cannot start as \S+: data folder \S+ is a copy, made while .* ran on/);
    }
    await numbersAreExact();
  });

  test('one that does not know it, as of a stopped folder or a disk, is refused by beats and by the leader', async () => {
    const { cores, edge } = cluster;
    const unknown = { isRunning: false };
    const core = await refused(await copyOf(cores[1], 'all', unknown), [cores[1], edge]);
    expect(core).toContain(`runs under this name, at ${cores[1].apiUrl}; give each machine`);
    const why = await refused(await copyOf(edge, 'edge', unknown), [cores[1], edge]);
    expect(why).toMatch(/edge-1 runs on \S+; give each machine a cluster.nodeName and an empty/);
    await numbersAreExact();
  });

  test('an old copy is refused once the original has started again, also when that is down', async () => {
    const { edge } = cluster;
    const copy = await copyOf(edge, 'edge', { isRunning: false });
    expect(await edge.service.terminate()).toMatchObject({ code: 0 });
    const startedMs = performance.now();
    await edge.start().ready();
    await scan(edge);
    expect(performance.now() - startedMs).toBeLessThan(20_000);
    const confirmed = (): string => readFileSync(join(folderOf(edge), 'start.json'), 'utf8');
    await expect.poll(confirmed, soon).toMatch(/"starts":\["n_\w+"\]/);
    await edge.service.terminate();
    expect(await refused(copy, [])).toMatch(/is a copy: edge-1 has started on \S+ since; start it/);
    // After a crash its own last beats are no copy's.
    await edge.start().ready();
    await scan(edge);
    await edge.kill();
    await edge.start().ready();
    await scan(edge);
    await numbersAreExact();
  });
}
