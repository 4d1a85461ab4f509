/**
 * /v1/qr-codes from outside: what is answered and stored; changes by several clients: ETag, If-Match, a PUT of what GET gave, an
 * import of what was exported, a damaged record. Bounds of fields and queries are those of openapi-laws, roles and ids of other
 * workspaces those of role-walk.
 */
import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import { type Answer, Client, word } from '../support/client.ts';
import { damage } from '../product/codes/codes-fixture.ts';
import { openTestApp, startTestApi } from '../support/test-app.ts';
import { makeStranger, useTestApi } from '../support/test-client.ts';

const { service, client, makeCode, codeNo } = await useTestApi();

const codes = '/v1/qr-codes';
const isoPattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const target = 'https://example.com/menu';
const shortCodeOf = (shortUrl: unknown): string => word(shortUrl).split('/').at(-1) ?? '';

describe('POST /v1/qr-codes', () => {
  test('with a target alone makes a dynamic url code, which the link table knows before the answer', async () => {
    const { status, headers, json } = await client.post(codes, { target });
    expect(service.links.live.get(shortCodeOf(json.shortUrl))).toMatchObject({
      target,
      state: 'live',
    });
    expect([status, headers['content-type']]).toEqual([201, 'application/json']);
    expect(headers.location).toBe(`${codes}/${word(json.id)}`);
    expect(json).toMatchObject({ type: 'url', target, dynamic: true, scans: 0, tags: [] });
    expect(json.id).toMatch(/^qr_[0-9a-hjkmnp-tv-z]{20}$/);
    expect(json.shortUrl).toMatch(/^http:\/\/localhost:8081\/[0-9A-HJKMNP-TV-Z]{8}$/);
    expect(json.imageUrl).toMatch(/^http:\/\/localhost:8080\/i\/qr_[0-9a-z]{20}\.png\?v=/);
    expect(json.createdAt).toMatch(isoPattern);
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
    const { json } = await client.post(codes, body);
    expect(json).toMatchObject({ ...body, expiresAt: '2040-01-31T22:00:00.000Z' });
    expect(json.shortUrl).toBe('http://localhost:8081/Menu-12');
    const again = await client.post(codes, { target, slug: 'MENU-12' });
    expect([again.status, again.json.code]).toEqual([409, 'slug_taken']);
  });

  test('a static code has no short URL', async () => {
    const json = await makeCode({ type: 'text', target: 'Hello' });
    expect([json.dynamic, 'shortUrl' in json]).toEqual([false, false]);
  });

  test.each([
    [
      { target: 'javascript:alert(1)', name: 7, tags: ['a', ''], colour: 'red' },
      ['colour unknown_field', 'name wrong_type', 'tags.1 too_small', 'target invalid_url'],
    ],
    [
      { target: 'hello', type: 'text', dynamic: true, slug: 'api', name: '' },
      ['dynamic static_only', 'name too_small', 'slug reserved'],
    ],
  ])('all faults of %j come at once', async (body, faults) => {
    const answer = await client.post(codes, body);
    expect(answer.headers['content-type']).toBe('application/problem+json');
    expect(answer.json).toMatchObject({ code: 'validation_failed', status: 422 });
    expect(answer.faults.map(({ path, code }) => `${path} ${code}`).toSorted()).toEqual(faults);
    for (const { message } of answer.faults) expect(message).not.toMatch(/Invalid input|undefined/);
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
    const plain = await makeCode();
    const made = await makeCode({ ...unset, slug: null, externalId: null });
    const { id, shortUrl, imageUrl, slug, createdAt, updatedAt } = made;
    expect(made).toEqual({ ...plain, id, shortUrl, imageUrl, slug, createdAt, updatedAt });
    const path = `${codes}/${word(id)}`;
    await client.patch(path, { name: 'Table 12', tags: ['a'], scanLimit: 3 });
    const put = await client.put(path, { ...unset, target });
    expect(put.json).toMatchObject({ name: null, tags: [], scanLimit: null });
    const without = await client.put(path, { ...unset, target: null });
    expect(without.faults).toMatchObject([{ path: 'target' }]);
  });

  test('a name has 120 characters, however many units of UTF-16 they take', async () => {
    const name = '😀'.repeat(120);
    const made = await makeCode({ name });
    expect(made.name).toBe(name);
    const long = await client.patch(`${codes}/${word(made.id)}`, { name: `${name}x` });
    expect(long.faults).toMatchObject([{ path: 'name' }]);
  });
});

describe('one code', () => {
  test('is read as it was made, with its scans', async () => {
    const made = await makeCode();
    service.scans.lifetime.set(codeNo(made.id), 7);
    const { status, json } = await client.get(`${codes}/${word(made.id)}`);
    expect([status, json]).toEqual([200, { ...made, scans: 7 }]);
  });

  test.each(['nonsense', '%00', 'QR_00000000000000000000'])('%s is 404 not_found', async (id) => {
    expect((await client.get(`${codes}/${id}`)).json).toMatchObject({
      status: 404,
      code: 'not_found',
    });
  });

  test('PATCH re-targets before it answers, keeps what is absent, removes what is null', async () => {
    const made = await makeCode({ name: 'Old', tags: ['a'], metadata: { a: 1, b: 2 } });
    const fresh = 'https://example.org/winter';
    const body = { target: fresh, name: null, metadata: { a: null, c: 3 } };
    const { json } = await client.patch(`${codes}/${word(made.id)}`, body);
    expect(service.links.live.get(shortCodeOf(made.shortUrl))?.target).toBe(fresh);
    expect(json).toMatchObject({ target: fresh, name: null, tags: ['a'] });
    expect(json.metadata).toEqual({ b: 2, c: 3 });
    expect(json.updatedAt).toMatch(isoPattern);
  });

  test('PATCH takes application/merge-patch+json, and nothing that cannot change', async () => {
    const path = `${codes}/${word((await makeCode()).id)}`;
    const headers = { 'content-type': 'application/merge-patch+json; charset=UTF-8' };
    expect((await client.patch(path, { name: 'New' }, { headers })).status).toBe(200);
    const wrong = { type: 'url', slug: 'abc', dynamic: true, target: 'ftp://x' };
    const { status, faults } = await client.patch(path, wrong);
    expect([status, faults.length]).toEqual([422, 4]);
  });

  test('DELETE answers {deleted, id}; then 404, gone from the links, its analytics still answer', async () => {
    const { id, shortUrl } = await makeCode();
    const path = `${codes}/${word(id)}`;
    const { status, json } = await client.delete(path);
    expect([status, json]).toEqual([200, { deleted: true, id }]);
    expect(service.links.deleted.has(shortCodeOf(shortUrl))).toBe(true);
    const answers = [
      await client.delete(path),
      await client.get(path),
      await client.patch(path, { name: 'x' }),
      await client.get(`${path}/analytics`),
    ];
    expect(answers.map((answer) => answer.status)).toEqual([404, 404, 404, 200]);
  });
});

describe('the list', async () => {
  const { service: own, client: other } = await useTestApi();

  test('pages, cursors, filters and totals agree', async () => {
    const day = new Date(own.clock.now()).toISOString().slice(0, 10);
    for (let index = 0; index < 25; index += 1) {
      const tags = index % 5 === 0 ? ['five'] : [];
      await other.post(codes, { target: `${target}/${index}`, dynamic: index % 2 === 0, tags });
    }
    const list = async (query = '') => (await other.get(`${codes}?${query}`)).json;
    const first = await list();
    expect(first).toMatchObject({ page: 1, total: 25, limit: 20 });
    expect(first.data).toHaveLength(20);
    expect(first.data).toMatchObject({ 0: { target: `${target}/24`, scans: 0 } });
    const walked = await list(`cursor=${word(first.nextCursor)}`);
    expect((await list('page=2')).data).toEqual(walked.data);
    expect([walked.data?.length, 'nextCursor' in walked]).toEqual([5, false]);
    expect(await list('page=9')).toMatchObject({ data: [], total: 25 });
    expect(await list('tag=five&limit=2&unknown=1')).toMatchObject({ total: 5, limit: 2 });
    expect(await list('dynamic=false&type=url')).toMatchObject({ total: 12 });
    expect(await list(`from=${day}&to=2099-12-31`)).toMatchObject({ total: 25 });
  });

  test('by ids: the live ones of the workspace, newest first, in one request', async () => {
    const ids: string[] = [];
    for (const name of ['One', 'Two', 'Gone']) ids.push(word((await makeCode({ name })).id));
    await client.delete(`${codes}/${ids[2]}`);
    const all = [...ids, ids[0], 'qr_00000000000000000000'].join(',');
    const list = async (more = '') => await client.get(`${codes}?ids=${all}${more}`);
    const found = await list();
    expect(found.items.map(({ name }) => name)).toEqual(['Two', 'One']);
    expect(found.json).toMatchObject({ page: 1, total: 2, limit: 20 });
    expect((await list('&limit=1&page=2')).items.map(({ name }) => name)).toEqual(['One']);
    const key = await makeStranger(service);
    const hidden = await client.get(`${codes}?ids=${ids[0]}`, { key });
    expect(hidden.json).toMatchObject({ data: [], total: 0 });
    expect((await list('&tag=x')).faults).toMatchObject([{ path: 'ids', code: 'goes_alone' }]);
  });

  test.each([
    'ids=',
    'ids=cmp_00000000000000000000',
    `ids=${Array.from({ length: 101 }, (_, at) => `qr_${String(at).padStart(20, '0')}`).join(',')}`,
    'from=2026-03-02&to=2026-03-01',
  ])('a bad query value (%s) is 422', async (query) => {
    const { status, json } = await client.get(`${codes}?${query}`);
    expect([status, json.code]).toEqual([422, 'validation_failed']);
  });
});

async function make(fields: object = {}): Promise<{ path: string; id: string }> {
  const id = word((await makeCode(fields)).id);
  return { id, path: `/v1/qr-codes/${id}` };
}
const change = async (
  method: string,
  path: string,
  body: object | undefined,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> => await client.call(method, path, { ...(body && { body }), headers });
const tagAt = async (path: string): Promise<string> =>
  (await client.get(path)).headers['etag'] ?? '';

test('of editors who saw the same code one is first, at any moment of the clock', async () => {
  const { path } = await make();
  const tag = await tagAt(path);
  expect(tag).toMatch(/^"[\w-]{22}"$/);
  const answers = await Promise.all(
    ['a', 'b', 'c'].map((name) => change('PATCH', path, { name }, { 'if-match': tag })),
  );
  const first = answers.filter(({ status }) => status === 200);
  expect(first).toHaveLength(1);
  const others = answers.filter((answer) => answer !== first[0]);
  const stale = { status: 412, code: 'precondition_failed' };
  expect(others.map(({ json }) => json)).toMatchObject([stale, stale]);
  expect(first[0]?.headers['etag']).toBe(await tagAt(path));
});

test('PUT and DELETE too; `*` and one of a list match, a weak tag does not', async () => {
  const { path } = await make();
  const tag = await tagAt(path);
  for (const stale of ['"other"', `W/${tag}`]) {
    expect((await change('PUT', path, { target }, { 'if-match': stale })).status).toBe(412);
    expect((await change('DELETE', path, undefined, { 'if-match': stale })).status).toBe(412);
  }
  expect((await change('PUT', path, { target }, { 'if-match': '*' })).status).toBe(200);
  const listed = { 'if-match': `"other", ${await tagAt(path)}` };
  expect((await change('DELETE', path, undefined, listed)).status).toBe(200);
});

test('a change of its campaigns makes another tag, a scan does not', async () => {
  const { path, id } = await make();
  const tag = await tagAt(path);
  service.scans.lifetime.set(codeNo(id), 1);
  expect((await client.get(path)).json.scans).toBe(1);
  expect(await tagAt(path)).toBe(tag);
  const body = { name: 'Spring', startDate: '2026-03-04', qrCodeIds: [id] };
  await client.post('/v1/campaigns', body);
  expect(await tagAt(path)).not.toBe(tag);
});

test('PUT takes what GET gave, and names what cannot change', async () => {
  const { path } = await make({
    name: 'Table 12',
    tags: ['menu'],
    externalId: 'put-1',
    expiresAt: '2040-01-31T22:00:00.000Z',
    metadata: { table: 12 },
    rules: [{ label: 'ios', if: { os: ['iOS'] }, then: { target: 'https://example.com/ios' } }],
  });
  const { json: shown } = await client.get(path);
  const same = await client.put(path, shown);
  expect([same.status, same.json]).toEqual([200, shown]);
  const moved = { ...shown, name: 'Table 13', scans: 99, status: 'expired' };
  expect((await client.put(path, moved)).json.name).toBe('Table 13');
  const { json } = await client.get(path);
  const wrong = { ...json, id: 'qr_00000000000000000000', slug: 'other', dynamic: false };
  const refused = await client.put(path, wrong);
  expect(refused.status).toBe(422);
  const faults = refused.faults.map((fault) => `${fault['path']} ${fault['code']}`);
  expect(new Set(faults)).toEqual(new Set(['dynamic read_only', 'id read_only', 'slug read_only']));
});

test.each(['PATCH', 'PUT', 'DELETE'])(
  '%s with an Idempotency-Key is refused by name',
  async (method) => {
    const { path } = await make();
    const body = method === 'DELETE' ? undefined : { target };
    const refused = await change(method, path, body, { 'idempotency-key': 'k-1' });
    expect([refused.status, refused.faults[0]?.['path']]).toEqual([422, 'Idempotency-Key']);
    expect((await client.get(path)).status).toBe(200);
  },
);

const computed = ['id', 'shortUrl', 'imageUrl', 'scans', 'createdAt', 'updatedAt', 'status'];
const exported: readonly object[] = [
  { target, name: '=1+1', tags: ['a;b', 'c|d', 'e\\', '-f'], slug: 'menu-1', externalId: "'=x" },
  { target: `${target}2`, metadata: { table: '12', hall: '＝B', constructor: 'x', 'a,"b': '\t1' } },
  { target: `${target}3`, metadata: { table: 12, '': { deep: [1, null] }, ' padded ': true } },
  { target: 'WIFI:S:a;T:WPA;P:b;;', type: 'wifi', name: 'Two\u2009words' },
  { target: 'Line 1\nLine "2"', type: 'text' },
  {
    target: `${target}6`,
    utm: { source: 'flyer', term: '+1' },
    startsAt: '2040-01-02T03:04:05.678Z',
    expiresAt: '2041-01-02T03:04:05.678Z',
    scanLimit: 3,
    paused: true,
    fallbackUrl: `${target}later`,
  },
];

async function installation(): Promise<Client> {
  const app = await startTestApi();
  return new Client(app.url, app.apiKey);
}

test('an export creates the same codes in another installation', async () => {
  const [from, to] = [await installation(), await installation()];
  const made = await from.post('/v1/qr-codes/bulk', exported);
  expect(made.json).toMatchObject({ created: exported.length, failed: 0 });
  const table = async (client: Client) => (await client.get('/v1/qr-codes/export.csv')).text;
  const sent = await table(from);
  const headers = { 'content-type': 'text/csv', 'idempotency-key': 'round-trip' };
  const send = async (client: Client) =>
    await client.call('POST', '/v1/qr-codes/bulk', { raw: sent, headers });
  const taken = await send(to);
  expect(taken.json).toMatchObject({
    created: exported.length,
    failed: 0,
    ignoredColumns: computed,
  });
  expect((await send(to)).json).toEqual(taken.json);
  const rows = (text: string): unknown[] => {
    const found: Array<Record<string, string>> = parse(text, { columns: true });
    const importable = found.map((row) =>
      Object.entries(row).filter(([name]) => !computed.includes(name)),
    );
    return importable.map((cells) => Object.fromEntries(cells)).toSorted(byTarget);
  };
  expect(rows(await table(to))).toEqual(rows(sent));
  const [, second, third] = rows(sent);
  expect(second).toMatchObject({ 'metadata.table': '12', 'metadata.hall': "'＝B", metadata: '' });
  expect(third).toMatchObject({ metadata: '{"":{"deep":[1,null]}," padded ":true}' });
  const first = (await to.get('/v1/qr-codes?search=menu-1')).items[0];
  expect(first).toMatchObject({ name: '=1+1', tags: ['a;b', 'c|d', 'e\\', '-f'] });
  await Promise.all([from.close(), to.close()]);
});

const byTarget = (one: { target?: string }, other: { target?: string }): number =>
  String(one.target).localeCompare(String(other.target), 'en');

test('answers 503 for a damaged code, and says how many a list leaves out', async () => {
  const app = await openTestApp();
  const targets = [1, 2, 3].map((no) => `https://example.com/${no}`);
  const codes: Array<{ readonly id: string }> = [];
  for (const target of targets) codes.push(await app.codes.create(app.actor, { target }));
  await damage(app, 'codes', (_key, at) => at === 1);
  // From here on it writes by itself, and two handles of one thread on an LMDB file may wait for each other.
  await app.listen();
  const client = new Client(app.url, app.apiKey);
  const path = (at: number): string => `/v1/qr-codes/${codes[at]!.id}`;
  const body = { target: 'https://example.org/' };
  expect((await client.get(path(1))).json).toMatchObject({ status: 503, code: 'data_damaged' });
  expect((await client.patch(path(1), body)).status).toBe(503);
  expect((await client.patch(path(0), body)).status).toBe(200);
  const page = await client.get('/v1/qr-codes');
  expect(page.json).toMatchObject({ total: 3, unreadable: 1 });
  expect(page.items.map(({ id }) => id)).toEqual([codes[2]!.id, codes[0]!.id]);
  const found = await client.get('/v1/qr-codes?search=example.com');
  expect(found.json).toMatchObject({ total: 1, unreadable: 1 });
  const table = await client.get('/v1/qr-codes/export.csv');
  const lines = table.text.trim().split(/\r?\n/);
  expect(lines).toHaveLength(4);
  expect(lines[3]).toBe('"unreadable: 1 left out, their records are damaged"');
  await client.close();
});
