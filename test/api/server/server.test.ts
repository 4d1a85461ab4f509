/**
 * The HTTP layer alone, over raw sockets: framing, bodies, drain. Clients that leave or drip, and too many requests,
 * are tried in test/api/abuse.test.ts. The handler echoes.
 */
import { connect } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Handler, Reply, Request } from '../../../src/platform/uws/request.ts';
import type { HttpServerOptions } from '../../../src/api/server/server.ts';
import { Failure } from '../../../src/model/failure.ts';
import { sendOneByOne, sendRaw } from '../../support/raw-http.ts';
import { soon } from '../../support/soon.ts';
import { openServer } from './test-server.ts';

const statuses: Partial<Record<Failure['code'], number>> = {
  bad_request: 400,
  body_too_large: 413,
  request_timeout: 408,
};

class Echo implements Handler {
  readonly seen: Request[] = [];
  async handle(request: Request): Promise<Reply> {
    this.seen.push(request);
    request.limitBody(1_024);
    try {
      const body = await request.body();
      const text = `${request.method} ${request.path}?${request.query} ${Buffer.from(body).toString()}`;
      return { status: 200, headers: { 'Content-Type': 'text/plain' }, body: text };
    } catch (error) {
      if (error instanceof Failure) return this.refuse(request, error);
      throw error;
    }
  }
  refuse(_request: Request, failure: Failure): Reply {
    return { status: statuses[failure.code] ?? 500, headers: {}, body: failure.message };
  }
}

async function start({ handler = new Echo(), ...more }: Partial<HttpServerOptions> = {}) {
  const server = await openServer(handler, { bodyTimeoutMs: 20_000, inFlightMax: 100, ...more });
  onTestFinished(() => server.close());
  return server;
}

async function startEcho() {
  const handler = new Echo();
  return { server: await start({ handler }), seen: handler.seen };
}

const head = 'Host: a\r\n';
const get = `GET /a HTTP/1.1\r\n${head}\r\n`;

describe('requests', () => {
  test('method, path, query and body arrive; X-Request-Id is sent', async () => {
    const server = await start();
    const answer = await sendRaw(server.port, [
      `POST /x%20y?a=1&b HTTP/1.1\r\n${head}Content-Length: 5\r\n\r\nhello`,
    ]);
    expect(answer.text).toContain('POST /x%20y?a=1&b hello');
    expect(answer.text).toMatch(/^X-Request-Id: req_1\r$/m);
    expect(answer.closed).toBe(false);
  });

  test('no answer may be read as another type, none names the library, however it came about', async () => {
    const server = await start({ bodyTimeoutMs: 50 });
    const requests = {
      200: get,
      400: `POST / HTTP/1.1\r\n${head}Content-Length: 0\r\nContent-Length: 0\r\n\r\n`,
      408: `POST / HTTP/1.1\r\n${head}Content-Length: 9\r\n\r\n`,
      413: `POST / HTTP/1.1\r\n${head}Content-Length: 5000000\r\n\r\n`,
    };
    for (const [status, request] of Object.entries(requests)) {
      const { text } = await sendRaw(server.port, [request]);
      expect(text).toContain(`HTTP/1.1 ${status} `);
      expect(text.match(/^X-Content-Type-Options: nosniff\r$/gm)).toHaveLength(1);
      expect(text).not.toMatch(/uWebSockets/i);
    }
  });

  test.each(['close', 'Close', 'TE, close'])('Connection: %s is said back, once', async (asked) => {
    const server = await start();
    const lines = `${head}Connection: ${asked}\r\n`;
    // What HEAD gets for a list is said, and closed by the client: only uWS can close after it.
    const bare = asked.includes(',') ? [] : [`HEAD /a HTTP/1.1\r\n${lines}\r\n`];
    for (const request of [
      ...bare,
      `GET /a HTTP/1.1\r\n${lines}\r\n`,
      `POST /a HTTP/1.1\r\n${lines}Content-Length: 2\r\n\r\nab`,
      `POST /a HTTP/1.1\r\n${lines}Content-Length: 2\r\nContent-Length: 2\r\n\r\nab`,
    ]) {
      const { text } = await sendRaw(server.port, [request]);
      expect(text).toMatch(/^HTTP\/1\.1 [24]00 /);
      expect(text.match(/^Connection: close\r$/gm)).toHaveLength(1);
    }
    const kept = await sendRaw(server.port, [
      `GET /a HTTP/1.1\r\n${head}Connection: keep-alive\r\n\r\n`,
    ]);
    expect([kept.closed, /^Connection/m.test(kept.text)]).toEqual([false, false]);
  });

  test('a chunked body in pieces is put together', async () => {
    const server = await start();
    const answer = await sendRaw(server.port, [
      `POST / HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n`,
      '3\r\ncde\r',
      '\n0\r\n\r\n',
    ]);
    expect(answer.text).toContain('POST /? abcde');
  });

  test('HEAD gets the headers and the length of GET, and no body', async () => {
    const server = await start();
    const answer = await sendRaw(server.port, [`HEAD /a HTTP/1.1\r\n${head}\r\n`, get]);
    expect(answer.statuses).toEqual([200, 200]);
    expect(answer.text).toMatch(/^HTTP[^]*?\r\nContent-Length: 9\r\n[^]*?\r\n\r\nHTTP/i);
  });
});

describe('framing that could be read in two ways is 400 and close, and never a second request', () => {
  const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: b\r\n\r\n';
  test.each([
    ['CL and TE', 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${smuggled}`],
    ['two CL', 'Content-Length: 0\r\nContent-Length: 40\r\n', smuggled],
    ['equal CL twice', 'Content-Length: 1\r\nContent-Length: 1\r\n', `a${smuggled}`],
    ['TE gzip', 'Transfer-Encoding: gzip\r\n', smuggled],
    ['TE gzip, chunked', 'Transfer-Encoding: gzip, chunked\r\n', `0\r\n\r\n${smuggled}`],
    ['TE twice', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n', `0\r\n\r\n${smuggled}`],
    ['negative CL', 'Content-Length: -1\r\n', smuggled],
    ['signed CL', 'Content-Length: +1\r\n', `a${smuggled}`],
    ['hex CL', 'Content-Length: 0x1\r\n', `a${smuggled}`],
    ['CL list', 'Content-Length: 1, 1\r\n', `a${smuggled}`],
    ['huge CL', 'Content-Length: 99999999999999999999999\r\n', smuggled],
    ['bad chunk size', 'Transfer-Encoding: chunked\r\n', `ZZ\r\nab\r\n0\r\n\r\n${smuggled}`],
    ['two keys', 'Authorization: Bearer a\r\nAuthorization: Bearer b\r\n', smuggled],
  ])('%s', async (_name, headers, body) => {
    const { server, seen } = await startEcho();
    const answer = await sendRaw(server.port, [`POST /a HTTP/1.1\r\n${head}${headers}\r\n${body}`]);
    // Cut off without an answer when the rest came in the same packet, 400 when it came later.
    expect(answer.statuses.filter((status) => status !== 400)).toEqual([]);
    expect(answer.closed).toBe(true);
    expect(seen.filter((request) => request.path === '/smuggled')).toHaveLength(0);
    expect((await sendRaw(server.port, [get])).statuses).toEqual([200]);
  });

  test('HEAD that announces a body is 400 and close', async () => {
    const { server, seen } = await startEcho();
    for (const framing of ['Content-Length: 4', 'Transfer-Encoding: chunked']) {
      const answer = await sendRaw(server.port, [`HEAD /a HTTP/1.1\r\n${head}${framing}\r\n\r\n`]);
      expect([answer.statuses, answer.closed]).toEqual([[400], true]);
    }
    expect(seen).toHaveLength(0);
  });

  // uWS takes a bare line feed for the end of a size, and anything for the end of the data.
  test.each([
    ['as it should be', '2\r\nab\r\n0\r\n\r\n'],
    ['a bare line feed after the size', '2\nab\r\n0\r\n\r\n'],
    ['no line end after the data', '2\r\nabXX0\r\n\r\n'],
    ['a blank before an extension', '2 ;a="b"\r\nab\r\n0\r\n\r\n'],
  ])('nothing follows a chunked body on its connection: %s', async (_name, chunks) => {
    const { server, seen } = await startEcho();
    const request = `POST /a HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n${chunks}`;
    const alone = await sendOneByOne(server.port, [request, smuggled]);
    expect([alone.statuses, alone.closed]).toEqual([[200], true]);
    expect(alone.text).toContain('POST /a? ab');
    expect(alone.text.match(/^Connection: close\r$/gm)).toHaveLength(1);
    const together = await sendRaw(server.port, [request + smuggled]);
    expect([together.statuses, together.closed]).toEqual([[], true]);
    expect(seen.filter(({ path }) => path === '/smuggled')).toEqual([]);
  });

  // uWS reads an extension as a part of the size: the rest never comes, or cannot be read.
  test.each(['2;a=b', '2;x=y', '2;'])(
    'the chunk extension of %s is told 408 or 400',
    async (size) => {
      const server = await start({ bodyTimeoutMs: 300 });
      const answer = await sendRaw(server.port, [
        `POST /a HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n${size}\r\nab\r\n0\r\n\r\n`,
      ]);
      expect(answer.statuses).toEqual([size === '2;x=y' ? 400 : 408]);
      expect(answer.closed).toBe(true);
    },
  );

  test.each([
    ['HTTP/1.0', 'GET / HTTP/1.0\r\nHost: a\r\n\r\n'],
    ['bare line feeds', 'GET / HTTP/1.1\nHost: a\n\n'],
    ['absolute form', 'GET http://evil/ HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a TLS hello', '\u0016\u0003\u0001\u0002\u0000\r\n\r\n'],
    ['oversize headers', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(9_000)}\r\n\r\n`],
    ['a long address', `GET /${'a'.repeat(9_000)} HTTP/1.1\r\nHost: a\r\n\r\n`],
    ['many headers', `GET / HTTP/1.1\r\nHost: a\r\n${'X: a\r\n'.repeat(300)}\r\n`],
    ['a space before the colon', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length : 3\r\n\r\nabc'],
    ['a folded header', 'GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n'],
    ['no host', 'GET / HTTP/1.1\r\n\r\n'],
  ])('%s never reaches the handler', async (_name, text) => {
    const { server, seen } = await startEcho();
    const answer = await sendRaw(server.port, [text], 300);
    expect(answer.statuses.filter((status) => status < 400)).toEqual([]);
    expect(seen).toHaveLength(0);
  });
});

describe('bodies', () => {
  test('a chunked body is 413 while it arrives; an endless one ends', async () => {
    const server = await start();
    const chunk = `400\r\n${'a'.repeat(1_024)}\r\n`;
    const answer = await sendRaw(server.port, [
      `POST / HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n`,
      ...Array(90).fill(chunk),
    ]);
    expect(answer.statuses).toEqual([413]);
    expect(answer.closed).toBe(true);
  });

  test('a body somewhat too large that ends is answered cleanly and the connection lives on', async () => {
    const server = await start();
    const answer = await sendRaw(server.port, [
      `POST / HTTP/1.1\r\n${head}Content-Length: 2000\r\n\r\n${'a'.repeat(2_000)}`,
      get,
    ]);
    expect(answer.statuses).toEqual([413, 200]);
  });
});

test('a client that leaves while the handler works: its answer is dropped, and it can see that', async () => {
  const seen: Request[] = [];
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const handler: Handler = {
    handle: async (request) => {
      seen.push(request);
      await released;
      return { status: 200, headers: {}, body: 'late' };
    },
    refuse: () => ({ status: 500, headers: {} }),
  };
  const server = await start({ handler });
  const socket = connect(server.port, '127.0.0.1');
  socket.write(get);
  await vi.waitFor(() => expect(seen[0]?.aborted).toBe(false), soon);
  socket.destroy();
  await vi.waitFor(() => expect(seen[0]?.aborted).toBe(true), soon);
  release();
  await vi.waitFor(() => expect(server.inFlight).toBe(0), soon);
});

test('a handler that throws, and a header that would split the answer, are 500', async () => {
  const replies: Array<() => Reply> = [
    () => {
      throw new Error('defect');
    },
    () => ({ status: 200, headers: { Location: 'a\r\nSet-Cookie: b' }, body: '' }),
  ];
  const defects: unknown[] = [];
  const server = await start({
    onDefect: (error) => defects.push(error),
    handler: {
      handle: async () => (replies.shift() ?? (() => ({ status: 200, headers: {} })))(),
      refuse: () => ({ status: 400, headers: {} }),
    },
  });
  const answer = await sendRaw(server.port, [get, get]);
  expect(answer.statuses).toEqual([500, 500]);
  expect(answer.text).not.toContain('Set-Cookie');
  expect(defects).toHaveLength(2);
});

describe('listening', () => {
  test('a port that another server of the same kind holds is refused with a clear text', async () => {
    const server = await start();
    await expect(start({ port: server.port })).rejects.toThrow(
      /Cannot listen on 127\.0\.0\.1:\d+: the port is taken/,
    );
  });

  test('drain answers what comes with Connection: close, then no connection is taken', async () => {
    const server = await start();
    const socket = connect(server.port, '127.0.0.1');
    let text = '';
    socket.on('data', (chunk) => (text += String(chunk)));
    await vi.waitFor(() => expect(server.connections).toBe(1), soon);
    const drained = server.drain(20_000);
    socket.write(get);
    await vi.waitFor(() => expect(text).toMatch(/200 OK[\s\S]*Connection: close/), soon);
    await drained;
    expect(server.connections).toBe(0);
    const after = await sendRaw(server.port, [get], 100);
    expect(after.statuses).toEqual([]);
    socket.destroy();
  });
});
