/** Changes of a code by several clients: ETag, If-Match, a PUT of what GET gave, an import of what was exported, a damaged record. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'csv-parse/sync';
import { type Answer, Client, word } from '../../support/client.ts';
import { useTestApi } from '../../support/test-client.ts';
import { openTestApp, startTestApi } from '../../support/test-app.ts';
import { StoredBytes } from '../../support/stored-bytes.ts';

const target = 'https://example.com/menu';
const { service, client, makeCode, codeNo } = await useTestApi();

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
  const stored = new StoredBytes(join(app.dataDir, 'management.mdb'));
  stored.flip('codes', stored.keys('codes')[1]!, 300);
  await stored.close();
  app.store.environment.refresh();
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
