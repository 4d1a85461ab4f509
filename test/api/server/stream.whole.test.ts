/** Streamed answers and streamed bodies over real sockets: whole, held back, cut off; uploads over slow lines. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Handler, Reply, Request } from '../../../src/platform/uws/request.ts';
import type { HttpServer } from '../../../src/api/server/server.ts';
import { Failure } from '../../../src/model/failure.ts';
import { soon } from '../../support/soon.ts';
import { startTestApi, type TestApp } from '../../support/test-app.ts';
import { openServer } from './test-server.ts';

const defects: unknown[] = [];
afterEach(() => void (defects.length = 0));

const pieceBytes = 65_536;
const mebibyte = 1_048_576;

async function serve(
  handle: (request: Request) => Promise<Reply>,
  more: { readonly stallMsMax?: number; readonly bodyTimeoutMs?: number } = {},
): Promise<HttpServer> {
  const refuse = (_request: Request, { code, message }: Failure): Reply => ({
    status: code === 'body_too_large' ? 413 : code === 'request_timeout' ? 408 : 500,
    headers: {},
    body: message,
  });
  const handler: Handler = {
    handle: async (request) => {
      request.limitBody(request.path === '/large' ? 16 * mebibyte : 1_024);
      try {
        return await handle(request);
      } catch (error) {
        if (error instanceof Failure) return refuse(request, error);
        throw error;
      }
    },
    refuse,
  };
  const server = await openServer(handler, {
    bodyTimeoutMs: 20_000,
    inFlightMax: 10,
    onDefect: (error) => defects.push(error),
    ...more,
  });
  onTestFinished(() => server.close());
  return server;
}

async function* pieces(
  source: { pulled: number; isEnded: boolean },
  count: number,
): AsyncGenerator<Uint8Array> {
  try {
    for (; source.pulled < count; source.pulled++) {
      yield new Uint8Array(pieceBytes).fill(source.pulled);
    }
  } finally {
    source.isEnded = true;
  }
}

type Part = string | (() => Promise<string>);

async function* each(...parts: readonly Part[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield Buffer.from(typeof part === 'string' ? part : await part());
}

const streamed = (body: AsyncIterable<Uint8Array>): Reply => ({ status: 200, headers: {}, body });

function ask(server: HttpServer, text: string): Socket {
  const socket = connect(server.port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined);
  socket.write(text);
  return socket;
}

describe('a streamed answer', () => {
  test('arrives whole, again and again', async () => {
    const server = await serve(async () => streamed(pieces({ pulled: 0, isEnded: false }, 20)));
    for (let round = 0; round < 2; round++) {
      const response = await fetch(`http://127.0.0.1:${server.port}/`);
      const bytes = new Uint8Array(await response.arrayBuffer());
      expect(bytes.length).toBe(20 * pieceBytes);
      expect(bytes.at(-1)).toBe(19);
    }
    const head = await fetch(`http://127.0.0.1:${server.port}/`, { method: 'HEAD' });
    expect(await head.text()).toBe('');
  });

  test('is made no faster than the client reads, and ends when it takes nothing for too long', async () => {
    const source = { pulled: 0, isEnded: false };
    const server = await serve(async () => streamed(pieces(source, 4_000)), { stallMsMax: 200 });
    const socket = ask(server, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    socket.pause();
    await vi.waitFor(() => expect(source.isEnded).toBe(true), soon);
    // What the kernel's buffers take, and no more: 250 MB would be 4,000.
    expect(source.pulled).toBeLessThan(400);
    await vi.waitFor(() => expect(server.connections).toBe(0), soon);
    expect(defects).toEqual([]);
  });

  test('a source that waits is ended at once when its client leaves', async () => {
    let asked = 0;
    let returned = 0;
    const waiting: AsyncIterator<Uint8Array> = {
      next: () => {
        asked += 1;
        return new Promise(() => undefined);
      },
      return: async () => {
        returned += 1;
        return { done: true, value: undefined };
      },
    };
    const server = await serve(async () => streamed({ [Symbol.asyncIterator]: () => waiting }));
    const socket = ask(server, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await vi.waitFor(() => expect(asked).toBe(1), soon);
    socket.destroy();
    await vi.waitFor(() => expect(returned).toBe(1), soon);
  });

  test('whose source fails is cut off, not ended', async () => {
    const fails = (): Promise<string> => Promise.reject(new Error('disk'));
    const server = await serve(async () => streamed(each('ten bytes.', fails)));
    const whole = fetch(`http://127.0.0.1:${server.port}/`).then((answer) => answer.arrayBuffer());
    await expect(whole).rejects.toThrow();
    expect(defects).toHaveLength(1);
  });

  test('is whole on a connection that ends with it', async () => {
    const server = await serve(async () => streamed(each('abc')));
    // Answered before its body has come.
    const early = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n';
    const asked = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    for (const request of [early, asked]) {
      let text = '';
      ask(server, request).on('data', (chunk) => (text += String(chunk)));
      const whole = /^HTTP\/1\.1 200 [^]*\r\n\r\n3\r\nabc\r\n0\r\n\r\n$/;
      await vi.waitFor(() => expect(text).toMatch(whole), soon);
      // And nothing after it.
      await pause(20);
      expect(text).toMatch(whole);
      expect(text.match(/^Connection: close\r$/gm)).toHaveLength(1);
    }
  });

  test('does not count against the requests in flight, and a drain waits for it', async () => {
    const rest = Promise.withResolvers<string>();
    const server = await serve(async () => streamed(each('a', () => rest.promise)));
    const response = await fetch(`http://127.0.0.1:${server.port}/`);
    expect(server.inFlight).toBe(0);
    let isDrained = false;
    const drained = server.drain(20_000).then(() => void (isDrained = true));
    await pause(50);
    expect(isDrained).toBe(false);
    rest.resolve('bc');
    expect(await response.text()).toBe('abc');
    await drained;
  });
});

describe('a streamed body', () => {
  test('arrives whole through a slow reader, who holds the client back; the connection goes on', async () => {
    const server = await serve(async (request) => {
      let [bytes, sum] = [0, 0];
      for await (const chunk of request.chunks()) {
        bytes += chunk.length;
        for (const byte of chunk) sum += byte;
        await pause(bytes < 2 * mebibyte ? 50 : 2);
      }
      return { status: 200, headers: {}, body: `${bytes} ${sum}` };
    });
    const agent = new Agent({ connections: 1 });
    const origin = `http://127.0.0.1:${server.port}`;
    for (const mebibytes of [1.5, 3, 8]) {
      const body = new Uint8Array(mebibytes * mebibyte).fill(1);
      const options = { dispatcher: agent, method: 'POST', body } as const;
      const large = await request(`${origin}/large`, options);
      expect(await large.body.text()).toBe(`${body.length} ${body.length}`);
      // Left paused, it is never read, and uWS ends the connection when it has been idle for 10 s.
      const next = await request(`${origin}/`, { dispatcher: agent });
      expect(await next.body.text()).toBe('0 0');
    }
    await agent.close();
  });

  test('read as a whole is not held back below its bound', async () => {
    const server = await serve(async (request) => {
      await pause(100);
      return { status: 200, headers: {}, body: String((await request.body()).length) };
    });
    const body = new Uint8Array(8 * mebibyte);
    const response = await fetch(`http://127.0.0.1:${server.port}/large`, { method: 'POST', body });
    expect(await response.text()).toBe(String(body.length));
  });

  test('above its bound is 413, and one that drips is 408', async () => {
    const read = async (request: Request): Promise<Reply> => {
      for await (const chunk of request.chunks()) void chunk;
      return { status: 200, headers: {}, body: '' };
    };
    const server = await serve(read);
    const body = new Uint8Array(17 * mebibyte);
    const url = `http://127.0.0.1:${server.port}/large`;
    const large = await fetch(url, { method: 'POST', body }).catch(() => undefined);
    expect(large?.status ?? 413).toBe(413);
    const hasty = await serve(read, { bodyTimeoutMs: 300 });
    const socket = ask(hasty, 'POST /large HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n');
    const drip = setInterval(() => socket.write('x'), 20);
    const [answer] = await once(socket, 'data');
    clearInterval(drip);
    expect(String(answer)).toMatch(/^HTTP\/1.1 408/);
  });
});

/** Slower than uWS's own bounds, 16 KB/s and 10 s, which only time can show: all run at once, for 14 s. */

const stepMs = 50;

interface Upload {
  readonly bytesPerSecond: number;
  readonly path?: string;
  readonly body: string;
  readonly headers?: string;
}

let app: TestApp;

/** Sends at this rate until all is sent or the server ends the connection. @returns all that it answered */
async function upload({ bytesPerSecond, path, body, headers = '' }: Upload): Promise<string> {
  const socket = connect(app.port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk) => (text += String(chunk)));
  socket.on('error', () => undefined);
  const closed = once(socket, 'close');
  socket.write(
    `POST ${path ?? '/v1/qr-codes/bulk'} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${app.apiKey}\r\n` +
      `Content-Type: ${path === undefined ? 'application/x-ndjson' : 'application/json'}\r\nContent-Length: ${body.length}\r\n${headers}\r\n`,
  );
  const startMs = performance.now();
  let sent = 0;
  const drip = setInterval(() => {
    const due = Math.floor(((performance.now() - startMs) / 1_000) * bytesPerSecond);
    if (due > sent) socket.write(body.slice(sent, due));
    sent = Math.max(due, sent);
  }, stepMs);
  await Promise.race([closed, answered(socket, () => text)]);
  clearInterval(drip);
  socket.destroy();
  await closed;
  return text;
}

async function answered(socket: NodeJS.EventEmitter, text: () => string): Promise<void> {
  while (!/\r\n\r\n[^]*\}/.test(text())) await once(socket, 'data');
}

/** Rows of 1 KB, for so many seconds at the rate. */
function rows(bytesPerSecond: number, seconds: number): string {
  const count = Math.ceil((bytesPerSecond * seconds) / 1_024);
  const target = 'https://example.com/'.padEnd(1_010, 'x');
  return Array.from({ length: count }, () => `{"target":"${target}"}`).join('\n');
}

describe.concurrent('a body on a slow line', () => {
  beforeAll(async () => {
    app = await startTestApi();
  });
  afterAll(() => app.close());

  test.for([8_192, 12_288, 20_480])('of %d bytes a second gets through', async (bytesPerSecond) => {
    const body = rows(bytesPerSecond, 12);
    const text = await upload({ bytesPerSecond, body });
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(text).toContain(`"created":${body.split('\n').length},"failed":0`);
  });

  test('that is read whole for its Idempotency-Key gets through as slowly', async () => {
    const logo = `{"data":"${'A'.repeat(108_000)}"}`;
    const headers = 'Idempotency-Key: slow\r\n';
    const path = '/v1/logos';
    const text = await upload({ bytesPerSecond: 9_000, path, body: logo, headers });
    // Read, and found to be no picture: any answer to what was sent.
    expect(text).toMatch(/^HTTP\/1\.1 4(?!08)\d\d /);
    expect(text).toContain('"requestId"');
  });

  test.for([1, 0])(
    'of %d bytes a second is told 408, with the numbers of its quota, and closed',
    async (bytesPerSecond) => {
      const body = rows(1_024, 1);
      const text = await upload({ bytesPerSecond, path: '/v1/qr-codes', body });
      expect(text).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
      expect(text).toMatch(/^Content-Type: application\/problem\+json\r$/m);
      expect(text).toMatch(/^Connection: close\r$/m);
      expect(text).toMatch(/^X-RateLimit-Remaining: \d+\r$/m);
      expect(text).toContain('"code":"request_timeout"');
    },
  );

  test.for(['whole', 'streamed'])(
    'that was paused and whose work takes 14 s gets its answer, %s',
    async (kind) => {
      const late = async (): Promise<string> => await pause(14_000, 'last');
      const handle = async (request: Request): Promise<Reply> => {
        request.limitBody(4_000_000);
        await pause(100);
        for await (const chunk of request.chunks()) void chunk;
        if (kind === 'whole') await pause(14_000);
        return {
          status: 200,
          headers: {},
          body: kind === 'whole' ? 'first, last' : each('first, ', late),
        };
      };
      const refuse = (): Reply => ({ status: 500, headers: {} });
      const server = await openServer({ handle, refuse });
      const body = new Uint8Array(3_000_000);
      const answer = await fetch(`http://127.0.0.1:${server.port}/`, { method: 'POST', body });
      expect(await answer.text()).toBe('first, last');
      server.close();
    },
  );
});
