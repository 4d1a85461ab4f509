/**
 * src/cluster/roles/open-edge.ts: an edge in this process, with its threads and files, behind a core whose feed is on a socket.
 * No broker: what joins and what carries scans is handed in. And first starts of both roles that find no broker.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished, expect, test } from 'vitest';
import type { openApp } from '../../../src/app/app.ts';
import { writeNodeFile } from '../../../src/cluster/nodes/node-file.ts';
import { loadConfig } from '../../../src/platform/config/config.ts';
import { closeAll, type Closers, openWithClosers } from '../../../src/platform/closers.ts';
import { askService } from '../../../src/app/commands/ask-service.ts';
import { openDataFolder } from '../../../src/app/folder/data-folder.ts';
import { openBase, thisMachine } from '../../../src/app/modules.ts';
import { type EdgeFolder, openEdgeFolder } from '../../../src/cluster/roles/edge/edge-folder.ts';
import { openEdgeNode } from '../../../src/cluster/roles/edge-node.ts';
import { openCore } from '../../../src/cluster/roles/open-core.ts';
import { openEdge } from '../../../src/cluster/roles/open-edge.ts';
import { listSegments } from '../../../src/engine/journal/segments.ts';
import { createLog } from '../../../src/platform/log.ts';
import { FeedServer } from '../links/feed-server.ts';
import { route } from '../../product/codes/codes-fixture.ts';
import { openFilesIn } from '../../support/leaks.ts';
import { freePorts } from '../../support/process.ts';
import { readMetrics } from '../../support/running-service.ts';
import { temporaryFolder } from '../../store/temporary-management.ts';
import { soon } from '../../support/soon.ts';
import { StoredBytes } from '../../support/stored-bytes.ts';

const target = 'https://example.com/';
const other = 'https://example.org/';
const ruled = 'https://example.net/';
const journals = [7, 9];
const identity = { cluster: 'cl_1', node: 'n_1', name: 'edge-1', role: 'edge', run: 1 } as const;

async function startEdge(
  folder: string,
  cores: () => readonly string[],
  keptFrom = (): number => 0,
) {
  const ports = await freePorts();
  const config = loadConfig(undefined, {
    QZ_DATA_DIR: folder,
    QZ_API_HOST: '127.0.0.1',
    QZ_API_PORT: String(ports.api),
    QZ_METRICS_PORT: String(ports.api + 2),
    QZ_REDIRECT_HOST: '127.0.0.1',
    QZ_REDIRECT_PORT: String(ports.redirect),
    QZ_SCANS_SEGMENT_MS_MAX: '10',
  });
  writeNodeFile(folder, { ...identity, journals });
  const closers: Closers = [];
  const log = createLog('silent');
  const opened = await openEdgeFolder(folder, log, closers);
  const base = openBase({ ...thisMachine, config, folder: opened.folder, log }, 'create');
  const { hostCommands } = opened;
  const token = (): string => 'edge-1.token';
  const edge = await openEdge({ base, journals, cores, token, keptFrom, hostCommands }, closers);
  const close = async (): Promise<void> => {
    await closeAll(closers);
    expect(openFilesIn(folder)).toEqual([]);
  };
  onTestFinished(close);
  const scan = async (code: string): Promise<Response> =>
    await fetch(`http://127.0.0.1:${ports.redirect}/${code}`, {
      redirect: 'manual',
      headers: { connection: 'close' },
    });
  const api = `http://127.0.0.1:${ports.api}`;
  return {
    edge,
    close,
    api,
    read: async (code: string): Promise<string> => await (await scan(code)).text(),
    /** Where the link leads, or the status of what is answered instead. */
    visit: async (code: string): Promise<string | number> => {
      const answer = await scan(code);
      return answer.headers.get('location') ?? answer.status;
    },
    ready: async (): Promise<{ readonly status: number; readonly body: string }> => {
      const answer = await fetch(`${api}/health/ready`);
      return { status: answer.status, body: await answer.text() };
    },
  };
}

test('an edge redirects as its cores say, from their first word on, and without them after a restart', async () => {
  const core = await FeedServer.open();
  const { app } = core;
  const folder = temporaryFolder();
  const code = await core.create('printed');
  let cores: string[] = [];
  const first = await startEdge(folder, () => cores);
  expect((await fetch(`${first.api}/health/live`)).status).toBe(200);
  const before = await first.ready();
  expect(before.status).toBe(503);
  expect(before.body).toContain('no links yet');
  const status = async () => await askService(openDataFolder(folder), 'cluster.status', {});
  expect(await status()).toMatchObject({
    result: { role: 'edge', isReady: false, links: 0, contactSeconds: null },
  });
  cores = [core.url];
  await first.edge.redirecting;
  expect(await first.visit('printed')).toBe(target);
  expect((await first.ready()).status).toBe(200);
  expect(await status()).toMatchObject({
    result: { isReady: true, links: 1, linksBehind: 0, contactSeconds: expect.any(Number) },
  });
  expect(first.edge.replica.number).toBe(app.store.last('link'));

  let moves = 0;
  first.edge.replica.applied.listen(() => void (moves += 1));
  const changed = await core.change(code, { target: other });
  await expect.poll(() => first.visit('printed'), soon).toBe(other);
  expect(moves).toBeGreaterThan(0);
  const rules = [
    { label: 'led', if: { query: { to: 'rule' } }, then: { target: ruled } },
    { label: 'zoned', if: { time: { timezone: 'UTC' }, query: { to: 'time' } }, then: { target } },
  ];
  await route(app.store, app.codes, changed, { rules, fallbackUrl: target });
  await expect.poll(() => first.visit('printed?to=rule'), soon).toBe(ruled);
  expect(await first.visit('printed')).toBe(other);
  expect(await first.visit('printed?to=time')).toBe(target);
  const later = await core.create('later');
  await expect.poll(() => first.visit('later'), soon).toBe(target);
  await app.codes.delete(app.actor, later.id);
  await expect.poll(() => first.visit('later'), soon).toBe(410);
  const metrics = await readMetrics(first.api);
  expect(metrics).toContain('quietzone_cluster_role{role="edge"} 1');
  expect(metrics).toMatch(/quietzone_redirects_total\{thread="0"\} \d+/);
  expect((await fetch(`${first.api}/v1/codes`)).status).toBe(404);
  expect((await fetch(`${first.api}/metrics`)).status).toBe(404);
  await first.close();
  core.close();

  const again = await startEdge(folder, () => [core.url]);
  expect(await again.visit('printed')).toBe(other);
  expect(await again.visit('printed?to=rule')).toBe(ruled);
  expect(await again.visit('later')).toBe(410);
  const ready = await again.ready();
  expect(ready.status).toBe(200);
  expect(ready.body).toContain('links may be old');
  for (const journal of journals.slice(0, again.edge.threads.journals.own.length)) {
    expect(existsSync(join(folder, 'journal', String(journal)))).toBe(true);
  }
});

test('an edge keeps what it has journaled as long as cores need it, and stores no scans', async () => {
  const core = await FeedServer.open();
  await core.create('kept');
  const folder = temporaryFolder();
  let keptFrom = 0;
  const needed = (): number => keptFrom;
  const opened = await startEdge(folder, () => [core.url], needed);
  await opened.edge.redirecting;
  for (let visit = 0; visit < 8; visit++) expect(await opened.visit('kept')).toBe(target);
  const { journals: own } = opened.edge.threads;
  const written = own.own
    .map((no) => [no, own.tails.position(no)] as const)
    .filter(([, tail]) => tail > 0);
  expect(written.length).toBeGreaterThan(0);
  const segments = (): number[][] => written.map(([no]) => listSegments(own.folder(no)));
  // They have ended, and none is deleted.
  const fewest = (): number => Math.min(...segments().map(({ length }) => length));
  await expect.poll(fewest, soon).toBeGreaterThan(1);
  own.deleteOwn();
  expect(segments().map(([first]) => first)).toEqual(written.map(() => 0));
  keptFrom = Infinity;
  await expect.poll(segments, soon).toEqual(written.map(([, tail]) => [tail]));
  expect(existsSync(join(folder, 'scans.mdb'))).toBe(false);
});

test('links that a bad disk has damaged on an edge come again from a core', async () => {
  const core = await FeedServer.open();
  for (let made = 0; made < 40; made++) await core.create(`code-${made}`);
  const folder = temporaryFolder();
  const first = await startEdge(folder, () => [core.url]);
  await first.edge.redirecting;
  await first.close();
  const bytes = new StoredBytes(join(folder, 'management.mdb'));
  const [, key] = bytes.keys('links');
  bytes.flip('links', key!, 300);
  await bytes.close();

  const again = await startEdge(folder, () => [core.url]);
  await expect.poll(() => again.visit('code-20'), soon).toBe(target);
  expect(await again.visit('code-0')).toBe(target);
  expect(core.asked.filter((one) => one === 'all')).toEqual(['all', 'all']);
});

test('a folder is of an edge, or of a service that keeps data', async () => {
  const log = createLog('silent');
  const core = await FeedServer.open();
  const open = (path: string): Promise<EdgeFolder & { close(): Promise<void> }> =>
    openWithClosers(async (closers) => await openEdgeFolder(path, log, closers));
  await expect(open(core.app.dataDir)).rejects.toThrow(
    /Cannot start as an edge: .* is of a service that stores data, it has (delivery\.mdb|scans\.mdb)/,
  );
  const folder = temporaryFolder();
  // A first start that ended before it had joined.
  await (await open(folder)).close();
  const held = await open(folder);
  held.hostCommands({});
  await expect(open(folder)).rejects.toThrow(/locked by a running service/);
  await held.close();
  writeNodeFile(folder, { ...identity, journals });
  const unknown = temporaryFolder();
  writeFileSync(join(unknown, 'management.mdb'), '');
  await expect(open(unknown)).rejects.toThrow(/and no cluster\.json/);
});

test('the pages of its codes have what their workspace says', async () => {
  const core = await FeedServer.open();
  const { app } = core;
  const code = await core.create('over');
  await app.codes.delete(app.actor, code.id);
  const opened = await startEdge(temporaryFolder(), () => [core.url]);
  await opened.edge.redirecting;
  expect(await opened.read('over')).toContain('This code has ended');
  const text = { title: 'We are sold out', text: 'Thank you!' };
  const pages = { brand: { name: 'Bakery' }, texts: { deleted: { en: text } } };
  await app.workspaces.workspaces.change(1, {}, () => pages);
  await expect.poll(() => opened.read('over'), soon).toMatch(/Bakery.*We are sold out/);
});

async function stopped(open: typeof openApp, role: 'all' | 'edge'): Promise<void> {
  const folder = temporaryFolder();
  const ports = await freePorts();
  const config = loadConfig(undefined, {
    QZ_DATA_DIR: folder,
    QZ_API_HOST: '127.0.0.1',
    QZ_API_PORT: String(ports.api),
    QZ_REDIRECT_HOST: '127.0.0.1',
    QZ_REDIRECT_PORT: String(ports.redirect),
    QZ_CLUSTER_ROLE: role,
    QZ_CLUSTER_NODE_NAME: 'n1',
    // Nobody listens there.
    QZ_CLUSTER_NATS: 'nats://127.0.0.1:1',
    QZ_CLUSTER_PLAIN_HTTP: 'true',
    ...(role === 'all' && { QZ_CLUSTER_SECRET: 'a secret of the cluster that is long enough' }),
  });
  const stopping = new AbortController();
  const reason = new Error('stopped');
  const write = (line: string): void => {
    if (line.includes('"waiting ')) stopping.abort(reason);
  };
  const log = createLog('info', { write });
  await expect(open(config, log, { stopping: stopping.signal })).rejects.toBe(reason);
  expect(openFilesIn(folder)).toEqual([]);
}

test('a first start waits for brokers, and ends at once when it is to stop', async () => {
  await Promise.all([stopped(openCore, 'all'), stopped(openEdgeNode, 'edge')]);
});
