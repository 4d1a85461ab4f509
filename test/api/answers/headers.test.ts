/** What every answer has, whatever was asked: how it is to be read, what of the query was not understood, how it is sent. */
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { request } from 'undici';
import { withUnknownParameters } from '../../../src/api/unknown-parameters.ts';
import { anyText } from '../../model/any-text.ts';
import { Client, type Json, word } from '../../support/client.ts';
import { sendRaw } from '../../support/raw-http.ts';
import { useTestApi } from '../../support/test-client.ts';
import { startTestApi, type TestApp } from '../../support/test-app.ts';

const { service, client } = await useTestApi({ images: 'drawn' });

describe('X-Content-Type-Options', () => {
  test('is on every answer', async () => {
    const body = { target: 'https://a.example/' };
    const made = await client.post('/v1/qr-codes', body);
    const image = new URL(word(made.json.imageUrl)).pathname;
    const asked: Array<[string, string]> = [
      ['GET', '/'],
      ['GET', '/docs'],
      ['GET', '/docs/webhooks'],
      ['GET', '/nothing'],
      ['POST', '/docs'],
      ['GET', '/health/live'],
      ['GET', '/health/ready'],
      ['GET', '/v1/openapi.json'],
      ['GET', '/v1/qr-codes'],
      ['GET', '/v1/qr-codes/export.csv'],
      ['GET', '/v1/qr-codes/x'],
      ['POST', '/v1/qr-codes'],
      ['PUT', '/v1/qr-codes'],
      ['HEAD', '/v1/events/stream'],
      ['GET', image],
      ['GET', image],
      ['GET', `${image}?size=1`],
      ['GET', '/i/nothing.png'],
    ];
    for (const [method, path] of asked) {
      const { headers } = await client.call(method, path);
      expect([method, path, headers['x-content-type-options']]).toEqual([method, path, 'nosniff']);
    }
  });

  test('also where the request is refused for its framing', async () => {
    const request =
      'GET / HTTP/1.1\r\nHost: x\r\nCookie: a\r\nCookie: b\r\nOrigin: x\r\nOrigin: y\r\n\r\n';
    const { text } = await sendRaw(service.port, [request]);
    expect(text).toMatch(/^HTTP\/1.1 400 .*^X-Content-Type-Options: nosniff\r$/ms);
  });
});

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly known: readonly string[];
}

async function operations(): Promise<Operation[]> {
  const document = (await client.get('/v1/openapi.json')).json;
  return Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path: path.replace(/\{\w+\}/g, 'x'),
      known: Object.values(operation.parameters ?? {})
        .filter((parameter: Json) => word(parameter.in) === 'query')
        .map((parameter: Json) => word(parameter.name)),
    })),
  );
}

const unknownIn = (query: string): string | undefined =>
  withUnknownParameters({ status: 200, headers: {} }, query, {}).headers['X-Unknown-Parameters'];

describe('X-Unknown-Parameters', () => {
  test('names what an operation does not know, on every one of them', async () => {
    const all = await operations();
    expect(all.length).toBeGreaterThan(70);
    for (const { method, path, known } of all) {
      const query = [...known.map((name) => `${name}=%00`), 'order=name', 'zone=CET'].join('&');
      const { headers } = await client.call(method, `/v1${path}?${query}`);
      const told = headers['x-unknown-parameters'];
      expect([method, path, told]).toEqual([method, path, 'order,zone']);
      const quiet = await client.call(
        method,
        `/v1${path}?${known.map((name) => `${name}=%00`).join('&')}`,
      );
      expect(quiet.headers['x-unknown-parameters']).toBeUndefined();
    }
  });

  test('comes with a 200, a 401, a 422 and the document', async () => {
    const told = async (path: string, key = service.apiKey): Promise<unknown[]> => {
      const { status, headers } = await client.get(`/v1${path}`, { key });
      return [status, headers['x-unknown-parameters']];
    };
    expect(await told('/qr-codes?order=name')).toEqual([200, 'order']);
    expect(await told('/qr-codes?order=name', 'x')).toEqual([401, 'order']);
    expect(await told('/qr-codes?order=name&limit=x')).toEqual([422, 'order']);
    expect(await told('/openapi.json?Version=2')).toEqual([200, 'Version']);
  });

  test.each([
    ['a=1&b=2&a=3&b', 'a,b'],
    ['=1', '""'],
    ['&&&', undefined],
    ['', undefined],
    ['a,b=1', 'a%2Cb'],
    ['a%0d%0aSet-Cookie:x=1', 'a%0D%0ASet-Cookie%3Ax'],
    ['%', '%25'],
    ['%ff', '%EF%BF%BD'],
    ['%ed%a0%80', '%EF%BF%BD%EF%BF%BD%EF%BF%BD'],
    ['caf%C3%A9', 'caf%C3%A9'],
    ['__proto__=1&constructor=2&toString', '__proto__,constructor,toString'],
  ])('of ?%s', (query, told) => expect(unknownIn(query)).toBe(told));

  test('no query makes it long, ambiguous or more than one header', async () => {
    fc.assert(
      fc.property(anyText({ maxLength: 400 }), (query) => {
        expect(unknownIn(query) ?? '').toMatch(/^[!-~]*$/);
      }),
    );
    const many = Array.from({ length: 10_000 }, (_, at) => `n${at}=1`).join('&');
    expect(unknownIn(many)?.split(',')).toEqual(
      [...Array(20).keys()].map((at) => `n${at}`).concat('...'),
    );
    const long = Array.from({ length: 30 }, (_, at) => `${at}${'\u{1f600}'.repeat(100)}`).join('&');
    expect(unknownIn(long)?.length).toBeLessThan(1_500);
    const raw = `GET /v1/qr-codes?a%0d%0aX-Evil:1=1&b%0aX-Evil:2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
    const { text } = await sendRaw(service.port, [raw]);
    expect(text).not.toMatch(/^x-evil/im);
  });
});

describe('what is fetched again and again', () => {
  let service: TestApp;

  beforeAll(async () => {
    service = await startTestApi();
    const client = new Client(service.url, service.apiKey);
    for (let index = 0; index < 5; index += 1) {
      await client.post('/v1/qr-codes', { target: 'https://example.com/' });
    }
    await client.close();
  });
  afterAll(() => service.close());

  async function get(path: string, headers: Readonly<Record<string, string>>) {
    const authorization = `Bearer ${service.apiKey}`;
    const answer = await request(`${service.url}${path}`, {
      headers: { authorization, ...headers },
    });
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
      expect([path, headers['content-encoding'], headers.etag]).toEqual([
        path,
        undefined,
        undefined,
      ]);
    }
  });

  test('the document says that a list may be the one that the client has', async () => {
    const { paths } = JSON.parse(String((await get('/v1/openapi.json', {})).bytes));
    expect(Object.keys(paths['/qr-codes'].get.responses)).toContain('304');
  });
});
