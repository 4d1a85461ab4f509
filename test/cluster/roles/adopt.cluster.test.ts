/**
 * A machine alone moves into a cluster, as an operator does it: with scans that are not counted, an endpoint that did not
 * answer, and a process that is killed. Registered where a nats-server is found.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { NatsServer } from '../../../config/demo/nats-server.ts';
import { logStream } from '../../../src/cluster/nats/log-streams.ts';
import { NatsLog } from '../../../src/cluster/nats/nats-log.ts';
import { readNodeFile } from '../../../src/cluster/nodes/node-file.ts';
import { loadConfig } from '../../../src/platform/config/config.ts';
import { adopt } from '../../../src/cluster/stopped/adopt.ts';
import { makeStream, withNatsServer, temporaryBrokers } from '../nats/brokers.ts';
import { word } from '../../support/client.ts';
import { openReceiver, type Receiver } from '../../support/fakes/receiver.ts';
import { type CommandResult, runCommand, ServiceProcess } from '../../support/process.ts';
import { soon } from '../../support/soon.ts';
import { deleteStreams, idsSent, TestCode, TestNode } from './started-cluster.ts';

const target = 'https://example.com/menu';
const password = 'a password of the owner';
const email = 'owner@example.com';

let opened: Awaited<ReturnType<typeof temporaryBrokers>>;
let receiver: Receiver;
let node: TestNode;
/** Of a backup of the other one. */
let restored: TestNode;
/** Of the same folder, before it was a core's. */
let alone: Readonly<Record<string, string>>;
let key: string;
let code: TestCode;
let logo: string;

async function begin(server: NatsServer): Promise<void> {
  opened = await temporaryBrokers(server);
  const { folder, brokers } = opened;
  receiver = await openReceiver({ kind: 'answer' });
  node = await TestNode.create(folder, 'core-1', 'all', brokers.urls, {
    QZ_BOOTSTRAP_EMAIL: email,
    QZ_BOOTSTRAP_PASSWORD: password,
  });
  restored = await TestNode.create(folder, 'core-2', 'all', brokers.urls);
  const settings = Object.entries(node.environment);
  alone = Object.fromEntries(settings.filter(([name]) => !name.startsWith('QZ_CLUSTER_')));
}

async function scan(times: number): Promise<void> {
  for (let no = 0; no < times; no++) expect(await code.scan(node)).toBe(target);
}

/** In a journal of the node. */
function bytesLeft(journal: number): number {
  const path = join(node.dataDir, 'journal', String(journal));
  return readdirSync(path).reduce((sum, name) => sum + statSync(join(path, name)).size, 0);
}

async function makeAlone(): Promise<void> {
  const { dataDir, ports } = node;
  const service = new ServiceProcess({ dataDir, ports, environment: alone });
  onTestFinished(() => service.kill());
  await service.ready();
  key = service.apiKey;
  const api = node.client(key);
  const made = await api.call('POST', '/v1/qr-codes', { body: { target } });
  code = new TestCode(made.json);
  const endpoint = { url: receiver.url('/hook'), events: ['qr.scanned'] };
  expect((await api.call('POST', '/v1/webhooks', { body: endpoint })).status).toBe(201);
  const raw = '<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64"><rect/></svg>';
  const headers = { 'content-type': 'image/svg+xml' };
  const put = await api.call('POST', '/v1/logos', { raw, headers });
  expect(put.status).toBe(201);
  logo = word(put.json['id']);
  await scan(3);
  await expect.poll(() => code.counted(api), soon).toBe(code.scans);
  await expect.poll(() => new Set(idsSent(receiver)).size, soon).toBe(code.scans);
  receiver.behave({ kind: 'answer', status: 503 });
  await scan(4);
  await api.close();
  // What was answered is in the journal, counted or not.
  await service.kill();
  expect(bytesLeft(0)).toBeGreaterThan(0);
}

const cluster = (...args: readonly string[]): Promise<CommandResult> =>
  runCommand(['cluster', ...args], node.environment);

/** Without what differs in each run. */
const plain = (text: string): string =>
  text
    .replaceAll(opened.folder, '')
    .replaceAll(/cl_\w+/g, 'cl_…')
    .replaceAll(/position \d+/g, 'position …');

async function isRefused(): Promise<void> {
  const refused = [await runCommand(['cluster', 'adopt'], alone), await cluster('reseed')];
  const texts = refused.map(({ code: exit, stderr }) => `${exit} ${plain(stderr)}`);
  expect(texts.join('')).toMatchInlineSnapshot(`
    "2 Cannot adopt: cluster.nats (QZ_CLUSTER_NATS) is not set, expected the brokers of the cluster
    1 Cannot reseed: data folder /core-1 is of a machine alone, expected a core's
    "
  `);
}

const endAt =
  (at: string) =>
  (text: string): void => {
    if (text.includes(at)) throw new Error('cut short');
  };

/** The command is cut short when it says this. */
async function cut(at: string): Promise<void> {
  const config = loadConfig(undefined, node.environment);
  await expect(adopt({ config, say: endAt(at) })).rejects.toThrow('cut short');
  const refused = await runCommand(['serve'], alone);
  expect(refused).toMatchObject({ code: 1 });
  expect(refused.stderr).toContain('a core of a cluster, and cluster.nats');
}

/** Another machine begins the log while the command is interrupted: the folder is that of a machine alone again. */
async function beginElsewhere(): Promise<void> {
  const connection = await opened.connect('other');
  await makeStream(connection, { ...logStream('core'), replicas: 1 });
  const log = new NatsLog({ connection, ...logStream('core') });
  await log.append(Uint8Array.of(1));
  const late = await cluster('adopt');
  expect(late).toMatchObject({ code: 1 });
  expect(late.stderr).toContain('which began a cluster meanwhile');
  expect(readNodeFile(node.dataDir)).toBeUndefined();
  expect(await runCommand(['keys', 'list'], alone)).toMatchObject({ code: 0 });
  await deleteStreams(opened.brokers);
}

async function adoptCutShort(): Promise<void> {
  await cut('ready for a cluster');
  await beginElsewhere();
  await cut('ready for a cluster');
  const done = await cluster('adopt');
  expect(done).toMatchObject({ code: 0 });
  expect(plain(done.stderr + done.stdout)).toMatchInlineSnapshot(`
    "The logs of the cluster begin with this data
    Data folder /core-1 now belongs to core-1, the first core of the new cluster cl_….
    Start it as before, with the same settings: \`quietzone serve --role all\`.
    Then start the other nodes, each with an empty data folder: cores copy the data, edges get its links.
    "
  `);
  expect(readNodeFile(node.dataDir)).toMatchObject({ name: 'core-1', run: 1, journals: [2] });
  expect((await cluster('adopt')).stderr).toContain('a node of a cluster already');
}

async function goOn(): Promise<void> {
  receiver.behave({ kind: 'answer' });
  const service = node.start();
  await service.ready();
  expect(service.stdout).not.toContain('API key');
  const api = node.client(key);
  await expect.poll(() => code.counted(api), soon).toBe(code.scans);
  await expect.poll(() => bytesLeft(0), soon).toBe(0);
  await scan(2);
  await expect.poll(() => code.counted(api), soon).toBe(code.scans);
  await expect.poll(() => new Set(idsSent(receiver)).size, { timeout: 60_000 }).toBe(code.scans);
  // On a busy machine its lease lapses for a moment: then it says so, with 503.
  const signIn = { body: { email, password } };
  const signedIn = async (): Promise<number> =>
    (await api.call('POST', '/v1/auth/sign-in', signIn)).status;
  await expect.poll(signedIn, soon).toBe(200);
  const drawn = await api.call('PATCH', `/v1/qr-codes/${code.id}`, { body: { design: { logo } } });
  expect(drawn.status).toBe(200);
  const changed = await api.call('POST', '/v1/qr-codes', { body: { target } });
  expect(changed.status).toBe(201);
  await api.close();
}

async function adoptBackup(): Promise<void> {
  await node.service.terminate();
  expect((await cluster('reseed')).stderr).toContain('the brokers have all that this core has');
  const copy = join(opened.folder, 'copy');
  const { environment } = restored;
  expect(await runCommand(['backup', copy], node.environment)).toMatchObject({ code: 0 });
  expect(await runCommand(['restore', copy], environment)).toMatchObject({ code: 0 });
  const refused = await runCommand(['cluster', 'adopt'], environment);
  expect(plain(refused.stderr)).toMatchInlineSnapshot(`
    "Cannot adopt: the stream CORE of the brokers has entries, expected none: there is a cluster already. To join it, start this machine with an empty data folder. If you no longer need that cluster, delete the streams CORE, DELIVERY, SCANS, and try again
    "
  `);
  await deleteStreams(opened.brokers);
  expect(await runCommand(['cluster', 'adopt'], environment)).toMatchObject({ code: 0 });
  // Another number than that of the core whose data this was.
  const identity = readNodeFile(restored.dataDir);
  expect(identity).toMatchObject({ name: 'core-2', run: 1, journals: [3] });
  await restored.start().ready();
  const api = restored.client(key);
  expect(await code.scan(restored)).toBe(target);
  await expect.poll(() => code.counted(api), soon).toBe(code.scans);
  await expect.poll(() => new Set(idsSent(receiver)).size, { timeout: 60_000 }).toBe(code.scans);
  // What was confirmed is not sent again, but for what was under way at a kill.
  expect(idsSent(receiver).length).toBeLessThan(3 * code.scans);
  await api.close();
}

await withNatsServer('a machine alone that moves into a cluster', (found) => {
  beforeAll(() => begin(found));
  afterAll(async () => {
    await node.kill();
    await restored.kill();
    await receiver.close();
    await opened.close();
  });
  test('a machine alone is killed with scans that are not counted and not delivered', makeAlone);
  test('what is no machine alone, or no core, is refused', isRefused);
  test('its adoption is cut short, and finished', adoptCutShort);
  test('it continues as a core: keys, sign-in, totals, deliveries', goOn);
  test('a backup of it becomes the first core of another cluster', adoptBackup);
});
