/** A node joins: the leader alone answers, and the node asks until it does. */
import { expect, test } from 'vitest';
import { answerJoins, joinCluster } from '../../../src/cluster/nodes/join.ts';
import { encodeJoinRequest, readJoinRequest } from '../../../src/cluster/nodes/join-message.ts';
import { NodeError } from '../../../src/cluster/nodes/node-error.ts';
import type { JoinRequest, Joined, Refusal } from '../../../src/cluster/nodes/registry.ts';
import { packPlain } from '../../../src/store/codec.ts';
import { createLog } from '../../../src/platform/log.ts';
import { BeatsNetwork } from './beats-network.ts';

const request: JoinRequest = {
  name: 'berlin-1',
  id: '',
  role: 'edge',
  threads: 2,
  cluster: '',
  instance: 'n_1',
  starts: ['n_0', 'n_1'],
  host: 'berlin.example',
};
const admission = { cluster: 'cl_1', id: 'n_9', run: 3, journals: [4, 5] };
const cores = ['http://c1', 'http://c2'];

/** A core that leads, and a node that asks it. */
function fixture() {
  const network = new BeatsNetwork();
  const connection = network.connection('x');
  const logged: unknown[] = [];
  const log = createLog('info', { write: (line: string) => void logged.push(JSON.parse(line)) });
  const core = {
    isLeading: true,
    asked: [] as JoinRequest[],
    join: async ({ name, role }: JoinRequest): Promise<Joined | Refusal> => {
      const node = { ...admission, name, role, past: [], joinedAtMs: 1 };
      return { cluster: 'cl_1', node };
    },
  };
  const end = answerJoins({
    connection,
    isLeading: () => core.isLeading,
    join: (asked) => {
      core.asked.push(asked);
      return core.join(asked);
    },
    tokenOf: (name, run) => `${name}.${run}`,
    cores: () => cores,
    log,
  });
  const join = (more: Partial<JoinRequest> = {}, signal = new AbortController().signal) => {
    const asked = { request: { ...request, ...more }, timers: network.timers };
    const joined = joinCluster({ connection, log, ...asked, signal });
    joined.catch(() => undefined);
    return joined;
  };
  const pass = (ms: number): Promise<void> => network.until(network.nowMs + ms);
  return { network, connection, pass, core, end, join, logged };
}

test('an edge gets its numbers, a token and the cores; a core no token', async () => {
  const { network, join } = fixture();
  expect(await join()).toEqual({ ...admission, token: 'berlin-1.3', cores });
  expect(await join({ role: 'all' })).toEqual({ ...admission, token: '', cores });
  expect(network.asked).toEqual(['qz.edge.berlin-1.join', 'qz.join']);
});

test('a node asks each second until a core leads, with a line in the log each 10 s', async () => {
  const { network, connection, pass, core, join, logged } = fixture();
  core.isLeading = false;
  connection.problem = 'Cannot reach NATS';
  const joined = join();
  await pass(12_500);
  expect(network.asked.length).toBe(13);
  expect(logged).toMatchObject([
    { level: 'warn', why: 'Cannot reach NATS', msg: 'waiting to join the cluster' },
    { why: 'Cannot reach NATS' },
  ]);
  core.isLeading = true;
  await pass(1_000);
  expect(await joined).toMatchObject({ id: 'n_9' });
  expect(core.asked).toEqual([request]);
});

test('a refusal ends it with a text, a name in use not before it has lapsed', async () => {
  const { pass, core, join } = fixture();
  core.join = async () => ({ refused: 'Cannot join: another cluster', mayLapse: false });
  await expect(join()).rejects.toThrow(new NodeError('Cannot join: another cluster'));
  core.join = async () => ({ refused: 'Cannot join: in use', mayLapse: true });
  const joined = join();
  await pass(4_500);
  expect(core.asked.length).toBe(6);
  await pass(1_000);
  await expect(joined).rejects.toThrow('Cannot join: in use');
  expect(core.asked.length).toBe(7);
});

test('a join under the subject of another node gets no answer, and neither does what is no request', async () => {
  const { connection, core } = fixture();
  const bytes = (more: Partial<JoinRequest>) => encodeJoinRequest({ ...request, ...more });
  const refused: ReadonlyArray<readonly [string, Uint8Array]> = [
    ['qz.edge.berlin-2.join', bytes({})],
    ['qz.join', bytes({})],
    ['qz.edge.berlin-1.join', bytes({ role: 'all' })],
    ['qz.join', bytes({ role: 'core', name: 'a.b' })],
    ['qz.join', Buffer.from('no request')],
    ['qz.join', bytes({ role: 'core', host: '\u001b[31m' })],
    ['qz.join', packPlain([2, 'a', '', 'core', 0, '', 'n_1', [], ''])],
  ];
  for (const [subject, message] of refused) {
    await expect(connection.request(subject, message)).rejects.toThrow('timeout');
  }
  expect(core.asked).toEqual([]);
  expect(readJoinRequest(encodeJoinRequest(request))).toEqual(request);
});

test('what fails at the leader, or is answered in another version, is asked again; the signal ends it', async () => {
  const { connection, pass, core, end, join, logged } = fixture();
  const admitted = core.join;
  core.join = () => Promise.reject(new Error('not now'));
  const joined = join();
  await pass(500);
  expect(logged).toMatchObject([
    { msg: 'a node was not registered, and asks again', node: 'berlin-1' },
    { why: 'no core that leads answers (timeout)' },
  ]);
  core.join = admitted;
  await pass(1_000);
  expect(await joined).toMatchObject({ run: 3 });

  end();
  connection.answer('qz.join', async () => packPlain([2, 'joined']));
  const stop = new AbortController();
  const stopped = join({ role: 'core' }, stop.signal);
  await pass(500);
  expect(logged.at(-1)).toMatchObject({ why: 'the leader answers in another version' });
  stop.abort(new Error('stopping'));
  await pass(1_000);
  await expect(stopped).rejects.toThrow('stopping');
});
