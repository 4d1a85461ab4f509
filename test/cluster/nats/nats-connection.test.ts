/** What NATS must be so that cluster mode uses it: each refusal in a text for the operator, and nothing is stored meanwhile. */
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { beginNats, type NatsConnection } from '../../../src/cluster/nats/nats-connection.ts';
import { NatsLog } from '../../../src/cluster/nats/nats-log.ts';
import { boundsOf, hasMajority } from '../../../src/cluster/nats/nats-stream.ts';
import { StoreReplication } from '../../../src/cluster/log/store-replication.ts';
import { systemTimers } from '../../../src/platform/system-clock.ts';
import { createLog } from '../../../src/platform/log.ts';
import { temporaryManagement } from '../../store/temporary-management.ts';
import { freePorts } from '../../support/process.ts';
import { soon } from '../../support/soon.ts';
import { FakeNats, type FakeNatsOptions } from './fake-nats.ts';

let fake: FakeNats | undefined;
afterEach(() => fake?.close());

async function start(options: FakeNatsOptions): Promise<string> {
  fake = new FakeNats(options);
  await fake.listen();
  return fake.host;
}

function begin(...servers: string[]): NatsConnection {
  const connection = beginNats({ servers, nodeName: 'n1' });
  onTestFinished(() => connection.close());
  return connection;
}

const tooOld = (version: string): string =>
  `it is version ${version}, expected 2.10.27 or newer (several writers pass its compare-and-set)`;
const isOff = 'JetStream is off for this account, expected it on';
const isSilent = 'JetStream does not answer (timeout), expected a majority of its servers up';

test.each([
  ['2.9.10', 'never', tooOld('2.9.10')],
  ['2.10.26', 'never', tooOld('2.10.26')],
  ['2.10.27', 'no responders', isOff],
  ['2.10.27-RC.1', 'no responders', isOff],
  ['3.0.0', 'no responders', isOff],
  ['2.12.3', 'never', isSilent],
  // A user that may not ask about the account can use its streams all the same.
  ['2.12.3', 'forbidden', undefined],
] as const)('version %s that answers %s', async (version, answers, problem) => {
  const host = await start({ version, answers });
  const connection = begin(`nats://core:secret%20p@${host}`);
  const text = problem && `Cannot use NATS at ${host}: ${problem}`;
  await expect.poll(() => connection.problem, { timeout: 5_000 }).toBe(text);
  const said: unknown = JSON.parse(fake!.introduction);
  expect(said).toMatchObject({ name: 'n1', user: 'core', pass: 'secret p' });
});

test('a connection that comes to an old server waits for a better one', async () => {
  const host = await start({ version: '2.12.3', answers: 'forbidden' });
  const connection = begin(host);
  await connection.ready(5_000);
  const log = new NatsLog({ connection, stream: 'CORE', subject: 'qz.core' });
  let lost = 0;
  connection.lost.listen(() => lost++);
  const ended = new Promise<Error>((end) => void log.follow(1, { entry: () => {}, ended: end }));

  Object.assign(fake!.options, { version: '2.10.9', answers: 'no responders' });
  fake!.drop();
  expect((await ended).message).toMatch('Cannot read CORE on: ');
  await expect.poll(() => connection.problem, { timeout: 5_000 }).toContain(tooOld('2.10.9'));
  expect(lost).toBe(1);

  const waiting = log.append(new Uint8Array(1));
  fake!.options.version = '2.12.3';
  await connection.ready(5_000);
  await expect(waiting).rejects.toThrow('Cannot append to CORE: it has no leader now');
  fake!.options.answers = 'never';
  const next = log.append(new Uint8Array(1));
  await connection.close();
  await expect(next).rejects.toThrow('Cannot append to CORE: ');
  await expect(connection.ready(1)).rejects.toThrow('is closed');
  expect(lost).toBe(2);
});

test('a connection that is away says what keeps it from NATS, without credentials', async () => {
  const { api, redirect } = await freePorts();
  const none = begin(`nats://a:b@127.0.0.1:${api}`, `127.0.0.1:${redirect}`);
  expect(none.problem).toBe('NATS was not reached yet');
  const unreached = `Cannot reach NATS at 127.0.0.1:${api}, 127.0.0.1:${redirect}: connection refused`;
  await expect.poll(() => none.problem).toBe(unreached);
  none.publish('a', Buffer.from('dropped'));
  await expect(none.request('a', Buffer.from('b'), 50)).rejects.toThrow(unreached);
  await none.close();
  expect(none.problem).toBeUndefined();
  expect(() => begin('nats://a b')).toThrow('is not an address such as nats://n1:4222');

  const credsFile = '/none.creds';
  const unsigned = beginNats({ servers: ['127.0.0.1:1'], credsFile, nodeName: 'n1' });
  await expect.poll(() => unsigned.problem).toContain('Cannot read the NATS credentials: ENOENT');
  await unsigned.close();
});

const cluster = (leader: string, ...activeMs: number[]) => ({
  leader,
  replicas: activeMs.map((ms, no) => {
    return { name: `n${no}`, current: true, offline: false, lag: 0, active: ms * 1e6 };
  }),
});

test('a leader has a majority while enough replicas answered it in the last 3 s', () => {
  const { replicas } = cluster('n1', 10, 10);
  const offline = replicas.map((replica) => ({ ...replica, offline: true }));
  const yes = [undefined, { leader: 'n1' }, cluster('n1', 10, 1_000), cluster('n1', 10, 60_000)];
  const no = [
    cluster('', 10, 10),
    cluster('n1', 3_100, 3_100),
    { leader: 'n1', replicas: offline },
  ];
  expect([...yes, cluster('n1', 10, 60_000, 60_000, 900)].filter(hasMajority)).toHaveLength(5);
  expect([...no, cluster('n1', 10, 60_000, 60_000, 60_000)].filter(hasMajority)).toEqual([]);
});

test('bounds are those of a leader with a majority; with no entry left the first is the next one', () => {
  const state = { messages: 2, first_seq: 7, last_seq: 8 };
  const seen = { config: { name: 'CORE' }, state, cluster: cluster('n1', 10, 10) };
  expect(boundsOf(seen)).toEqual({ first: 7, last: 8 });
  expect(boundsOf({ ...seen, state: { ...state, messages: 0 } })).toEqual({ first: 9, last: 8 });
  const cut = { ...seen, cluster: cluster('n1', 3_100, 3_100) };
  expect(() => boundsOf(cut)).toThrow('the leader of CORE has lost the majority');
});

test('while no broker is there a core follows nothing, refuses changes, and says why', async () => {
  const { api } = await freePorts();
  const { store } = temporaryManagement();
  const connection = begin(`nats://127.0.0.1:${api}`);
  const changes: string[] = [];
  const replication = new StoreReplication({
    environment: store.environment,
    connection,
    name: 'core',
    replicas: 1,
    self: { owner: 'core-1.n_1', url: 'http://core-1', version: '1' },
    timers: systemTimers,
    random: () => 0.5,
    log: createLog('silent'),
    onChanged: () => void changes.push(replication.status.state),
  });
  const change = (): Promise<unknown> => store.environment.transaction(() => store.next('code'));
  await expect(change()).rejects.toMatchObject({ code: 'not_active' });
  replication.start();
  await expect.poll(() => replication.problem, soon).toMatch(/Cannot reach|reached/);
  await expect(change()).rejects.toMatchObject({ code: 'not_active' });
  expect(replication.isHeld).toBe(false);
  expect(replication.status.leader).toBeUndefined();
  replication.close();
  await connection.close();
  await expect(change()).rejects.toMatchObject({ code: 'not_active' });
  expect([store.last('code'), changes]).toEqual([0, []]);
});
