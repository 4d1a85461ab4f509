/**
 * What every answer has, whatever was asked: what of the query was not understood, how it is sent; and
 * problems: the id of their answer, paths without harmful characters, and names that cannot be read.
 */
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { importedDrafts } from '../../../src/api/codes/code-bodies.ts';
import { withUnknownParameters } from '../../../src/api/kernel/route.ts';
import { Failure } from '../../../src/model/failure.ts';
import { anyText } from '../../model/any-text.ts';
import { type Answer, word } from '../../support/client.ts';
import { sendRaw } from '../../support/raw-http.ts';
import { useTestApi } from '../../support/test-client.ts';

const { service, client, makeCode } = await useTestApi({ images: 'drawn' });

const unknownIn = (query: string): string | undefined =>
  withUnknownParameters({ status: 200, headers: {} }, query, {}).headers['X-Unknown-Parameters'];

describe('X-Unknown-Parameters', () => {
  test('names what an operation does not know, on every one of them', async () => {
    const document = (await client.get('/v1/openapi.json')).json;
    const all = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
    );
    for (const { path, method, operation } of all) {
      const parameters = Object.values(operation.parameters ?? {});
      const known = parameters.filter((parameter) => word(parameter.in) === 'query');
      const query = known.map(({ name }) => `${word(name)}=%00`).join('&');
      const told = async (more: string): Promise<unknown> => {
        const address = `/v1${path.replace(/\{\w+\}/g, 'x')}?${query}${more}`;
        const { headers } = await client.call(method.toUpperCase(), address);
        return headers['x-unknown-parameters'];
      };
      expect([path, await told('&order=name&zone=CET')]).toEqual([path, 'order,zone']);
      expect([path, await told('')]).toEqual([path, undefined]);
    }
  });

  test('comes with a 401 and the document', async () => {
    const refused = await client.get('/v1/qr-codes?order=name', { key: 'x' });
    expect([refused.status, refused.headers['x-unknown-parameters']]).toEqual([401, 'order']);
    const document = await client.get('/v1/openapi.json?Version=2');
    expect(document.headers['x-unknown-parameters']).toBe('Version');
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
  beforeAll(async () => {
    for (let index = 0; index < 5; index += 1) await makeCode();
  });

  const get = (path: string, headers = {}): Promise<Answer> => client.get(path, { headers });

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
      const same = await get(path, { 'if-none-match': etag });
      expect([same.status, same.bytes.length, same.headers.etag]).toEqual([304, 0, etag]);
    },
  );

  test('a short list, one thing and a refusal stay as they are', async () => {
    for (const path of ['/v1/campaigns', '/v1/workspace', '/v1/qr-codes?limit=x']) {
      const { headers } = await get(path, { 'accept-encoding': 'br' });
      const own = [headers['content-encoding'], headers.etag];
      expect([path, own]).toEqual([path, [undefined, undefined]]);
    }
  });
});

const code = word((await makeCode()).id);

test('the requestId of a replayed problem is that of this answer', async () => {
  const options = { body: { name: '' }, headers: { 'idempotency-key': 'problem' } };
  const first = await client.call('POST', '/v1/campaigns', options);
  const again = await client.call('POST', '/v1/campaigns', options);
  expect(again.headers['idempotent-replayed']).toBe('true');
  expect(again.json.requestId).toBe(again.headers['x-request-id']);
  expect(again.json.requestId).not.toBe(first.json.requestId);
  expect({ ...again.json, requestId: '' }).toEqual({ ...first.json, requestId: '' });
});

describe('errors[].path', () => {
  const hostile: Array<[string, string]> = [
    ['half a surrogate pair', '\ud800'],
    ['a line break', 'a\r\nb'],
    ['a turned text', '\u202e'],
    ['a command to a terminal', '\u001b[2J'],
    ['5,000 characters', 'x'.repeat(5_000)],
  ];

  test.each(hostile)(
    'of a name that is %s is well-formed, on one line and short',
    async (_, name) => {
      for (const value of [1, 1e21, '\udfff']) {
        const raw = JSON.stringify({ target: 'https://a.example/', metadata: {}, [name]: value });
        const { status, text, faults } = await client.call('POST', '/v1/qr-codes', { raw });
        expect(status).toBe(422);
        expect(text).not.toMatch(/\\u/);
        for (const { path = '' } of faults) expect(path).toMatch(/^[^\p{Cc}\p{Cs}\u202e]{1,200}$/u);
      }
    },
  );

  test('many faults below a long name make no long answer', async () => {
    const values = Array.from({ length: 4_000 }, () => 1e21);
    const raw = JSON.stringify({ ['k'.repeat(30_000)]: values });
    const { status, text, faults } = await client.call('POST', '/v1/qr-codes', { raw });
    expect([status, faults.length]).toEqual([422, 100]);
    expect(text.length).toBeLessThan(60_000);
  });

  test('and of a CSV’s columns', async () => {
    const names = [...hostile.map(([, name]) => `"${name}"`), ...Array(40).keys()];
    const raw = `target,${names.join(',')}\nhttps://a.example/\n`;
    const headers = { 'content-type': 'text/csv' };
    const answer = await client.call('POST', '/v1/qr-codes/bulk', { raw, headers });
    const { status, text, faults } = answer;
    expect(status).toBe(422);
    expect(text.length).toBeLessThan(20_000);
    for (const { path = '' } of faults) expect(path).toMatch(/^[^\p{Cc}\p{Cs}\u202e]{1,200}$/u);
  });

  test('many unknown names make no long answer', async () => {
    const names = Array.from({ length: 5_000 }, (_, at) => [`n${at}`, 1]);
    const raw = JSON.stringify(Object.fromEntries(names));
    expect((await client.call('POST', '/v1/campaigns', { raw })).faults).toHaveLength(100);
  });
});

describe('names that cannot be read, or that look like another text', () => {
  const blank = '\u00a0\u200b\u3164';
  const turned = 'invoice\u202efdp.exe';
  const family = '\u{1f469}\u200d\u{1f469}\u200d\u{1f467}';

  const target = 'https://a.example/';
  const url = 'https://hooks.example/';
  const campaign = { startDate: '2026-03-01', qrCodeIds: [] };
  const person = { token: 'x', password: 'p'.repeat(12) };
  const fields: ReadonlyArray<[string, string, string, (text: string) => object]> = [
    ['POST', '/qr-codes', 'name', (name) => ({ target, name })],
    ['POST', '/qr-codes', 'tags.0', (tag) => ({ target, tags: [tag] })],
    ['POST', '/qr-codes', 'externalId', (externalId) => ({ target, externalId })],
    ['PATCH', `/qr-codes/${code}`, 'name', (name) => ({ name })],
    ['PUT', `/qr-codes/${code}`, 'tags.0', (tag) => ({ target, tags: [tag] })],
    ['POST', '/campaigns', 'name', (name) => ({ ...campaign, name })],
    ['POST', '/api-keys', 'name', (name) => ({ name })],
    ['POST', '/webhooks', 'description', (text) => ({ url, events: ['*'], description: text })],
    ['PATCH', `/workspaces/${service.actor.workspaceId}`, 'name', (name) => ({ name })],
    ['POST', '/team/invites/accept', 'name', (name) => ({ ...person, name })],
  ];

  test.each(fields)('%s %s refuses a blank or turned %s', async (method, path, field, bodyOf) => {
    for (const [text, fault] of [
      [blank, 'required'],
      [turned, 'invalid_format'],
    ] as const) {
      const { status, faults } = await client.call(method, `/v1${path}`, { body: bodyOf(text) });
      expect(status).toBe(422);
      expect(faults).toEqual([expect.objectContaining({ path: field, code: fault })]);
    }
  });

  test('an emoji of several is a name, and comes back as it was', async () => {
    const fields = { name: family, tags: [family] };
    expect(await makeCode(fields)).toMatchObject(fields);
  });

  test('a row of many and a row of an import fail by themselves', async () => {
    const body = [blank, turned, 'fine'].map((name) => ({ target, name }));
    const { json } = await client.post('/v1/qr-codes/bulk', body);
    expect(json).toMatchObject({ created: 1, failed: 2 });
    const draft = importedDrafts('https://go.example');
    expect(draft({ target, name: turned })).toBeInstanceOf(Failure);
    expect(draft({ target, name: 'fine' })).not.toBeInstanceOf(Failure);
  });

  test('the commands’ users and keys, and people too', async () => {
    const { users, keys, profiles } = service.workspaces;
    const { workspaceNo, userId } = service.actor;
    for (const name of ['', blank, turned]) {
      const refused = /^Cannot use this name: /;
      const user = { email: 'a@b.example', name, password: 'p'.repeat(12) };
      await expect(users.create(workspaceNo, 'editor', user)).rejects.toThrow(refused);
      const key = { workspaceNo, userId, name, role: 'viewer' } as const;
      await expect(keys.create(key)).rejects.toBeInstanceOf(Failure);
      await expect(profiles.rename(userId, name)).rejects.toThrow(refused);
    }
  });
});
