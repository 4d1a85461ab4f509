/** What is fetched again and again is compressed, and not sent again while it is the same. */
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Client } from '../../support/client.ts';
import { startTestApi, type TestApp } from '../../support/test-app.ts';

let service: TestApp;

beforeAll(async () => {
  service = await startTestApi();
  const client = new Client(service.url, service.apiKey);
  for (let index = 0; index < 5; index += 1) {
    await client.call('POST', '/v1/qr-codes', { body: { target: 'https://example.com/' } });
  }
  await client.close();
});
afterAll(() => service.close());

async function get(path: string, headers: Readonly<Record<string, string>>) {
  const authorization = `Bearer ${service.apiKey}`;
  const answer = await request(`${service.url}${path}`, { headers: { authorization, ...headers } });
  return { ...answer, bytes: Buffer.from(await answer.body.arrayBuffer()) };
}

test.each(['/v1/openapi.json', '/docs', '/docs/images', '/v1/qr-codes'])(
  '%s has an ETag, and is compressed for those who ask',
  async (path) => {
    const plain = await get(path, {});
    const { etag = '' } = plain.headers;
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(etag).toMatch(/^W\/"[\w-]{22}"$/);
    const brotli = await get(path, { 'accept-encoding': 'gzip, deflate, br' });
    expect(brotli.headers).toMatchObject({ 'content-encoding': 'br', etag });
    expect(brotli.headers.vary).toMatch(/Accept-Encoding$/);
    expect(brotliDecompressSync(brotli.bytes).equals(plain.bytes)).toBe(true);
    const gzip = await get(path, { 'accept-encoding': 'br;q=0, gzip' });
    expect(gzip.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(gzip.bytes).equals(plain.bytes)).toBe(true);
    const same = await get(path, { 'if-none-match': String(etag) });
    expect([same.statusCode, same.bytes.length, same.headers.etag]).toEqual([304, 0, etag]);
  },
);

test('a short list, one thing and a refusal stay as they are', async () => {
  for (const path of ['/v1/campaigns', '/v1/workspace', '/v1/qr-codes?limit=x']) {
    const { headers } = await get(path, { 'accept-encoding': 'br' });
    expect([path, headers['content-encoding'], headers.etag]).toEqual([path, undefined, undefined]);
  }
});

test('the document says that a list may be the one that the client has', async () => {
  const { paths } = JSON.parse(String((await get('/v1/openapi.json', {})).bytes));
  expect(Object.keys(paths['/qr-codes'].get.responses)).toContain('304');
});
