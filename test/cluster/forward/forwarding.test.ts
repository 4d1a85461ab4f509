/** A standby's port over real sockets, before a leader that is a server of ours, or bytes on a socket. */
import type { IncomingMessage } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import type { ForwardingOptions } from '../../../src/cluster/forward/forwarding.ts';
import type { Handler, KnownHeader, Reply, Request } from '../../../src/platform/uws/request.ts';
import type { HttpServer } from '../../../src/api/server/server.ts';
import { TestClock } from '../../support/fakes/test-clock.ts';
import { Client } from '../../support/client.ts';
import { sendOneByOne, sendRaw } from '../../support/raw-http.ts';
import { soon } from '../../support/soon.ts';
import {
  defects,
  endOf,
  listen,
  proofBy,
  rawGet,
  type Standby,
  standBy,
} from './forwarding-fixture.ts';

afterEach(() => {
  expect(defects.splice(0)).toEqual([]);
});

type Answering = (request: Request) => Promise<Reply> | Reply;

/** A leader, and a standby before it. */
async function cluster(
  answer: Answering,
  options: Partial<ForwardingOptions> = {},
): Promise<Standby & { readonly leader: HttpServer }> {
  const handler: Handler = {
    handle: async (request) => {
      if (request.path === '/v1/qr-codes/bulk') request.limitBody(25_165_824);
      return answer(request);
    },
    refuse: (_, failure) => ({ status: 413, headers: {}, body: failure.message }),
  };
  const forwarded = proofBy(new TestClock());
  const leader = await listen(handler, { forwarded, newRequestId: () => 'req_leader' });
  return { leader, ...(await standBy(`http://127.0.0.1:${leader.port}`, options)) };
}

const plain = { 'Content-Type': 'text/plain' };
const text = (body: string): Reply => ({ status: 200, headers: plain, body });

describe('what is sent on', () => {
  test('method, address, headers and body arrive as they were sent', async () => {
    const sent = {
      host: 'links.example.org:8443',
      origin: 'https://links.example.org',
      'x-csrf-token': 't',
      'idempotency-key': 'k-1',
      authorization: 'Bearer abc',
      'user-agent': 'Größe/1',
    };
    const names: KnownHeader[] = [
      ...(Object.keys(sent) as KnownHeader[]),
      'cookie',
      'x-forwarded-for',
    ];
    const seen: unknown[] = [];
    const { server } = await cluster(async (request) => {
      const { method, path, query, clientAddress } = request;
      const headers = Object.fromEntries(names.map((name) => [name, request.header(name)]));
      const body = Buffer.from(await request.body()).toString();
      seen.push([`${method} ${path}?${query}`, clientAddress, headers, body]);
      return { status: 201, headers: { Location: '/v1/things/1' }, body: 'made' };
    });
    const lines = Object.entries(sent).map(([name, value]) => `${name}: ${value}\r\n`);
    const head =
      `POST /v1/a%20b/%C3%A4?q=%25&q=2 HTTP/1.1\r\n${lines.join('')}` +
      'Cookie: a=1\r\nCookie: b=2\r\nX-Forwarded-For: 9.9.9.9\r\n';
    const sized = await sendRaw(server.port, [`${head}Content-Length: 5\r\n\r\n`, 'hello']);
    const chunked = await sendRaw(server.port, [
      `${head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
    ]);
    expect(sized.text).toMatch(/^HTTP\/1.1 201 Created\r\n/);
    expect(sized.text).toMatch(/^location: \/v1\/things\/1\r$/im);
    expect(sized.text).toMatch(/^content-length: 4\r$/im);
    expect(sized.text).toMatch(/\r\n\r\nmade$/);
    expect(chunked.statuses).toEqual([201]);
    const headers = { ...sent, cookie: 'a=1, b=2', 'x-forwarded-for': undefined };
    const received = ['POST /v1/a%20b/%C3%A4?q=%25&q=2', '127.0.0.1', headers, 'hello'];
    expect(seen).toEqual([received, received]);
  });

  test('each header once: those of the leader, but what is about its connection', async () => {
    const { server } = await cluster(() => ({
      status: 200,
      headers: {
        ...plain,
        'Set-Cookie': 'a=1; HttpOnly',
        'Strict-Transport-Security': 'max-age=1',
      },
      repeated: [['Set-Cookie', 'b=2']],
      body: 'ok',
    }));
    const answer = await sendRaw(server.port, ['GET /v1/a HTTP/1.1\r\nHost: a\r\n\r\n']);
    const lines = answer.text.split('\r\n\r\n')[0]?.toLowerCase().split('\r\n').slice(1) ?? [];
    const names = lines.map((line) => line.split(':')[0] ?? '').filter((name) => name !== 'date');
    expect(names.toSorted().join(' ')).toBe(
      'content-length content-type set-cookie set-cookie x-content-type-options x-request-id',
    );
    expect(answer.text).toMatch(/^set-cookie: a=1; HttpOnly\r$/im);
    expect(answer.text).toMatch(/^set-cookie: b=2\r$/im);
    // The one under which the leader has it in its log.
    expect(answer.text).toMatch(/^x-request-id: req_leader\r$/im);
  });

  test('HEAD has the length of GET, 304 has none, and the connection stays open', async () => {
    const { server } = await cluster(({ path }) =>
      path === '/v1/unchanged' ? { status: 304, headers: { ETag: '"a"' } } : text('x'.repeat(300)),
    );
    const answer = await sendOneByOne(server.port, [
      'HEAD /v1/a HTTP/1.1\r\nHost: a\r\n\r\n',
      'GET /v1/unchanged HTTP/1.1\r\nHost: a\r\n\r\n',
    ]);
    expect(answer.statuses).toEqual([200, 304]);
    expect(answer.text.match(/^content-length: .*$/gim)).toEqual(['Content-Length: 300']);
    expect(answer.text).toMatch(/^etag: "a"\r$/im);
    expect(answer.closed).toBe(false);
  });

  test('a packed body goes through as it is, short or long', async () => {
    const bodies = { '/v1/short': gzipSync('short'), '/v1/long': Buffer.alloc(3_000_000, 'abc') };
    const { url } = await cluster(({ path }) => ({
      status: 200,
      headers: { 'Content-Encoding': 'gzip', 'Content-Type': 'application/json' },
      body: path === '/v1/short' ? bodies['/v1/short'] : bodies['/v1/long'],
    }));
    for (const [path, body] of Object.entries(bodies)) {
      const answer = await rawGet(`${url}${path}`);
      expect(answer.headers['content-encoding']).toBe('gzip');
      expect(Buffer.compare(await bytesOf(answer), body)).toBe(0);
    }
  });

  test('a body of 20 MB goes through, and more than the leader takes is refused by it', async () => {
    const { url } = await cluster(async (request) => {
      try {
        let bytes = 0;
        for await (const piece of request.chunks()) bytes += piece.byteLength;
        return text(String(bytes));
      } catch (error) {
        return { status: 413, headers: plain, body: `of the leader: ${String(error)}` };
      }
    });
    const client = new Client(url);
    const large = await client.call('POST', '/v1/qr-codes/bulk', { raw: Buffer.alloc(20_000_000) });
    expect(large).toMatchObject({ status: 200, text: '20000000' });
    const refused = await client.call('POST', '/small', { raw: Buffer.alloc(70_000) });
    expect(refused.status).toBe(413);
    const first = await client.call('POST', '/small', { raw: Buffer.alloc(1_000_000) });
    expect(first).toMatchObject({ status: 413, text: expect.stringContaining('of the leader') });
    const far = await client.call('POST', '/small', { raw: Buffer.alloc(1_100_000) });
    expect(far).toMatchObject({ status: 413, json: { code: 'body_too_large' } });
  });

  test('only methods that the API has', async () => {
    const { server } = await cluster(({ method }) => text(method));
    const head = 'Host: a\r\nContent-Length: 0\r\n\r\n';
    const statuses = [];
    for (const method of ['PUT', 'CONNECT', 'TRACE', 'OPTIONS']) {
      const answer = await sendRaw(server.port, [`${method} /v1/a HTTP/1.1\r\n${head}`]);
      statuses.push(...answer.statuses);
    }
    expect(statuses).toEqual([200, 405, 405, 405]);
  });
});

async function bytesOf(answer: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of answer) pieces.push(piece);
  return Buffer.concat(pieces);
}

describe('a stream', () => {
  /** Live events: the first at once, the next when a test says so; `ended` = its client has left. */
  function events() {
    const next = Promise.withResolvers<void>();
    const state = { ended: false };
    const body: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]: () => {
        let at = 0;
        return {
          next: async () => {
            at += 1;
            if (at === 2) await next.promise;
            if (at > 2) await new Promise(() => undefined);
            return { done: false, value: Buffer.from(`data: ${at}\n\n`) };
          },
          return: async () => {
            state.ended = true;
            return { done: true, value: undefined };
          },
        };
      },
    };
    const headers = { 'Content-Type': 'text/event-stream' };
    return { state, next, reply: { status: 200, headers, body } };
  }

  test('comes piece by piece, and ends at the leader when its client leaves', async () => {
    const { reply, next, state } = events();
    const { url } = await cluster(() => reply);
    const answer = await rawGet(`${url}/v1/events/stream`);
    let received = '';
    answer.on('data', (piece: Buffer) => (received += piece.toString()));
    answer.on('error', () => undefined);
    await expect.poll(() => received, soon).toBe('data: 1\n\n');
    next.resolve();
    await expect.poll(() => received, soon).toBe('data: 1\n\ndata: 2\n\n');
    expect(state.ended).toBe(false);
    answer.destroy();
    await expect.poll(() => state.ended, soon).toBe(true);
  });

  test('of events ends quietly with its leader, a download is cut', async () => {
    const { reply } = events();
    const csv = { ...reply, headers: { 'Content-Type': 'text/csv' } };
    const { url, leader } = await cluster(({ path }) => (path === '/v1/csv' ? csv : reply), {});
    const ends = [
      endOf(await rawGet(`${url}/v1/events/stream`)),
      endOf(await rawGet(`${url}/v1/csv`)),
    ];
    leader.close();
    expect(await Promise.all(ends)).toEqual(['end', 'cut']);
    expect(defects.splice(0)).toMatchObject([{ code: 'UND_ERR_SOCKET' }]);
  });
});

describe('what a standby answers itself', () => {
  test('health, without a leader', async () => {
    const { url } = await standBy(undefined);
    const client = new Client(url);
    expect(await client.call('GET', '/health/live')).toMatchObject({ status: 200 });
    const ready = await client.call('GET', '/health/ready');
    expect(ready).toMatchObject({ status: 503, json: { reasons: ['it is away'] } });
    const posted = await client.call('POST', '/health/live');
    expect(posted).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
  });

  test('503 not_active while no leader is known or reachable: nothing was sent', async () => {
    for (const leader of [undefined, '', 'http://127.0.0.1:1']) {
      const { url } = await standBy(leader);
      const answer = await new Client(url).call('POST', '/v1/qr-codes', { body: {} });
      expect(answer).toMatchObject({
        status: 503,
        headers: { 'retry-after': '1', 'content-type': 'application/problem+json' },
        json: { code: 'not_active' },
      });
    }
  });

  test('503 outcome_unknown when the leader goes after it got a change, not_active for a read', async () => {
    const leader = createServer((socket) => socket.once('data', () => socket.destroy()));
    await new Promise<void>((resolve) => leader.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void leader.close());
    const { port } = leader.address() as AddressInfo;
    const { url } = await standBy(`http://127.0.0.1:${port}`);
    const client = new Client(url);
    for (const method of ['POST', 'DELETE', 'GET']) {
      const { status, json } = await client.call(method, '/v1/qr-codes');
      expect([status, json['code']]).toEqual([
        503,
        method === 'GET' ? 'not_active' : 'outcome_unknown',
      ]);
      if (method === 'POST') expect(json['detail']).toContain('Idempotency-Key');
    }
  });

  test('the refusal of a body that stops arriving', async () => {
    const { leader } = await cluster(async (request) => text(String(await request.body())));
    const { server } = await standBy(`http://127.0.0.1:${leader.port}`, {}, { bodyTimeoutMs: 100 });
    const answer = await sendRaw(server.port, [
      'POST /v1/a HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf',
    ]);
    expect(answer.statuses).toEqual([408]);
  });
});

describe('a request that was forwarded', () => {
  test('is not forwarded again, whatever the clocks say', async () => {
    const behind = await standBy('http://127.0.0.1:1');
    behind.clock.move(3_600_000);
    const { url } = await standBy(behind.url);
    const answer = await new Client(url).call('GET', '/v1/qr-codes');
    expect(answer).toMatchObject({ status: 503, json: { code: 'not_active' } });
    expect(answer.json['detail']).toContain('is known to lead');
  });

  test('names the client that the standby saw, not the one that a client names', async () => {
    const { url, leader } = await cluster((request) => text(request.clientAddress));
    const proof = `1767225600.${'A'.repeat(43)}`;
    const forged = { 'x-quietzone-client': '203.0.113.9', 'x-quietzone-proof': proof };
    const directly = new Client(`http://127.0.0.1:${leader.port}`);
    for (const client of [new Client(url), directly]) {
      const answer = await client.call('GET', '/v1/a', { headers: forged });
      expect(answer).toMatchObject({ status: 200, text: '127.0.0.1' });
    }
  });
});
