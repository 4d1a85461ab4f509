/**
 * /v1/qr-codes from outside: every status, header and field of the contract's QR code section.
 */
import { describe, expect, test } from 'vitest';
import { Client, word } from '../support/client.ts';
import { startTestApi } from '../support/test-app.ts';
import { openTestClient } from '../support/test-client.ts';

const { service, client } = await openTestClient();

const isoPattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const target = 'https://example.com/menu';

describe('POST /v1/qr-codes', () => {
  test('with a target alone makes a dynamic url code: 201, Location, the specified fields', async () => {
    const answer = await client.call('POST', '/v1/qr-codes', { body: { target } });
    expect(answer.status).toBe(201);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.headers.location).toBe(`/v1/qr-codes/${word(answer.json.id)}`);
    expect(answer.json).toMatchObject({ type: 'url', target, dynamic: true, scans: 0, tags: [] });
    expect(answer.json.id).toMatch(/^qr_[0-9a-hjkmnp-tv-z]{20}$/);
    expect(answer.json.shortUrl).toMatch(/^http:\/\/localhost:8081\/[0-9A-HJKMNP-TV-Z]{8}$/);
    expect(answer.json.imageUrl).toMatch(/^http:\/\/localhost:8080\/i\/qr_[0-9a-z]{20}\.png\?v=/);
    expect(answer.json.createdAt).toMatch(isoPattern);
  });

  test('the link table knows the code before the answer', async () => {
    const answer = await client.call('POST', '/v1/qr-codes', { body: { target } });
    const code = word(answer.json.shortUrl).split('/').at(-1) ?? '';
    expect(service.links.live.get(code)).toMatchObject({ target, state: 'live' });
  });

  test('keeps every optional field', async () => {
    const body = {
      target,
      name: 'Table 12',
      slug: 'Menu-12',
      tags: ['menu', 'berlin'],
      expiresAt: '2040-01-31T23:00:00+01:00',
      scanLimit: 500,
      metadata: { table: 12, deep: { a: [1, null] } },
      externalId: 'pos-12',
    };
    const { json } = await client.call('POST', '/v1/qr-codes', { body });
    expect(json).toMatchObject({ ...body, expiresAt: '2040-01-31T22:00:00.000Z' });
    expect(json.shortUrl).toBe('http://localhost:8081/Menu-12');
  });

  test('a static code has no shortUrl, and its types are never dynamic', async () => {
    const { json, status } = await client.call('POST', '/v1/qr-codes', {
      body: { type: 'text', target: 'Hello' },
    });
    expect(status).toBe(201);
    expect(json.dynamic).toBe(false);
    expect('shortUrl' in json).toBe(false);
    const refused = await client.call('POST', '/v1/qr-codes', {
      body: { type: 'text', target: 'Hello', dynamic: true },
    });
    expect(refused.status).toBe(422);
  });

  test('a taken slug is 409 slug_taken, also in another case; a reserved one 422', async () => {
    await client.call('POST', '/v1/qr-codes', { body: { target, slug: 'taken-1' } });
    const again = await client.call('POST', '/v1/qr-codes', { body: { target, slug: 'TAKEN-1' } });
    expect([again.status, again.json.code]).toEqual([409, 'slug_taken']);
    const reserved = await client.call('POST', '/v1/qr-codes', { body: { target, slug: 'api' } });
    expect([reserved.status, reserved.json.code]).toEqual([422, 'validation_failed']);
  });

  test('all faults of a body come at once, with paths: schema, unknown fields and the target', async () => {
    const answer = await client.call('POST', '/v1/qr-codes', {
      body: { target: 'javascript:alert(1)', name: 7, tags: ['a', ''], slug: 'x', colour: 'red' },
    });
    expect(answer.status).toBe(422);
    expect(answer.headers['content-type']).toBe('application/problem+json');
    expect(answer.json).toMatchObject({ code: 'validation_failed', status: 422 });
    const paths = answer.faults.map((fault) => fault.path);
    expect(new Set(paths)).toEqual(new Set(['colour', 'name', 'slug', 'tags.1', 'target']));
    expect(paths).toHaveLength(5);
    for (const fault of answer.faults) {
      expect(fault.code).toMatch(/^[a-z_]+$/);
      expect(fault.message).not.toMatch(/Invalid input|undefined/);
    }
  });

  test('a reserved slug and a kind that cannot be come with faults of shape', async () => {
    const { faults } = await client.call('POST', '/v1/qr-codes', {
      body: { target: 'hello', type: 'text', dynamic: true, slug: 'api', name: '' },
    });
    expect(faults.map(({ path, code }) => [path, code])).toEqual([
      ['name', 'too_small'],
      ['dynamic', 'static_only'],
      ['slug', 'reserved'],
    ]);
  });

  test('null is how a field that is not set can be written: POST and PUT take it as left out', async () => {
    const unset = {
      name: null,
      tags: null,
      expiresAt: null,
      scanLimit: null,
      metadata: null,
      campaignIds: null,
      design: null,
    };
    const plain = await client.call('POST', '/v1/qr-codes', { body: { target } });
    const body = { ...unset, target, slug: null, externalId: null };
    const made = await client.call('POST', '/v1/qr-codes', { body });
    expect(made.status).toBe(201);
    const { id, shortUrl, imageUrl, slug, createdAt, updatedAt } = made.json;
    const own = { id, shortUrl, imageUrl, slug, createdAt, updatedAt };
    expect(made.json).toEqual({ ...plain.json, ...own });
    const path = `/v1/qr-codes/${word(id)}`;
    await client.call('PATCH', path, { body: { name: 'Table 12', tags: ['a'], scanLimit: 3 } });
    const put = await client.call('PUT', path, { body: { ...unset, target } });
    expect(put.status).toBe(200);
    expect(put.json).toMatchObject({ name: null, tags: [], scanLimit: null });
    const without = await client.call('PUT', path, { body: { ...unset, target: null } });
    expect(without.faults).toMatchObject([{ path: 'target' }]);
  });

  test('a name has 120 characters, however many units of UTF-16 they take', async () => {
    const name = '😀'.repeat(120);
    const { status, json } = await client.call('POST', '/v1/qr-codes', { body: { target, name } });
    expect([status, json.name]).toEqual([201, name]);
    const path = `/v1/qr-codes/${word(json.id)}`;
    const long = await client.call('PATCH', path, { body: { name: `${name}x` } });
    expect(long.faults).toMatchObject([{ path: 'name' }]);
  });

  test.each([
    ['no target', {}, 'target'],
    ['a design of another shape', { target, design: { colour: '#000' } }, 'design.colour'],
    ['a list', [], ''],
    ['another type', { target, type: 'bitcoin' }, 'type'],
    ['51 metadata keys', { target, metadata: wide(51) }, 'metadata'],
    ['metadata above 4 KB', { target, metadata: { a: 'x'.repeat(4_100) } }, 'metadata'],
    ['a line break in the name', { target, name: 'a\nb' }, 'name'],
    ['a time without zone', { target, expiresAt: '2040-01-01T00:00:00' }, 'expiresAt'],
    ['half a scan', { target, scanLimit: 1.5 }, 'scanLimit'],
    ['own host', { target: 'http://LOCALHOST:8081/abc' }, 'target'],
    ['credentials', { target: 'https://a:b@example.com/' }, 'target'],
    ['a line break in the target', { target: 'https://example.com/\r\nX: 1' }, 'target'],
  ])('%s is 422', async (_name, body, path) => {
    const answer = await client.call('POST', '/v1/qr-codes', { body });
    expect(answer.status).toBe(422);
    expect(answer.json).toMatchObject({ errors: [{ path }] });
  });
});

describe('GET /v1/qr-codes/:id', () => {
  test('is the whole resource with its scans', async () => {
    const { json: made } = await client.call('POST', '/v1/qr-codes', { body: { target } });
    const no = service.codes.findAnywhere(word(made.id))?.no ?? 0;
    service.scans.lifetime.set(no, 7);
    const { status, json } = await client.call('GET', `/v1/qr-codes/${word(made.id)}`);
    expect(status).toBe(200);
    expect(json).toEqual({ ...made, scans: 7 });
  });

  test.each(['qr_00000000000000000000', 'qr_x', 'nonsense', '%00', 'QR_00000000000000000000'])(
    'an unknown id (%s) is 404 not_found',
    async (id) => {
      const { status, json } = await client.call('GET', `/v1/qr-codes/${id}`);
      expect([status, json.code]).toEqual([404, 'not_found']);
    },
  );
});

describe('PATCH and PUT /v1/qr-codes/:id', () => {
  test('PATCH re-targets before it answers, keeps what is absent, removes what is null', async () => {
    const { json: made } = await client.call('POST', '/v1/qr-codes', {
      body: { target, name: 'Old', tags: ['a'], metadata: { a: 1, b: 2 } },
    });
    const fresh = 'https://example.org/winter';
    const { status, json } = await client.call('PATCH', `/v1/qr-codes/${word(made.id)}`, {
      body: { target: fresh, name: null, metadata: { a: null, c: 3 } },
    });
    expect(status).toBe(200);
    expect(json).toMatchObject({ target: fresh, name: null, tags: ['a'] });
    expect(json.metadata).toEqual({ b: 2, c: 3 });
    expect(json.updatedAt).toMatch(isoPattern);
    const code = word(made.shortUrl).split('/').at(-1) ?? '';
    expect(service.links.live.get(code)?.target).toBe(fresh);
  });

  test('PATCH takes application/merge-patch+json', async () => {
    const { json: made } = await client.call('POST', '/v1/qr-codes', { body: { target } });
    const { status } = await client.call('PATCH', `/v1/qr-codes/${word(made.id)}`, {
      body: { name: 'New' },
      headers: { 'content-type': 'application/merge-patch+json; charset=UTF-8' },
    });
    expect(status).toBe(200);
  });

  test('PUT resets what is absent', async () => {
    const { json: made } = await client.call('POST', '/v1/qr-codes', {
      body: { target, name: 'Old', tags: ['a'], metadata: { a: 1 } },
    });
    const { status, json } = await client.call('PUT', `/v1/qr-codes/${word(made.id)}`, {
      body: { target: 'https://example.org/' },
    });
    expect(status).toBe(200);
    expect(json).toMatchObject({ target: 'https://example.org/', name: null, tags: [] });
    expect(json.metadata).toEqual({});
  });

  test('no change is 200 and no event; a change is one event with only the changed keys', async () => {
    const { json: made } = await client.call('POST', '/v1/qr-codes', { body: { target } });
    const path = `/v1/qr-codes/${word(made.id)}`;
    expect((await client.call('PATCH', path, { body: { target } })).status).toBe(200);
    await client.call('PATCH', path, { body: { name: 'Now' } });
    const { items } = await client.call('GET', '/v1/events?type=qr.updated&limit=5');
    const mine = items.filter((event) => event.data?.id === made.id);
    expect(mine).toHaveLength(1);
    expect(mine[0]?.data).toMatchObject({ before: { name: null }, after: { name: 'Now' } });
  });

  test('a new target on a static code is 409 static_code', async () => {
    const { json: made } = await client.call('POST', '/v1/qr-codes', {
      body: { target, dynamic: false },
    });
    const { status, json } = await client.call('PATCH', `/v1/qr-codes/${word(made.id)}`, {
      body: { target: 'https://example.org/' },
    });
    expect([status, json.code]).toEqual([409, 'static_code']);
  });

  test('type, slug and dynamic cannot be changed; all faults at once', async () => {
    const { json: made } = await client.call('POST', '/v1/qr-codes', { body: { target } });
    const { status, faults } = await client.call('PATCH', `/v1/qr-codes/${word(made.id)}`, {
      body: { type: 'url', slug: 'abc', dynamic: true, target: 'ftp://x' },
    });
    expect(status).toBe(422);
    expect(faults).toHaveLength(4);
  });
});

describe('DELETE /v1/qr-codes/:id', () => {
  test('answers {deleted, id}; then 404, gone from the links, its analytics still answer', async () => {
    const { json: made } = await client.call('POST', '/v1/qr-codes', { body: { target } });
    const path = `/v1/qr-codes/${word(made.id)}`;
    const { status, json } = await client.call('DELETE', path);
    expect([status, json]).toEqual([200, { deleted: true, id: made.id }]);
    const code = word(made.shortUrl).split('/').at(-1) ?? '';
    expect(service.links.deleted.has(code)).toBe(true);
    expect((await client.call('DELETE', path)).status).toBe(404);
    expect((await client.call('GET', path)).status).toBe(404);
    expect((await client.call('PATCH', path, { body: { name: 'x' } })).status).toBe(404);
    expect((await client.call('GET', `${path}/analytics`)).status).toBe(200);
  });
});

describe('GET /v1/qr-codes', () => {
  test('pages, cursors, filters and totals agree', async () => {
    const own = await startTestApi();
    const day = new Date(own.clock.now()).toISOString().slice(0, 10);
    const other = new Client(own.url, own.apiKey);
    for (let index = 0; index < 25; index += 1) {
      const tags = index % 5 === 0 ? ['five'] : [];
      const body = { target: `${target}/${index}`, dynamic: index % 2 === 0, tags };
      await other.call('POST', '/v1/qr-codes', { body });
    }
    const first = await other.call('GET', '/v1/qr-codes');
    expect(first.json).toMatchObject({ page: 1, total: 25, limit: 20 });
    expect(first.json.data).toHaveLength(20);
    expect(first.json.data).toMatchObject({ 0: { target: `${target}/24`, scans: 0 } });
    const second = await other.call('GET', '/v1/qr-codes?page=2');
    const walked = await other.call('GET', `/v1/qr-codes?cursor=${word(first.json.nextCursor)}`);
    expect(second.json.data).toEqual(walked.json.data);
    expect(second.json.data).toHaveLength(5);
    expect('nextCursor' in walked.json).toBe(false);
    const past = await other.call('GET', '/v1/qr-codes?page=9');
    expect([past.status, past.json.data, past.json.total]).toEqual([200, [], 25]);
    const tagged = await other.call('GET', '/v1/qr-codes?tag=five&limit=2&unknown=1');
    expect(tagged.json).toMatchObject({ total: 5, limit: 2 });
    const fixed = await other.call('GET', '/v1/qr-codes?dynamic=false&type=url');
    expect(fixed.json.total).toBe(12);
    const days = await other.call('GET', `/v1/qr-codes?from=${day}&to=2099-12-31`);
    expect(days.json.total).toBe(25);
    await other.close();
    await own.close();
  });

  test('by ids: the live ones of the workspace, newest first, in one request', async () => {
    const make = async (name: string) =>
      word((await client.call('POST', '/v1/qr-codes', { body: { target, name } })).json.id);
    const ids = [await make('One'), await make('Two'), await make('Gone')];
    await client.call('DELETE', `/v1/qr-codes/${ids[2]}`);
    const unknown = 'qr_00000000000000000000';
    const list = async (more = '') =>
      await client.call('GET', `/v1/qr-codes?ids=${[...ids, ids[0], unknown].join(',')}${more}`);
    const found = await list();
    expect(found.items.map(({ name }) => name)).toEqual(['Two', 'One']);
    expect(found.json).toMatchObject({ page: 1, total: 2, limit: 20 });
    expect((await list('&limit=1&page=2')).items.map(({ name }) => name)).toEqual(['One']);
    const { actor, workspaces } = service;
    const other = await workspaces.workspaces.create(actor.userId, 'Other');
    const request = {
      workspaceNo: other.no,
      userId: actor.userId,
      name: 'x',
      role: 'owner',
    } as const;
    const { token: key } = await workspaces.keys.create(request);
    const hidden = await client.call('GET', `/v1/qr-codes?ids=${ids[0]}`, { key });
    expect(hidden.json).toMatchObject({ data: [], total: 0 });
    expect((await list('&tag=x')).faults).toMatchObject([{ path: 'ids', code: 'goes_alone' }]);
  });

  test.each([
    'ids=',
    'ids=cmp_00000000000000000000',
    `ids=${Array.from({ length: 101 }, (_, at) => `qr_${String(at).padStart(20, '0')}`).join(',')}`,
    'page=0',
    'page=x',
    'limit=0',
    'limit=101',
    'limit=',
    'limit=1e1',
    'type=nonsense',
    'from=2026-02-30',
    'from=2026-03-02&to=2026-03-01',
    'dynamic=1',
    'campaign=qr_1',
    'cursor=nonsense',
    'limit=1&limit=2',
  ])('a bad query value (%s) is 422', async (query) => {
    const { status, json } = await client.call('GET', `/v1/qr-codes?${query}`);
    expect([status, json.code]).toEqual([422, 'validation_failed']);
  });
});

function wide(keys: number): Record<string, number> {
  return Object.fromEntries(Array.from({ length: keys }, (_, index) => [`k${index}`, index]));
}
