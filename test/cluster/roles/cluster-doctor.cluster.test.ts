/** What `quietzone doctor` says of a cluster, in front of real brokers, and of fakes of what no real one may be. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import type { Brokers } from '../../../config/demo/brokers.ts';
import type { NatsServer } from '../../../config/demo/nats-server.ts';
import { logStream } from '../../../src/cluster/nats/log-streams.ts';
import { writeNodeFile } from '../../../src/cluster/nodes/node-file.ts';
import { scanStream, scanSubjects } from '../../../src/cluster/scans/scan-messages.ts';
import { loadConfig } from '../../../src/platform/config/config.ts';
import { diagnoseCluster } from '../../../src/cluster/doctor/cluster-doctor.ts';
import { systemClock } from '../../../src/platform/system-clock.ts';
import { makeStream, openNats, startBrokers, withNatsServer } from '../nats/brokers.ts';
import { FakeNats } from '../nats/fake-nats.ts';
import { temporaryFolder } from '../../store/temporary-management.ts';
import { freePorts, runCommand } from '../../support/process.ts';

const closers: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

interface Asked {
  readonly urls: readonly string[];
  readonly role?: 'edge';
  readonly more?: Readonly<Record<string, string>>;
  readonly aheadMs?: number;
  readonly monitorUrl?: string;
}

function environmentOf({ urls, role, more }: Asked): Record<string, string> {
  return {
    QZ_DATA_DIR: join(temporaryFolder(), 'data'),
    QZ_CLUSTER_NATS: urls.join(','),
    QZ_CLUSTER_NODE_NAME: 'edge-1',
    QZ_CLUSTER_ADVERTISE_URL: 'http://127.0.0.1:8080',
    QZ_CLUSTER_PLAIN_HTTP: 'true',
    ...(role === 'edge'
      ? { QZ_CLUSTER_ROLE: role }
      : { QZ_CLUSTER_SECRET: 'a secret of 32 characters or more' }),
    ...more,
  };
}

/** As the command prints it. */
async function linesOf(asked: Asked): Promise<string[]> {
  const { aheadMs = 0, monitorUrl = 'http://127.0.0.1:1' } = asked;
  const clock = { now: () => systemClock.now() + aheadMs };
  const config = loadConfig(undefined, environmentOf(asked));
  const found = await diagnoseCluster(config, { clock, monitorUrl });
  const marks = { ok: 'ok', warn: 'WARN', bad: 'BAD' };
  return found.map(({ level, text }) => `${marks[level]} ${text}`);
}

/** The monitoring port of a broker alone. */
async function monitor(varz: object): Promise<string> {
  const port = createServer((_request, response) => {
    response.end(JSON.stringify(varz));
  });
  port.listen(0, '127.0.0.1');
  await once(port, 'listening');
  closers.push(() => port[Symbol.asyncDispose]());
  return `http://127.0.0.1:${(port.address() as AddressInfo).port}`;
}

const containing = (...parts: string[]): unknown =>
  expect.arrayContaining(parts.map((part) => expect.stringContaining(part)));

async function fake(version: string, answers: 'never' | 'no responders'): Promise<string> {
  const nats = new FakeNats({ version, answers });
  await nats.listen();
  closers.push(() => nats.close());
  return nats.host;
}

test('a broker that is too old, off or away is named, with what helps', async () => {
  const old = await fake('2.10.9', 'no responders');
  const [line, ...rest] = await linesOf({ urls: [old] });
  expect(line).toMatch(/^BAD Cannot use NATS at .*: it is version 2\.10\.9, expected 2\.10\.27 /);
  expect(rest).toEqual([expect.stringContaining('ok other nodes reach this one at http://127')]);
  const off = await fake('2.10.27', 'no responders');
  expect(await linesOf({ urls: [off] })).toEqual(
    containing(
      `ok broker ${off} answers without TLS, version 2.10.27; 2.12.3 or newer is better`,
      'BAD Cannot use NATS at',
      'JetStream is off for this account',
    ),
  );
  const { api } = await freePorts();
  const away = `127.0.0.1:${api}`;
  const newer = await fake('2.12.3', 'no responders');
  expect(await linesOf({ urls: [newer, off, away] })).toEqual(
    containing(`WARN Cannot reach NATS at ${away}: connection refused; the others answer`),
  );
  expect(await linesOf({ urls: [newer, away] })).toEqual(containing(`BAD Cannot reach NATS`));
  expect(await linesOf({ urls: ['nats://a b'] })).toEqual(containing('BAD Cannot use NATS: a ser'));
});

test('an address that only this machine has is no address for others', async () => {
  const more = { QZ_CLUSTER_ADVERTISE_URL: 'http://localhost:8080' };
  expect(await linesOf({ urls: ['nats://192.0.2.1:1'], more })).toEqual(
    containing('BAD cluster.advertiseUrl is http://localhost:8080, which is this machine for'),
  );
  const none = { QZ_CLUSTER_ADVERTISE_URL: 'http://no-such-host.invalid:8080' };
  expect(await linesOf({ urls: ['127.0.0.1:1'], more: none })).toEqual(
    containing('BAD cluster.advertiseUrl http://no-such-host.invalid:8080 cannot be resolved'),
  );
});

let server: NatsServer;

const open = async (count: 1 | 3, accounts?: Parameters<typeof startBrokers>[0]['accounts']) => {
  const folder = temporaryFolder();
  const brokers = await startBrokers({ count, folder, server, ...(accounts && { accounts }) });
  closers.push(() => brokers.close());
  return brokers;
};
const makeStreams = async (brokers: Brokers, replicas: number): Promise<void> => {
  const connection = await openNats({ servers: brokers.urls, nodeName: 'a' });
  for (const name of ['core', 'delivery'] as const) {
    await makeStream(connection, { ...logStream(name), replicas });
  }
  await makeStream(connection, { stream: scanStream, subject: scanSubjects, replicas });
  await connection.close();
};

async function oneBroker(): Promise<void> {
  const { urls, ...brokers } = await open(1);
  const first = await linesOf({ urls });
  expect(first).toEqual(
    containing(
      'ok JetStream is on for this account',
      'BAD one broker keeps the streams, expected 3',
      'ok stream CORE is not there yet: the first core that starts makes it',
      'ok sync_interval of the brokers cannot be seen from here',
      'ok clocks cannot be compared yet',
    ),
  );
  await makeStreams({ urls, ...brokers }, 1);
  const more = { QZ_CLUSTER_REPLICAS: '1' };
  const meant = await linesOf({ urls, more });
  expect(meant.filter((line) => line.startsWith('BAD'))).toEqual([]);
  expect(meant).toEqual(
    containing(
      'WARN one broker keeps the streams',
      'WARN stream SCANS has 1 copy, expected 3: a broker that is lost takes it along; cluster.replicas is 1',
      'ok the clocks of this machine and of the brokers agree',
    ),
  );
  expect(await linesOf({ urls })).toEqual(
    containing('BAD stream CORE cannot be relied on: it has 1 replicas, expected 3 or more'),
  );
  expect(await linesOf({ urls, more, aheadMs: 5_000 })).toEqual(
    containing('WARN the clock of this machine is 5.0 s ahead of that of the brokers'),
  );
  expect(await linesOf({ urls, more, aheadMs: -40_000 })).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^BAD the clock .* s behind .* nodes refuse each other's requests/),
    ]),
  );
  const varz = (await brokers.all[0]!.ask('varz')) as object;
  const lazy = { ...varz, jetstream: { config: { sync_interval: 120e9 } } };
  expect(await linesOf({ urls, more, monitorUrl: await monitor(varz) })).toEqual(
    containing('ok the broker of this machine syncs each write'),
  );
  expect(await linesOf({ urls, more, monitorUrl: await monitor(lazy) })).toEqual(
    containing('WARN the broker of this machine syncs every 120 s, expected each write'),
  );
  const other = await monitor({ ...lazy, server_id: 'other' });
  expect(await linesOf({ urls, more, monitorUrl: other })).toEqual(
    containing('ok sync_interval of the brokers cannot be seen from here'),
  );
  const { code, stdout } = await runCommand(['doctor'], { ...environmentOf({ urls }) });
  expect(code).toBe(1);
  expect(stdout).toContain('\nok   JetStream is on for this account\n');
  expect(stdout).toContain('\nBAD  one broker keeps the streams, expected 3');
}

async function threeBrokers(): Promise<void> {
  const brokers = await open(3);
  await makeStreams(brokers, 3);
  const { urls, all } = brokers;
  const complaints = async (): Promise<string[]> =>
    (await linesOf({ urls })).filter((line) => !line.startsWith('ok'));
  const patience = { timeout: 30_000 };
  await expect.poll(complaints, patience).toEqual([]);
  expect(await linesOf({ urls })).toEqual(
    containing('ok 3 brokers', 'ok stream CORE has 3 copies, and a majority of them answers'),
  );
  await all[2]!.kill();
  // Where the broker led a stream, another is elected first.
  const away = [
    'Cannot reach NATS at',
    ...['CORE', 'DELIVERY', 'SCANS'].map((name) => `stream ${name}: n3 is`),
  ];
  const warnings = away.map((text) => expect.stringContaining(`WARN ${text}`));
  await expect.poll(complaints, patience).toEqual(warnings);
}

async function users(): Promise<void> {
  const file = fileURLToPath(new URL('../../../config/nats/accounts.conf', import.meta.url));
  const environment = {
    NATS_CORE_PASSWORD: 'core-secret',
    NATS_EDGE_1_PASSWORD: 'edge-secret',
    NATS_OPERATOR_PASSWORD: 'operator-secret',
  };
  const brokers = await open(1, { file, environment });
  const as = (user: string): string[] =>
    brokers.urls.map((url) => url.replace('nats://', `nats://${user}@`));
  const [wrong] = await linesOf({ urls: as('core:wrong') });
  expect(wrong).toMatch(/^BAD Cannot use NATS at 127.*: it refuses the credentials .*credsFile/);
  expect(wrong).not.toContain('wrong');
  await makeStreams({ ...brokers, urls: as('core:core-secret') }, 1);
  expect(await linesOf({ urls: as('edge-1:edge-secret'), role: 'edge' })).toEqual([
    expect.stringMatching(/^ok broker /),
    'ok this edge may publish and read all that it needs',
    'ok this edge learns the addresses of the cores when it joins',
  ]);
  const more = { QZ_CLUSTER_NODE_NAME: 'edge-2', QZ_DATA_DIR: temporaryFolder() };
  const access = { token: 't', cores: ['http://127.0.0.1:1'] };
  const node = { cluster: 'cl_1', node: 'n_1', name: 'edge-2', role: 'edge' } as const;
  writeNodeFile(more.QZ_DATA_DIR, { ...node, journals: [1], run: 1, access });
  const other = await linesOf({ urls: as('edge-1:edge-secret'), role: 'edge', more });
  expect(other).toEqual(
    containing(
      'publish qz.scans.edge-2',
      'publish qz.edge.edge-2.join',
      'subscribe qz.ask.edge-2.>',
      'BAD core http://127.0.0.1:1 does not answer',
    ),
  );
  const manager = await openNats({ servers: as('core:core-secret'), nodeName: 'a' });
  const { manager: streams } = await manager.ready(1_000);
  expect((await streams.streams.info('SCANS')).state.messages).toBe(0);
  await manager.close();
}

await withNatsServer('doctor of a cluster', (found) => {
  server = found;
  test('one broker: too few, unless one copy is meant; a clock that is wrong', oneBroker);
  test('three brokers: all is well; one that is away is a warning', threeBrokers);
  test('users: a wrong password, an edge with its rights, and one without', users);
});
