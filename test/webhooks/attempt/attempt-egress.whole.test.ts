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

describe('a literal address', () => {
  const spellings = [
    '127.0.0.1',
    '2130706433',
    '[::ffff:7f00:1]',
    '[64:ff9b::7f00:1]',
    'any.localhost',
    '①②⑦.0.0.1',
  ];
  it.each(spellings)('%s is refused without a connection', async (host) => {
    const sender = openSender({ allowNetworks });
    for (const scheme of ['http', 'https']) {
      const url = `${scheme}://${host}:${canary.port}/hook`;
      expect(await sender.send(taskFor(url))).toMatchObject({ failure: 'blocked_ip' });
    }
    expect(sender.connections).toBe(0);
  });
});

describe('a name', () => {
  it.each([
    ['the canary alone', ['127.0.0.1']],
    ['a good address and the canary', [outside, '127.0.0.1']],
    ['a good address, and the canary mapped', [outside, '::ffff:7f00:1']],
  ])('that answers %s is refused', async (_what, addresses) => {
    const { sender } = await openNamed(() => addresses);
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
  const hangingUrl = (index: number, port: number): string => `http://hangs-${index}.test:${port}/`;

  it('delays no other name', async () => {
    const receiver = await openTestReceiver(undefined, { host: outside });
    const { sender } = await openNamed(answer);
    const hanging = Array.from({ length: 100 }, (_, index) =>
      sender.send(taskFor(hangingUrl(index, receiver.port))),
    );
    const url = (index: number) => `http://works-${index}.test:${receiver.port}/`;
    const working = Array.from({ length: 20 }, (_, index) => sender.send(taskFor(url(index))));
    const first = await Promise.race([Promise.all(working), Promise.race(hanging)]);
    expect(first).toHaveLength(20);
    expect(receiver.requests.length).toBe(20);
    // The lookup gives up by itself, sooner when the server has answered others quickly.
    for (const record of await Promise.all(hanging)) {
      expect(record).toMatchObject({ failure: 'dns' });
    }
  });

  it('ends its attempts at their deadline', async () => {
    // Below the 2 s of a lookup's first try.
    const { sender } = await openNamed(answer, { timeoutMs: 400 });
    const hanging = Array.from({ length: 100 }, (_, index) =>
      sender.send(taskFor(hangingUrl(index, 80))),
    );
    for (const record of await Promise.all(hanging)) {
      expect(record).toMatchObject({ failure: 'timeout' });
    }
  });
});

describe('a redirect', () => {
  it.each([301, 302, 303, 307, 308])(
    'of status %i to the canary is not followed',
    async (status) => {
      const to = canary.url();
      const receiver = await openTestReceiver({ kind: 'redirect', to, status }, { host: outside });
      const sender = openSender({ allowNetworks: ['127.0.0.0/8'] });
      const record = await sender.send(taskFor(receiver.url()));
      expect(record).toMatchObject({ status, failure: 'redirect' });
    },
  );
});
