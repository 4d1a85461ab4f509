/**
 * A campaign ends in a cluster while an edge holds scans that no core has: cut off from the brokers, and stopped while the
 * leader is killed. The wall clock of all nodes is set by the test. Registered where a nats-server is found.
 */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Brokers } from '../../config/demo/brokers.ts';
import { findNatsServer, type NatsServer } from '../../config/demo/nats-server.ts';
import { dayMs, isoTime } from '../../src/model/day.ts';
import { startBrokers } from '../cluster/nats/brokers.ts';
import { CuttablePath } from '../cluster/nats/cuttable-path.ts';
import { notRun } from '../cluster/nats/not-run.ts';
import type { Json } from '../support/client.ts';
import { preload } from '../support/program.ts';
import { codeOf, type TestCode, TestNode } from './started-cluster.ts';

/** A node that is away holds an end up for a minute at most: long before, it is back. */
const patience = { timeout: 50_000, interval: 300 };
const todayMs = Math.floor(Date.now() / dayMs) * dayMs;
/**
 * The clocks stand here when the nodes start: some hours before the first campaign ends. A day and a half ago, for the brokers
 * have the true time: a core refuses scans that are a day newer than the broker's message, or 8 days older.
 */
const beginMs = todayMs - 1.5 * dayMs;

/** For scans to be answered before the end. */
const scansMsMax = 6_000;

const folder = mkdtempSync(join(tmpdir(), 'quietzone-end-'));
const clockFile = join(folder, 'clock');
let brokers: Brokers;
let path: CuttablePath;
const cores: TestNode[] = [];
let edge: TestNode;
let key: string;
let code: TestCode;
let aheadMs = 0;

/** All at once: a reader sees the one or the other. */
function setClock(toMs: number): void {
  aheadMs = toMs - Date.now();
  writeFileSync(`${clockFile}.new`, String(aheadMs));
  renameSync(`${clockFile}.new`, clockFile);
}

const clockMs = (): number => Date.now() + aheadMs;

async function call(method: 'GET' | 'POST', at: string, body?: unknown): Promise<Json> {
  for (const core of cores) {
    if ((await core.role()) !== 'active') continue;
    const api = core.client(key);
    const { json } = await api.call(method, `/v1${at}`, body === undefined ? {} : { body });
    await api.close();
    return json;
  }
  return {};
}

async function scan(node: TestNode, times: number): Promise<void> {
  for (let at = 0; at < times; at++) {
    expect(await node.scan(code.shortCode)).toBe('https://example.com/');
  }
}

async function makeCampaign(day: string): Promise<unknown> {
  const body = { name: day, startDate: day, endDate: day, qrCodeIds: [code.id] };
  return (await call('POST', '/campaigns', body))['id'];
}

async function totalOf(campaign: unknown): Promise<unknown> {
  const { data } = await call('GET', '/events?type=campaign.ended');
  if (!Array.isArray(data)) return 'no answer';
  const found = data.filter((event: { data: Json }) => event.data['id'] === campaign);
  return found.map((event: { data: Json }) => event.data['totalScans']);
}

async function setUp(server: NatsServer): Promise<void> {
  brokers = await startBrokers({ count: 1, folder: join(folder, 'brokers'), server });
  path = await CuttablePath.open(brokers.all.map(({ port }) => port));
  setClock(beginMs);
  const settings = { NODE_OPTIONS: preload('clock-by-file'), CLOCK_AHEAD_FILE: clockFile };
  for (const name of ['core-1', 'core-2']) {
    cores.push(await TestNode.create(folder, name, 'all', brokers.urls, settings));
  }
  edge = await TestNode.create(folder, 'edge-1', 'edge', path.urls, settings);
  const services = [...cores, edge].map((node) => node.start());
  await Promise.all(services.map((service) => service.ready()));
  key = services.find(({ stdout }) => stdout.includes('API key'))!.apiKey;
  const made = await call('POST', '/qr-codes', { target: 'https://example.com/' });
  code = codeOf(made);
}

async function cutOff(): Promise<void> {
  await expect.poll(() => edge.scan(code.shortCode), patience).toBe('https://example.com/');
  const campaign = await makeCampaign(isoTime(beginMs).slice(0, 10));
  const endMs = (Math.floor(beginMs / dayMs) + 1) * dayMs;
  for (const node of [...cores, edge]) await scan(node, 2);
  path.cut();
  setClock(endMs - scansMsMax);
  await scan(edge, 4);
  await scan(cores[0]!, 1);
  expect(clockMs()).toBeLessThan(endMs);
  await expect.poll(clockMs, patience).toBeGreaterThan(endMs + 7_000);
  await scan(edge, 1);
  expect(await totalOf(campaign)).toEqual([]);
  path.heal();
  // The first one was there when the links had come.
  await expect.poll(() => totalOf(campaign), patience).toEqual([1 + 6 + 4 + 1]);
}

async function stopped(): Promise<void> {
  const campaign = await makeCampaign(isoTime(todayMs - dayMs).slice(0, 10));
  const endMs = todayMs;
  const [leader, other] =
    (await cores[0]!.role()) === 'active' ? [cores[0]!, cores[1]!] : [cores[1]!, cores[0]!];
  setClock(endMs - scansMsMax);
  await scan(leader, 2);
  await Promise.all([1, 2, 3].map(() => scan(edge, 2)));
  edge.service.signal('SIGSTOP');
  expect(clockMs()).toBeLessThan(endMs);
  await leader.kill();
  await expect.poll(clockMs, patience).toBeGreaterThan(endMs + 2_000);
  await leader.start().ready();
  await expect.poll(() => other.role(), patience).toBe('active');
  expect(await totalOf(campaign)).toEqual([]);
  edge.service.signal('SIGCONT');
  // The scan after the end of the other one.
  await expect.poll(() => totalOf(campaign), patience).toEqual([1 + 2 + 6]);
}

const found = await findNatsServer();
if ('missing' in found) notRun('the end of a campaign in a cluster', found);
else {
  beforeAll(() => setUp(found), 200_000);
  afterAll(async () => {
    await Promise.all([...cores, edge].map((node) => node.kill()));
    await path.close();
    await brokers.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  });
  test('an edge that is cut off around it: its scans are in the event', cutOff, 200_000);
  test('one that is stopped, while another core begins to lead: the same', stopped, 200_000);
}
