/**
 * The guard where it counts: attempts against a canary, a real receiver on an address that is not
 * allowed, which must never see a connection, whatever a URL, a name server or a receiver says.
 */
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Receiver } from '../../support/fakes/receiver.ts';
import { openReceiver } from '../../support/fakes/receiver.ts';
import { openNameServer } from './name-server.ts';
import { openSender, openTestReceiver, taskFor, type SenderOptions } from './sender.ts';

/** Stands for the public internet: allowed, another address than the canary's. */
const outside = '127.0.0.2';
const allowNetworks = [`${outside}/32`];

let canary: Receiver;
beforeEach(async () => {
  canary = await openReceiver();
});
afterEach(async () => {
  expect(canary.connections).toBe(0);
  await canary.close();
});

/** A name server for the test, and a sender that asks it. */
async function openNamed(answer: (name: string) => readonly string[] | 'silent', more = {}) {
  const server = await openNameServer(answer);
  onTestFinished(() => server.close());
  let nowMs = 0;
  const clock = { now: () => Date.now(), monotonicMs: () => nowMs };
  const options: SenderOptions = { allowNetworks, servers: [server.address], clock, ...more };
  const sender = openSender(options);
  const pass = (ms: number): void => void (nowMs += ms);
  return { sender, server, pass };
}

it.each(['127.0.0.1', '[64:ff9b::7f00:1]', 'any.localhost', '①②⑦.0.0.1'])(
  'the literal address %s is refused without a connection',
  async (host) => {
    const sender = openSender({ allowNetworks });
    for (const scheme of ['http', 'https']) {
      const url = `${scheme}://${host}:${canary.port}/hook`;
      expect(await sender.send(taskFor(url))).toMatchObject({ failure: 'blocked_ip' });
    }
    expect(sender.connections).toBe(0);
  },
);

describe('a name', () => {
  it('that answers a good address and the canary is refused', async () => {
    const { sender } = await openNamed(() => [outside, '127.0.0.1']);
    const url = `http://hook.test:${canary.port}/`;
    expect(await sender.send(taskFor(url))).toMatchObject({ failure: 'blocked_ip' });
    expect(sender.connections).toBe(0);
  });

  it('that is rebound while a connection is kept alive does not use that connection', async () => {
    const receiver = await openTestReceiver(undefined, { host: outside, port: canary.port });
    let address = outside;
    const { sender, pass } = await openNamed(() => [address]);
    const url = `http://hook.test:${canary.port}/`;
    await sender.send(taskFor(url));
    await sender.send(taskFor(url));
    expect(receiver.connections).toBe(1);
    address = '127.0.0.1';
    pass(3_000);
    expect(await sender.send(taskFor(url))).toMatchObject({ failure: 'blocked_ip' });
    address = '127.0.0.3';
    pass(3_000);
    expect(await sender.send(taskFor(url))).toMatchObject({ failure: 'blocked_ip' });
    expect(receiver.requests.length).toBe(2);
  });

  it('with an address that does not answer is reached at its other one', async () => {
    const receiver = await openTestReceiver(undefined, { host: outside });
    const { sender } = await openNamed(() => ['127.0.0.3', outside], {
      allowNetworks: ['127.0.0.2/31'],
    });
    const url = `http://hook.test:${receiver.port}/`;
    expect(await sender.send(taskFor(url))).toMatchObject({ status: 200, remoteIp: outside });
  });
});

describe('a name server that hangs', () => {
  const answer = (name: string): readonly string[] | 'silent' =>
    name.startsWith('hangs') ? 'silent' : [outside];

  it('delays no other name', async () => {
    const receiver = await openTestReceiver(undefined, { host: outside });
    const { sender } = await openNamed(answer);
    const sendTo = (name: string, count: number) =>
      Array.from({ length: count }, (_, index) =>
        sender.send(taskFor(`http://${name}-${index}.test:${receiver.port}/`)),
      );
    const hanging = sendTo('hangs', 100);
    const working = sendTo('works', 20);
    const first = await Promise.race([Promise.all(working), Promise.race(hanging)]);
    expect(first).toHaveLength(20);
    expect(receiver.requests.length).toBe(20);
    // The lookup gives up by itself, sooner when the server has answered others quickly.
    for (const record of await Promise.all(hanging)) {
      expect(record).toMatchObject({ failure: 'dns' });
    }
  });

  it('ends an attempt at its deadline', async () => {
    // Below the 2 s of a lookup's first try.
    const { sender } = await openNamed(answer, { timeoutMs: 400 });
    expect(await sender.send(taskFor('http://hangs.test/'))).toMatchObject({ failure: 'timeout' });
  });
});

it('a redirect to the canary is not followed', async () => {
  const redirect = { kind: 'redirect', to: canary.url(), status: 307 } as const;
  const receiver = await openTestReceiver(redirect, { host: outside });
  const record = await openSender({ allowNetworks: ['127.0.0.0/8'] }).send(taskFor(receiver.url()));
  expect(record).toMatchObject({ status: 307, failure: 'redirect' });
});
