/**
 * `quietzone cluster join` and `reseed`: a core that was stopped gets the data of a core that runs; then the brokers lose
 * everything, one core reseeds, and the other one joins it, as the guide says. Registered where a nats-server is found.
 */
import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadConfig } from '../../../src/platform/config/config.ts';
import { reseed } from '../../../src/cluster/stopped/reseed.ts';
import { withNatsServer } from '../nats/brokers.ts';
import { openReceiver, type Receiver } from '../../support/fakes/receiver.ts';
import { type CommandResult, runCommand } from '../../support/process.ts';
import { soon } from '../../support/soon.ts';
import {
  createCluster,
  deleteStreams,
  idsSent,
  type StartedCluster,
  TestCode,
  type TestNode,
} from './started-cluster.ts';

const target = 'https://example.com/';

/** For a command that is run again: each takes a moment of a core. */
const seldom = { ...soon, interval: 500 };

let cluster: StartedCluster;
let receiver: Receiver;
let first: TestNode;
let second: TestNode;
let key: string;
let code: TestCode;

const command = (node: TestNode, ...args: string[]): Promise<CommandResult> =>
  runCommand(['cluster', ...args], node.environment);

async function scan(node: TestNode): Promise<void> {
  expect(await code.scan(node)).toBe(target);
}

const isCounted = (by: TestNode): Promise<void> => code.isCounted(by, key);

async function startBoth(): Promise<void> {
  await first.start().ready();
  key = first.service.apiKey;
  const api = first.client(key);
  const made = await api.call('POST', '/v1/qr-codes', { body: { target } });
  code = new TestCode(made.json);
  const endpoint = { url: receiver.url('/hook'), events: ['qr.scanned'] };
  expect((await api.call('POST', '/v1/webhooks', { body: endpoint })).status).toBe(201);
  await api.close();
  await scan(first);
  await isCounted(first);
  expect((await command(second, 'join')).stderr).toContain('a start in an empty folder joins');
  await second.start().ready();
  await scan(second);
  await isCounted(first);
}

async function joinStopped(): Promise<void> {
  const { all } = cluster.brokers;
  // This scan is on its disk alone: what waits in the socket of a broker that only hangs would still come.
  for (const broker of all) await broker.kill();
  await scan(second);
  await second.kill();
  for (const broker of all) broker.start();
  const why = async (): Promise<string> => (await command(second, 'join')).stderr;
  await expect.poll(why, seldom).toContain('no core that runs has counted');
  await second.start().ready();
  await isCounted(first);
  await second.service.terminate();
  // Marks come each second.
  await expect.poll(async () => (await command(second, 'join')).code, seldom).toBe(0);
  const names = readdirSync(second.dataDir);
  expect(names.filter((name) => name.startsWith('before-join.set-aside-'))).toHaveLength(1);
  await second.start().ready();
  await isCounted(second);
  await second.service.terminate();
}

async function loseBrokers(): Promise<void> {
  await deleteStreams(cluster.brokers);
  await second.start().ready();
  for (const { service } of [first, second]) {
    await service.waitForLog(/"reason":"diverged"/, 60_000);
  }
  for (const node of [first, second]) await scan(node);
  const doctor = await runCommand(['doctor'], second.environment);
  expect(doctor.stdout).toMatch(/BAD .*the running core reports: the log ends at .*cluster join/);
}

/** The first attempt is cut short when one of two logs has begun. */
async function reseedFirst(): Promise<void> {
  expect((await command(first, 'reseed')).stderr).toContain('is locked by a running service');
  await first.service.terminate();
  const config = loadConfig(undefined, first.environment);
  const say = (text: string): void => {
    if (text.includes('CORE begins')) throw new Error('cut short');
  };
  const unsure = reseed({ config, isMostAdvanced: false, say });
  await expect(unsure).rejects.toThrow(/core-1 yet: .* position \d+\. Compare it with core-2 /);
  const cut = reseed({ config, isMostAdvanced: true, say });
  await expect(cut).rejects.toThrow('cut short');
  const done = await command(first, 'reseed', '--most-advanced');
  expect(done).toMatchObject({ code: 0 });
  const text = (done.stderr + done.stdout).replaceAll(/(position|epoch) \d+/g, '$1 …');
  expect(text).toMatchInlineSnapshot(`
    "core-1 has the data of epoch …, up to position …
    Watching for 5 s whether any other core leads
    The log CORE begins with the data of core-1
    The log DELIVERY begins with the data of core-1
    The logs begin with the data of core-1, in epoch …. Start it: it leads.
    Then, on each of the other cores (core-2): stop it, \`quietzone cluster join\`, and start it
    "
  `);
  await first.start().ready();
  await expect.poll(() => first.role(), soon).toBe('active');
  await scan(first);
}

async function joinAgain(): Promise<void> {
  await second.service.terminate();
  expect(await command(second, 'join')).toMatchObject({ code: 0 });
  await second.start().ready();
  await expect.poll(() => second.role(), soon).toBe('standby');
  await scan(second);
  for (const core of cluster.cores) await isCounted(core);
  await expect.poll(() => new Set(idsSent(receiver)).size, soon).toBe(code.scans);
  await first.service.terminate();
  await expect.poll(() => second.role(), soon).toBe('active');
  await isCounted(second);
}

await withNatsServer('cores that join and reseed by commands', (found) => {
  beforeAll(async () => {
    cluster = await createCluster(found);
    receiver = await openReceiver({ kind: 'answer' });
    [first, second] = cluster.cores;
  });
  afterAll(async () => {
    await cluster.close();
    await receiver.close();
  });
  test('a core with an empty folder counts with the others', startBoth);
  test('a stopped core joins again, and not while it alone has scans', joinStopped);
  test(
    'the brokers lose everything: a core that runs and one that starts redirect, and stop following',
    loseBrokers,
  );
  test('one core reseeds, also after it was cut short', reseedFirst);
  test('the other one joins it, and nothing is lost', joinAgain);
});
