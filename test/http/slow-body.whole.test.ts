/**
 * Uploads over slow lines, through the whole API. Slower than uWS's own bounds, 16 KB/s and 10 s, which only time
 * can show: all run at once, for 14 s.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, afterAll, describe, expect, test } from 'vitest';
import { ClientAddresses } from '../../src/http/client-address.ts';
import type { Reply, Request } from '../../src/http/request.ts';
import { HttpServer } from '../../src/http/server.ts';
import { startTestApi, type TestApp } from '../support/test-app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApi();
});
afterAll(() => app.close());

const stepMs = 50;

interface Upload {
  readonly bytesPerSecond: number;
  readonly path?: string;
  readonly body: string;
  readonly headers?: string;
}

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

describe.concurrent('a body', () => {
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
      async function* stream(): AsyncGenerator<Uint8Array> {
        yield Buffer.from('first, ');
        await pause(14_000);
        yield Buffer.from('last');
      }
      const server = await serve(async (request) => {
        await pause(100);
        for await (const chunk of request.chunks()) void chunk;
        if (kind === 'whole') await pause(14_000);
        return { status: 200, headers: {}, body: kind === 'whole' ? 'first, last' : stream() };
      });
      const body = new Uint8Array(3_000_000);
      const answer = await fetch(`http://127.0.0.1:${server.port}/`, { method: 'POST', body });
      expect(await answer.text()).toBe('first, last');
      server.close();
    },
  );
});

async function serve(handle: (request: Request) => Promise<Reply>): Promise<HttpServer> {
  return await HttpServer.open({
    host: '127.0.0.1',
    port: 0,
    addresses: new ClientAddresses([]),
    newRequestId: () => 'req_1',
    handler: {
      handle: async (request) => {
        request.limitBody(4_000_000);
        return await handle(request);
      },
      refuse: () => ({ status: 500, headers: {} }),
    },
    onDefect: (error) => expect.fail(String(error)),
  });
}
