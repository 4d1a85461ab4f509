/**
 * Nodes that are cut short, copied and cut off: a core is killed in its first start, folders are copied while they run, and
 * a campaign ends while an edge holds scans that no core has, and the leader dies. The test sets the wall clock of all
 * nodes. Registered where a nats-server is found.
 */
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { NatsLog } from '../../../src/cluster/nats/nats-log.ts';
import { coreBeats, readBeat } from '../../../src/cluster/nodes/beat-message.ts';
import { scanStream, scanSubject } from '../../../src/cluster/scans/scan-messages.ts';
import { dayMs, isoTime } from '../../../src/model/day.ts';
import { type Json, word } from '../../support/client.ts';
import { pause } from '../../support/process.ts';
import { preload } from '../../support/program.ts';
import { soon } from '../../support/soon.ts';
import { createCluster, type StartedCluster, TestCode, TestNode } from './started-cluster.ts';
import { withNatsServer, openNats } from '../nats/brokers.ts';

const target = 'https://example.com/';
const paceMs = 30;
/** A node that is away holds an end up for a minute at most: long before, it is back. */
const patience = { timeout: 50_000, interval: 300 };
/**
 * The time of the nodes' clocks at their start: some hours before the campaign ends. A day and a half ago, because the
 * brokers have the true time: a core refuses scans that are a day newer than the broker's message, or 8 days older.
 */
const beginMs = Math.floor(Date.now() / dayMs) * dayMs - 1.5 * dayMs;
const endMs = beginMs + 0.5 * dayMs;
/** For scans to be answered before the end. */
const scansMsMax = 30_000;

const folder = mkdtempSync(join(tmpdir(), 'quietzone-clock-'));
const clockFile = join(folder, 'clock');
const clock = { NODE_OPTIONS: preload('clock-by-file'), CLOCK_AHEAD_FILE: clockFile };
let aheadMs = 0;

let cluster: StartedCluster;
/** The core that was killed in its first start, and the other one. */
let cut: TestNode;
let first: TestNode;
let key: string;
let code: TestCode;
/** All at once: a reader sees the one or the other. */
function setClock(toMs: number): void {
  aheadMs = toMs - Date.now();
  writeFileSync(`${clockFile}.new`, String(aheadMs));
  renameSync(`${clockFile}.new`, clockFile);
}

const clockMs = (): number => Date.now() + aheadMs;

async function scan(node: TestNode, times = 1): Promise<void> {
  for (let at = 0; at < times; at++) expect(await code.scan(node)).toBe(target);
}

async function isCounted(by: readonly TestNode[] = cluster.cores): Promise<void> {
  for (const core of by) await code.isCounted(core, key);
}

/** As the leader does every ten seconds, when all registered cores have saved them. */
async function removeScans(): Promise<void> {
  const connection = await openNats({ servers: cluster.brokers.urls, nodeName: 'test' });
  let saved = 0;
  connection.subscribe(coreBeats, (body) => void (saved = readBeat(body)?.mark?.savedSeq ?? saved));
  const log = new NatsLog({ connection, stream: scanStream, subject: scanSubject('test') });
  await expect.poll(async () => (await log.bounds()).last, soon).toBeGreaterThan(0);
  await expect.poll(async () => saved - (await log.bounds()).last, soon).toBe(0);
  await log.prune(Infinity);
  await connection.close();
}

/** The one that is not registered yet when the other one is. */
async function killUnregistered(): Promise<void> {
  const [one, other] = cluster.cores;
  for (const core of cluster.cores) core.start();
  const isRegistered = (core: TestNode): boolean => existsSync(join(core.dataDir, 'cluster.json'));
  while (!isRegistered(one) && !isRegistered(other)) await pause(1);
  [first, cut] = isRegistered(one) ? [one, other] : [other, one];
  await cut.kill();
}

async function startAfterCut(): Promise<void> {
  setClock(beginMs);
  await killUnregistered();
  await first.service.ready();
  key = first.service.apiKey;
  const api = first.client(key);
  const made = await api.call('POST', '/v1/qr-codes', { body: { target } });
  code = new TestCode(made.json);
  await api.close();
  await scan(first, 5);
  await isCounted([first]);
  await removeScans();
  await Promise.all([cut, cluster.edge].map((node) => node.start().ready()));
  await isCounted();
  await expect.poll(() => code.scan(cluster.edge), soon).toBe(target);
  await isCounted();
}

/** As another machine has it. @param record what its `start.json` says instead */
async function copyOf(node: TestNode, role: 'all' | 'edge', record?: object): Promise<TestNode> {
  const name = word(node.environment['QZ_CLUSTER_NODE_NAME']);
  const parent = join(cluster.folder, `copy-of-${name}`);
  const copy = await TestNode.create(parent, name, role, cluster.brokers.urls, clock);
  const isLock = (path: string): boolean => /service\.(sock|pid|\d+)$/.test(path);
  cpSync(node.dataDir, copy.dataDir, { recursive: true, filter: (path) => !isLock(path) });
  const file = join(copy.dataDir, 'start.json');
  const known: object = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, JSON.stringify({ ...known, ...record }));
  return copy;
}

/** Scans at the copy until it has ended, and at the original. */
async function refused(copy: TestNode, original: TestNode): Promise<string> {
  const service = copy.start();
  onTestFinished(() => copy.kill());
  let answered = 0;
  while ((await Promise.race([service.exit, pause(paceMs)])) === undefined) {
    await scan(original);
    const isAnswered = copy.scan(code.shortCode).then(() => true);
    if (await isAnswered.catch(() => false)) answered += 1;
  }
  expect(answered).toBe(0);
  expect(await service.exit).toMatchObject({ code: 1, signal: null });
  return service.stderr;
}

async function refusesCopies(): Promise<void> {
  const { edge } = cluster;
  const byFolder = await refused(await copyOf(cut, 'all'), cut);
  expect(byFolder).toMatch(/Cannot start as \S+: data folder \S+ is a copy, made while .* ran on/);
  const byLeader = await refused(await copyOf(edge, 'edge', { isRunning: false }), edge);
  expect(byLeader).toMatch(/edge-1 runs on \S+; give each machine a cluster.nodeName and an empty/);
  await isCounted();
  for (const { apiUrl } of cluster.cores) {
    const ready = await (await fetch(`${apiUrl}/health/ready`)).text();
    expect(ready).not.toContain('before this core had them');
  }
}

/** The answer of the core that leads. */
async function call(method: 'GET' | 'POST', at: string, body?: unknown): Promise<Json> {
  const [leading] = await cluster.roles();
  const api = leading.client(key);
  const { json } = await api.call(method, `/v1${at}`, body === undefined ? {} : { body });
  await api.close();
  return json;
}

async function totals(): Promise<unknown> {
  const { data } = await call('GET', '/events?type=campaign.ended');
  if (!Array.isArray(data)) return 'no answer';
  return data.map((event: { data: Json }) => event.data['totalScans']);
}

async function endsWithAll(): Promise<void> {
  const { edge, path } = cluster;
  const day = isoTime(beginMs).slice(0, 10);
  const body = { name: day, startDate: day, endDate: day, qrCodeIds: [code.id] };
  expect(await call('POST', '/campaigns', body)).toHaveProperty('id');
  path.cut();
  setClock(endMs - scansMsMax);
  await scan(edge, 4);
  await scan(first);
  expect(clockMs()).toBeLessThan(endMs);
  const before = code.scans;
  await first.kill();
  setClock(endMs + 7_000);
  await expect.poll(() => cut.role(), patience).toBe('active');
  await first.start().ready();
  await scan(edge);
  expect(await totals()).toEqual([]);
  path.heal();
  await expect.poll(totals, patience).toEqual([before]);
  await isCounted();
}

await withNatsServer('nodes that are cut short, copied and cut off', (found) => {
  beforeAll(async () => {
    cluster = await createCluster(found, clock);
  });
  afterAll(async () => {
    await cluster.close();
    rmSync(folder, { recursive: true, force: true });
  });
  test(
    'a first start that was cut while another core continued copies that one, and has all scans',
    startAfterCut,
  );
  test('a copy of a folder is refused by what it says, or by the leader', refusesCopies);
  test(
    'the event of a campaign has the scans of an edge that was cut off, also by another leader',
    endsWithAll,
  );
});
