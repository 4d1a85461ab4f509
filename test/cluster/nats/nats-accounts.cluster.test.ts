/** config/nats as it is shipped: what each user gets at, and what an edge does not. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { expect, it, onTestFinished } from 'vitest';
import { encodeRewind, rewindSubject } from '../../../src/cluster/scans/scan-messages.ts';
import { pause } from '../../support/process.ts';
import { withNatsServer, openNats, temporaryBrokers } from './brokers.ts';
import type { NatsServer } from '../../../config/demo/nats-server.ts';

const shipped = (name: string): string =>
  fileURLToPath(new URL(`../../../config/nats/${name}`, import.meta.url));

const environment = {
  NATS_NAME: 'n1',
  NATS_CORE_PASSWORD: 'core-secret',
  NATS_EDGE_1_PASSWORD: 'edge-secret',
  NATS_OPERATOR_PASSWORD: 'operator-secret',
};
const streams = [
  ['CORE', 'qz.core'],
  ['DELIVERY', 'qz.delivery'],
  ['SCANS', 'qz.scans.>'],
] as const;

await withNatsServer('config/nats', (found) => {
  it('the shipped configuration is valid', async () => {
    const args = ['--config', shipped('nats-server.conf'), '-t'];
    const { stderr } = await promisify(execFile)(found.path, args, { env: environment });
    expect(stderr).toContain('is valid');
  });
  it('cores and an edge work together', () => workTogether(found));
  it('an edge gets at nothing else', () => isKeptOut(found));
});

/** A broker with the shipped accounts, and connections of users to it. */
async function openUsers(server: NatsServer) {
  const accounts = { file: shipped('accounts.conf'), environment };
  const { brokers, close } = await temporaryBrokers(server, accounts);
  onTestFinished(close);
  const [url = ''] = brokers.urls;
  const open = async (user: string, pass: string, inboxPrefix = '_INBOX') => {
    const connection = await connect({ servers: url, user, pass, inboxPrefix });
    onTestFinished(() => connection.close());
    return connection;
  };
  const core = await open('core', environment.NATS_CORE_PASSWORD);
  const edge = await open('edge-1', environment.NATS_EDGE_1_PASSWORD, '_INBOX.edge-1');
  const manager = await jetstreamManager(core);
  for (const [name, subject] of streams) await manager.streams.add({ name, subjects: [subject] });
  return { url, open, core, edge, manager };
}

/** Also through the program's own connection, which takes the permissions of an edge as they are. */
async function workTogether(server: NatsServer): Promise<void> {
  const { url, open, core, edge } = await openUsers(server);
  const log = jetstream(core);
  expect((await log.publish('qz.core', 'entry')).seq).toBe(1);
  const consumer = await log.consumers.get('CORE');
  expect((await consumer.next())?.string()).toBe('entry');

  const ack = await jetstream(edge).publish('qz.scans.edge-1', 'frames');
  expect(ack).toMatchObject({ stream: 'SCANS', seq: 1 });

  // Every core gets the requests of edges, one of them answers, and every core gets their beats.
  const beats: string[] = [];
  const second = await open('core', environment.NATS_CORE_PASSWORD);
  for (const [connection, name] of [
    [core, 'core'],
    [second, 'second'],
  ] as const) {
    connection.subscribe('qz.edge.*.beat', { callback: () => void beats.push(name) });
    await connection.flush();
  }
  second.subscribe('qz.edge.*.join', { callback: () => undefined });
  core.subscribe('qz.edge.*.join', { callback: (_, message) => void message.respond('joined') });
  await Promise.all([core.flush(), second.flush()]);
  const [host] = url.split('//').slice(1);
  const own = await openNats({
    servers: [`nats://edge-1:${environment.NATS_EDGE_1_PASSWORD}@${host}`],
    nodeName: 'edge-1',
  });
  const joined = await own.request('qz.edge.edge-1.join', Buffer.from('1'), 2_000);
  expect(Buffer.from(joined).toString()).toBe('joined');
  own.publish('qz.edge.edge-1.beat', Buffer.from('1'));
  await expect.poll(() => beats.toSorted()).toEqual(['core', 'second']);
  await own.close();

  edge.subscribe('qz.ask.edge-1.rewind', { callback: (_, message) => void message.respond('0') });
  const read: string[] = [];
  edge.subscribe('qz.nodes.*', { callback: (_, message) => void read.push(message.string()) });
  await edge.flush();
  expect((await core.request('qz.ask.edge-1.rewind')).string()).toBe('0');
  core.publish('qz.nodes.core', 'beat');
  await expect.poll(() => read).toEqual(['beat']);
  await asksAllNodes(core, edge);

  const people = await open('operator', environment.NATS_OPERATOR_PASSWORD);
  expect((await people.request('$SYS.REQ.SERVER.PING.JSZ', '{}')).string()).toContain('"n1"');
}

/** For scans that a core misses, without an answer: those of an edge, and of another core. */
async function asksAllNodes(core: NatsConnection, edge: NatsConnection): Promise<void> {
  const asked: string[] = [];
  for (const [node, client] of [
    ['edge-1', edge],
    ['core-2', core],
  ] as const) {
    client.subscribe(rewindSubject(node), { callback: () => void asked.push(node) });
    await client.flush();
    core.publish(rewindSubject(node), encodeRewind({ journal: 1, position: 2 }));
  }
  await expect.poll(() => asked.toSorted()).toEqual(['core-2', 'edge-1']);
}

async function isKeptOut(server: NatsServer): Promise<void> {
  const { url, core, edge, manager } = await openUsers(server);
  await expect(connect({ servers: url })).rejects.toThrow(/[Aa]uthorization/);
  await jetstream(core).publish('qz.core', 'entry');
  const consumer = JSON.stringify({
    stream_name: 'CORE',
    action: 'create',
    config: { name: 'x', ack_policy: 'none', deliver_subject: 'qz.core' },
  });
  const refused: ReadonlyArray<readonly [subject: string, body?: string]> = [
    ['qz.core'],
    ['qz.delivery'],
    ['qz.join'],
    ['qz.nodes.edge-1'],
    ['qz.scans.edge-2'],
    ['qz.scans.7'],
    ['qz.edge.edge-1.applied'],
    ['qz.edge.edge-2.beat'],
    ['qz.edge.edge-2.join'],
    ['qz.ask.edge-2.rewind'],
    ['$JS.API.INFO'],
    ['$JS.API.STREAM.INFO.CORE'],
    ['$JS.API.STREAM.INFO.SCANS'],
    ['$JS.API.STREAM.CREATE.X', JSON.stringify({ name: 'X', subjects: ['x'] })],
    ['$JS.API.STREAM.UPDATE.CORE', JSON.stringify({ name: 'CORE', subjects: ['qz.core'] })],
    ['$JS.API.STREAM.MSG.GET.CORE', '{"seq":1}'],
    ['$JS.API.STREAM.PURGE.CORE'],
    ['$JS.API.STREAM.DELETE.SCANS'],
    ['$JS.API.CONSUMER.CREATE.CORE.x', consumer],
    ['$JS.API.CONSUMER.DELETE.CORE.x'],
    ['$JS.API.CONSUMER.MSG.NEXT.CORE.x', '1'],
    ['$JS.quietzone.API.INFO'],
    ['$JS.quietzone.API.STREAM.INFO.CORE'],
    ['$JS.quietzone.API.STREAM.DELETE.CORE'],
    ['$JS.quietzone.API.CONSUMER.CREATE.CORE.x', consumer],
    ['$SYS.REQ.SERVER.PING'],
  ];
  for (const [subject, body] of refused) {
    await expect(edge.request(subject, body, { timeout: 5000 })).rejects.toThrow(/[Pp]ermission/);
  }
  const unread = ['qz.>', 'qz.scans.*', 'qz.edge.>', 'qz.ask.edge-2.>', '_INBOX.>', '$JS.>'];
  for (const subject of unread) {
    const denied = Promise.withResolvers<unknown>();
    edge.subscribe(subject, { callback: (error) => denied.resolve(error) });
    expect(String(await denied.promise)).toMatch(/[Pp]ermission/);
  }
  await cannotByAnswers(core, edge);
  const left = await Promise.all(streams.map(([name]) => manager.streams.info(name)));
  expect(left.map(({ state }) => state.messages)).toEqual([1, 0, 11]);
}

/**
 * Requests that are allowed, with an answer ordered to where it would do harm: those below emptied CORE on 2.10.27, and
 * deleted streams on both servers, when edges were users of the account that has the streams.
 */
async function cannotByAnswers(core: NatsConnection, edge: NatsConnection): Promise<void> {
  const harmful = [
    'qz.core',
    'qz.scans.edge-2',
    '$JS.API.STREAM.PURGE.CORE',
    '$JS.API.STREAM.DELETE.CORE',
  ];
  core.subscribe('qz.edge.*.join', { callback: (_, message) => void message.respond('') });
  await core.flush();
  for (let i = 0; i < 3; i += 1) edge.publish('qz.scans.edge-1', 'frames');
  for (const reply of harmful) {
    edge.publish('qz.scans.edge-1', 'frames', { reply });
    edge.publish('qz.scans.edge-1', 'frames', { reply });
    edge.publish('qz.edge.edge-1.beat', '', { reply });
    // The answer has no body, as a request to delete.
    edge.publish('qz.edge.edge-1.join', '', { reply });
  }
  await edge.flush();
  await pause(300);
}
