/** One attempt against a real receiver that behaves well, badly, or not at all. */
import { describe, expect, it, afterEach, beforeEach, onTestFinished } from 'vitest';
import type { AttemptRecord } from '../../../src/model/webhook.ts';
import {
  type Behaviour,
  healthy,
  type Receiver,
  openReceiver,
} from '../../support/fakes/receiver.ts';
import { soon } from '../../support/soon.ts';
import {
  openSender,
  openTestReceiver,
  taskFor,
  openNameServer,
  type SenderOptions,
} from './sender.ts';

const answer = (status: number, headers = {}): Behaviour => ({ kind: 'answer', status, headers });

/** One attempt against a receiver that behaves so. */
async function attempt(behaviour: Behaviour, timeoutMs?: number): Promise<AttemptRecord> {
  const receiver = await openTestReceiver(behaviour);
  const sender = openSender(timeoutMs === undefined ? {} : { timeoutMs });
  return await sender.send(taskFor(receiver.url()));
}

it('a delivery arrives to the byte, with the headers of the contract', async () => {
  const receiver = await openTestReceiver();
  const bodies = ['{"a":"Łódź 🏁\\u0000"}', ' {}\r\n', `"${'x'.repeat(65_000)}"`];
  for (const text of bodies) {
    const task = taskFor(receiver.url('/hook/ü?a=b&c=%20'), {
      body: text,
      attempt: 3,
      kind: 'qr.scanned',
    });
    const record = await openSender().send(task);
    expect(record).toMatchObject({ status: 200, remoteIp: '127.0.0.1', answer: 'ok' });
    expect(record.failure).toBeUndefined();
    const request = receiver.requests.at(-1);
    expect(request?.method).toBe('POST');
    expect(request?.path).toBe('/hook/%C3%BC?a=b&c=%20');
    expect(request?.body.equals(Buffer.from(text))).toBe(true);
    expect(request?.headers).toMatchObject({
      host: `127.0.0.1:${receiver.port}`,
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(text)),
      'user-agent': 'Quietzone-Webhooks/1 (+https://example.com/docs/webhooks)',
      'accept-encoding': 'identity',
      'x-service-event': 'qr.scanned',
      'x-service-delivery': task.deliveryId,
      'x-service-attempt': '3',
      'webhook-id': task.eventId,
    });
  }
});

describe('the record', () => {
  it.each([
    [200, undefined],
    [299, undefined],
    [300, 'redirect'],
    [399, 'redirect'],
    [410, 'status'],
    [599, 'status'],
  ])('of status %i has the failure %s', async (status, failure) => {
    const record = await attempt(answer(status));
    expect([record.status, record.failure]).toEqual([status, failure]);
  });

  it.each([
    ['a reset', { kind: 'reset' }, 'reset'],
    ['an end without an answer', { kind: 'raw', bytes: '' }, 'reset'],
    [
      'half an answer',
      { kind: 'raw', bytes: 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab' },
      'reset',
    ],
    ['no HTTP', { kind: 'raw', bytes: 'SSH-2.0-OpenSSH_9.2\r\n' }, 'protocol'],
    [
      'an upgrade',
      { kind: 'raw', bytes: 'HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n' },
      'protocol',
    ],
    [
      '100 KB of headers',
      { kind: 'raw', bytes: `HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(17_000)}\r\n` },
      'protocol',
    ],
    ['a status of nine', { kind: 'raw', bytes: 'HTTP/1.1 9 OK\r\n\r\n' }, 'protocol'],
    [
      'two lengths',
      {
        kind: 'raw',
        bytes: 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok',
      },
      'protocol',
    ],
  ] as const)('of %s is a failure', async (_what, behaviour, failure) => {
    expect(await attempt(behaviour)).toMatchObject({ failure });
  });

  it.each([
    ['HTTP/1.0', 'HTTP/1.0 200 OK\r\n\r\nok'],
    [
      'trailers',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n2\r\nok\r\n0\r\nX: 1\r\n\r\n',
    ],
  ])('of %s is a success', async (_what, bytes) => {
    const { status, failure } = await attempt({ kind: 'raw', bytes });
    expect([status, failure]).toEqual([200, undefined]);
  });

  it('of a closed port is a failure: connect', async () => {
    const receiver = await openTestReceiver();
    const url = receiver.url();
    await receiver.close();
    const record = await openSender().send(taskFor(url));
    expect(record).toMatchObject({ failure: 'connect', remoteIp: '127.0.0.1' });
    expect(record.status).toBeUndefined();
  });
});

describe('the answer', () => {
  const text = async (body: string | Uint8Array): Promise<string | undefined> =>
    (await attempt({ kind: 'answer', status: 500, body })).answer;

  it('is kept up to 4 KB', async () => {
    expect(await text('x'.repeat(4_096))).toBe('x'.repeat(4_096));
    expect(await text(`${'x'.repeat(4_096)}y`)).toBe('x'.repeat(4_096));
    expect(await text('')).toBeUndefined();
  });

  it('is text whatever it was: no half character, nothing that JSON cannot carry', async () => {
    expect(await text(`${'x'.repeat(4_095)}ü`)).toBe('x'.repeat(4_095));
    expect(await text(Buffer.from([0x61, 0xff, 0x62, 0, 0xc3]))).toBe('a\ufffdb\u0000\ufffd');
    const swollen = await text(Buffer.alloc(4_096, 0xff));
    expect(Buffer.byteLength(swollen ?? '')).toBeLessThanOrEqual(4_096);
    expect(swollen).toMatch(/^\ufffd{1365}$/);
  });

  it.each([
    ['0', 0],
    ['7', 7_000],
    ['9'.repeat(40), 365 * 86_400_000],
    ['Wed, 21 Oct 2015 07:28:00 GMT', 0],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 0],
    ['Fri, 31 Dec 9999 23:59:59 GMT', 365 * 86_400_000],
    ['1.5', undefined],
    ['-86400', undefined],
    ['soon', undefined],
    ['2015', 2_015_000],
    ['', undefined],
  ])('with Retry-After %j waits %s', async (value, retryAfterMs) => {
    const record = await attempt(answer(503, { 'retry-after': value }));
    expect(record.retryAfterMs).toBe(retryAfterMs);
  });

  it('with a date in Retry-After waits until then', async () => {
    const date = new Date(Date.now() + 60_000).toUTCString();
    const record = await attempt(answer(429, { 'retry-after': date }));
    expect(record.retryAfterMs).toBeGreaterThan(40_000);
    expect(record.retryAfterMs).toBeLessThanOrEqual(60_000);
  });
});

describe('a receiver that abuses', () => {
  const usualMs = 400;
  /** Where a status must have come before. */
  const longMs = 3_000;
  it.each([
    ['hangs', { kind: 'hang' }, undefined],
    ['drips', { kind: 'drip', everyMs: 20 }, 200],
    ['stops in its headers', { kind: 'begin', bytes: 'HTTP/1.1 200 OK\r\na: b\r\n' }, undefined],
    ['stops in its answer', { kind: 'begin', bytes: 'HTTP/1.1 200 OK\r\n\r\nab' }, 200],
  ] as const)('and %s ends at the deadline', async (_what, behaviour, status) => {
    const receiver = await openTestReceiver(behaviour);
    const timeoutMs = status === undefined ? usualMs : longMs;
    const sender = openSender({ timeoutMs });
    const record = await sender.send(taskFor(receiver.url()));
    expect(record).toMatchObject({ failure: 'timeout', ...(status && { status }) });
    expect(record.durationMs).toBeGreaterThan(timeoutMs - 5);
    expect(sender.connections).toBe(0);
    await expect.poll(() => receiver.open, soon).toBe(0);
  });

  it.each([200, 500])('and answers %i without end is cut off at 16 KB', async (status) => {
    const receiver = await openTestReceiver({ kind: 'flood', status });
    const sender = openSender({ timeoutMs: 30_000 });
    const record = await sender.send(taskFor(receiver.url()));
    expect([record.status, record.failure]).toEqual([
      status,
      status === 200 ? undefined : 'status',
    ]);
    expect(record.answer).toBe('x'.repeat(4_096));
    await expect.poll(() => receiver.open, soon).toBe(0);
  });
});

it.each([
  ['redirects', { kind: 'redirect', to: 'http://127.0.0.1:9/' }, { status: 302 }],
  ['pours', { kind: 'flood', status: 200 }, { status: 200 }],
  ['drips', { kind: 'drip', everyMs: 50 }, { status: 200 }],
  ['resets', { kind: 'reset' }, { failure: 'reset' }],
] as const)(
  'a check of a target that %s ends with its status',
  async (_what, behaviour, expected) => {
    const receiver = await openTestReceiver(behaviour);
    const request = { method: 'GET', url: receiver.url('/') } as const;
    expect(await openSender().check(request)).toEqual(expected);
  },
);

it('a check of a target where nobody listens fails by its connection', async () => {
  const receiver = await openTestReceiver();
  const url = receiver.url('/');
  await receiver.close();
  expect(await openSender().check({ method: 'GET', url })).toEqual({ failure: 'connect' });
});

it('a check of a target reaches no denied address', async () => {
  const request = { method: 'HEAD', url: 'http://localhost:9/' } as const;
  const sender = openSender({ allowNetworks: [] });
  expect(await sender.check(request)).toEqual({ failure: 'blocked_ip' });
});

describe('connections', () => {
  it('that end just as they are used again cost no attempt', async () => {
    const receiver = await openTestReceiver();
    const sender = openSender();
    await sender.send(taskFor(receiver.url()));
    receiver.behave((_request, index) => (index === 1 ? { kind: 'reset' } : healthy));
    expect(await sender.send(taskFor(receiver.url()))).toMatchObject({ status: 200 });
    expect(receiver.requests.length).toBe(3);
    const [, dropped, again] = receiver.requests;
    expect(again?.rawHeaders).toEqual(dropped?.rawHeaders);
  });

  it('that carry an unexpected second answer are not used again', async () => {
    const two =
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n';
    const receiver = await openTestReceiver({ kind: 'begin', bytes: two });
    const sender = openSender();
    expect(await sender.send(taskFor(receiver.url()))).toMatchObject({ status: 200, answer: 'ok' });
    receiver.behave(healthy);
    expect(await sender.send(taskFor(receiver.url()))).toMatchObject({ status: 200 });
    expect([receiver.requests.length, receiver.connections]).toEqual([2, 2]);
  });

  it('that always end so fail their attempt after the second', async () => {
    const receiver = await openTestReceiver();
    const sender = openSender();
    await sender.send(taskFor(receiver.url()));
    receiver.behave({ kind: 'reset' });
    expect(await sender.send(taskFor(receiver.url()))).toMatchObject({ failure: 'reset' });
    expect(receiver.requests.length).toBe(3);
    expect(await sender.send(taskFor(receiver.url()))).toMatchObject({ failure: 'reset' });
    expect(receiver.requests.length).toBe(4);
  });

  it('are all closed after close, and what still ran has failed', async () => {
    const receiver = await openTestReceiver({ kind: 'hang' });
    const sender = openSender();
    const running = sender.send(taskFor(receiver.url()));
    await receiver.arrived(1);
    sender.close();
    expect((await running).failure).toBe('unknown');
    await expect.poll(() => receiver.open, soon).toBe(0);
  });
});

/**
 * The guard where it counts: attempts against a canary, a real receiver on an address that is not
 * allowed, which must never see a connection, whatever a URL, a name server or a receiver says.
 */
describe('the guard', () => {
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
    const answer = (name: string) => (name.startsWith('hangs') ? 'silent' : [outside]);

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
      expect(await sender.send(taskFor('http://hangs.test/'))).toMatchObject({
        failure: 'timeout',
      });
    });
  });

  it('a redirect to the canary is not followed', async () => {
    const redirect = { kind: 'redirect', to: canary.url(), status: 307 } as const;
    const receiver = await openTestReceiver(redirect, { host: outside });
    const record = await openSender({ allowNetworks: ['127.0.0.0/8'] }).send(
      taskFor(receiver.url()),
    );
    expect(record).toMatchObject({ status: 307, failure: 'redirect' });
  });
});
