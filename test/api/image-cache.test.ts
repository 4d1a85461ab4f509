/** Images sent from memory: the same answers, and never an old one. */
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ImageService } from '../../src/images/image-service.ts';
import { localTasks } from '../../src/images/tasks.ts';
import { readPng } from '../images/read-image.ts';
import { Client, type Json, word } from '../support/client.ts';
import { sendRaw } from '../support/raw-http.ts';
import { startTestApi, type TestApp } from '../support/test-app.ts';

let service: TestApp;
let client: Client;

const images = new ImageService({
  tasks: localTasks,
  logoOf: () => {
    throw new Error('There is no logo');
  },
});
const drawnSoFar = (): number => images.drawn;

beforeAll(async () => {
  service = await startTestApi({ images });
  client = new Client(service.url, service.apiKey);
});
afterAll(async () => {
  await client.close();
  await service.close();
});

async function make(): Promise<Json> {
  const body = { target: 'https://example.com/menu' };
  return (await client.call('POST', '/v1/qr-codes', { body })).json;
}

async function bytesOf(path: string, headers: Record<string, string> = {}) {
  const answer = await request(`${service.url}${path}`, { headers });
  const body = Buffer.from(await answer.body.arrayBuffer());
  return { status: answer.statusCode, headers: answer.headers, body };
}

/** Images sent from memory so far. */
async function sent(): Promise<number> {
  const text = await service.metrics.text();
  return Number(/^quietzone_ready_images_total (\d+)$/m.exec(text)?.[1]);
}

describe('an image that is requested again', () => {
  test('is sent from memory with the same answer, and is 410 as soon as its code is deleted', async () => {
    const code = await make();
    const { pathname, search } = new URL(word(code.imageUrl));
    const first = await bytesOf(pathname + search);
    // A commit by a timer in between sends one the long way.
    for (let round = 0; round < 20 || (round < 500 && (await sent()) < 10); round += 1) {
      const again = await bytesOf(pathname + search);
      expect(again.body.equals(first.body)).toBe(true);
      for (const name of ['etag', 'cache-control', 'content-type', 'x-content-type-options']) {
        expect(again.headers[name]).toBe(first.headers[name]);
      }
      expect(again.headers['access-control-allow-origin']).toBe('*');
      expect(again.headers['content-length']).toBe(`${first.body.length}`);
    }
    expect(await sent()).toBeGreaterThanOrEqual(10);
    const known = await bytesOf(pathname + search, { 'if-none-match': word(first.headers.etag) });
    expect(known.status).toBe(304);
    // A parameter without a meaning, or another order of the others, is the same image from memory.
    const drawn = drawnSoFar();
    for (const query of [
      `${search}&x=1`,
      `?x=1&${search.slice(1)}`,
      `?download=0&${search.slice(1)}`,
    ]) {
      expect((await bytesOf(pathname + query)).headers.etag).toBe(first.headers.etag);
    }
    expect(drawnSoFar()).toBe(drawn);
    const head = await request(`${service.url}${pathname}`, { method: 'HEAD' });
    expect([head.statusCode, head.headers['content-length']]).toEqual([
      200,
      `${first.body.length}`,
    ]);
    await client.call('DELETE', `/v1/qr-codes/${word(code.id)}`);
    expect((await bytesOf(pathname + search)).status).toBe(410);
  });

  test('never shows an old design after the change is answered, under load', async () => {
    const code = await make();
    const { pathname } = new URL(word(code.imageUrl));
    const state = { isLoading: true };
    const load = Promise.all(
      Array.from({ length: 4 }, async () => {
        while (state.isLoading) await bytesOf(pathname);
      }),
    );
    let last = '';
    try {
      for (let shade = 0; shade < 5; shade += 1) {
        const body = { design: { foreground: `#00${(3 * shade).toString(16)}` } };
        await client.call('PATCH', `/v1/qr-codes/${word(code.id)}`, { body });
        const { etag } = (await bytesOf(pathname)).headers;
        expect(etag).not.toBe(last);
        last = word(etag);
        const { rgba } = readPng((await bytesOf(pathname)).body);
        expect(rgba.includes(51 * shade)).toBe(true);
      }
    } finally {
      state.isLoading = false;
      await load;
    }
    expect(last).not.toBe('');
  });

  test('a request with a body, or an ambiguous one, is read as everywhere', async () => {
    const code = await make();
    const { pathname } = new URL(word(code.imageUrl));
    await bytesOf(pathname);
    const twice = `Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc`;
    const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n';
    const head = `GET ${pathname} HTTP/1.1\r\nHost: a\r\n`;
    expect((await sendRaw(service.port, [head + twice + smuggled])).statuses).toEqual([400]);
    const body = await sendRaw(service.port, [`${head}Content-Length: 3\r\n\r\nabc${head}\r\n`]);
    expect(body.statuses).toEqual([200, 200]);
    const pipelined = await sendRaw(service.port, [`${head}\r\n`.repeat(3)]);
    expect(pipelined.statuses).toEqual([200, 200, 200]);
  });
});
