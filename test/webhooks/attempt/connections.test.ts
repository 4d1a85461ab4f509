/** Connections below the attempts: the last check before a byte is sent, and how many stay open. */
import { expect, it, onTestFinished } from 'vitest';
import { type Connection, Connections } from '../../../src/webhooks/attempt/connections.ts';
import { AddressGuard, Egress, type Target } from '../../../src/webhooks/attempt/egress.ts';
import type { Receiver } from '../../support/fakes/receiver.ts';
import { soon } from '../../support/soon.ts';
import { openTestReceiver, openSender, taskFor } from './sender.ts';
import { ok, openWild, pour } from '../hostile-receivers.ts';

const open = new AddressGuard(['127.0.0.0/8']);
const names = { resolve: (): Promise<readonly string[]> => Promise.resolve(['127.0.0.1']) };
const targetOf = (receiver: Receiver): Target => new Egress(open, names).target(receiver.url());

function openConnections(guard = open, connectionsMax = 100, idleMs = 4_000): Connections {
  const connections = new Connections(guard, connectionsMax, idleMs);
  onTestFinished(() => connections.close());
  return connections;
}

/** Connections to a receiver: `take` gives one. */
async function openReceived(guard?: AddressGuard, idleMs?: number) {
  const receiver = await openTestReceiver();
  const connections = openConnections(guard, 100, idleMs);
  const target = targetOf(receiver);
  const take = (...addresses: readonly string[]): Connection =>
    connections.take(target, addresses.length === 0 ? ['127.0.0.1'] : addresses);
  return { receiver, connections, take };
}

/** POSTs and waits for the end; rejects with what the handler is told. */
function post(connection: Connection): Promise<void> {
  return new Promise((resolve, reject) => {
    const handler = {
      onRequestStart: () => undefined,
      onResponseEnd: () => resolve(),
      onResponseError: (_controller: unknown, error: Error) => reject(error),
    };
    const body = Buffer.from('{}');
    connection.send({ path: '/', method: 'POST', body }, handler);
  });
}

it('closes connections that have been idle', async () => {
  const { receiver, connections, take } = await openReceived(open, 200);
  const connection = take();
  await post(connection);
  connection.release();
  expect([connections.all.size, receiver.open]).toEqual([1, 1]);
  await expect.poll(() => [connections.all.size, receiver.open], soon).toEqual([0, 0]);
});

it('sends nothing to an address that is denied after all', async () => {
  const { receiver, take } = await openReceived(new AddressGuard([]));
  await expect(post(take())).rejects.toMatchObject({ failure: 'blocked_ip' });
  expect(receiver.requests.length).toBe(0);
});

it('closes the longest idle one above the bound, never one that runs', async () => {
  const receivers = await Promise.all([1, 2, 3, 4].map(() => openTestReceiver()));
  const connections = openConnections(open, 2);
  for (const receiver of receivers) {
    const connection = connections.take(targetOf(receiver), ['127.0.0.1']);
    await post(connection);
    connection.release();
    expect(connections.all.size).toBeLessThanOrEqual(2);
  }
  await expect.poll(() => receivers.map((receiver) => receiver.open), soon).toEqual([0, 0, 1, 1]);
  const running = receivers.map((one) => connections.take(targetOf(one), ['127.0.0.1']));
  await Promise.all(running.map(post));
  expect(receivers.map((receiver) => receiver.open)).toEqual([1, 1, 1, 1]);
});

it('shares connections when origin and addresses are the same', async () => {
  const { take } = await openReceived();
  const first = take('127.0.0.1', '127.0.0.2');
  await post(first);
  first.release();
  expect(take('127.0.0.1')).not.toBe(first);
  expect(take('127.0.0.2', '127.0.0.1')).toBe(first);
  expect(take('127.0.0.2', '127.0.0.1')).not.toBe(first);
});

it('replaces a connection by a new one to the same addresses, though another is idle', async () => {
  const { receiver, connections, take } = await openReceived();
  const [first, idle] = [take(), take()];
  for (const connection of [first, idle]) await post(connection);
  idle.release();
  const fresh = connections.replace(first);
  expect([fresh === first, fresh === idle, connections.all.size]).toEqual([false, false, 2]);
  await post(fresh);
  expect([fresh.remoteIp, receiver.connections]).toEqual(['127.0.0.1', 3]);
});

const interim = 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n';
const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n';

/** An attempt is over when its receiver has shown that it pours, not at its deadline. */
it.each([
  ['ends with thousands of interim answers', '', interim, 'protocol', undefined],
  [
    'ends with thousands of headers',
    'HTTP/1.1 200 OK\r\n',
    'X-More: yes\r\n',
    'protocol',
    undefined,
  ],
  ['ends with thousands of trailers', chunked, 'X-Sum: 1\r\n', 'protocol', 200],
  ['takes a few interim answers', interim.repeat(10) + ok, '', undefined, 200],
])('%s', async (_, first, more, failure, status) => {
  const act = (socket: Parameters<typeof pour>[0]): void => {
    socket.write(first);
    if (more !== '') pour(socket, more.repeat(1_000));
  };
  const receiver = await openWild({ when: 'request', act });
  onTestFinished(() => receiver.close());
  const record = await openSender({ timeoutMs: 100_000 }).send(taskFor(receiver.url));
  expect([record.failure, record.status]).toEqual([failure, status]);
});
