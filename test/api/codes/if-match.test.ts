/** Changes of a code by several clients: ETag, If-Match, and a PUT of what GET gave. */
import { expect, test } from 'vitest';
import { type Answer, word } from '../../support/client.ts';
import { openTestClient } from '../../support/test-client.ts';

const target = 'https://example.com/menu';
const { service, client } = await openTestClient();

async function makeCode(body: object = {}): Promise<{ path: string; id: string }> {
  const made = await client.call('POST', '/v1/qr-codes', { body: { target, ...body } });
  const id = word(made.json.id);
  return { id, path: `/v1/qr-codes/${id}` };
}
const change = async (
  method: string,
  path: string,
  body: object | undefined,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> => await client.call(method, path, { ...(body && { body }), headers });
const tagAt = async (path: string): Promise<string> =>
  (await client.call('GET', path)).headers['etag'] ?? '';

test('of editors who saw the same code one is first, at any moment of the clock', async () => {
  const { path } = await makeCode();
  const tag = await tagAt(path);
  expect(tag).toMatch(/^"[\w-]{22}"$/);
  const answers = await Promise.all(
    ['a', 'b', 'c'].map((name) => change('PATCH', path, { name }, { 'if-match': tag })),
  );
  const first = answers.filter(({ status }) => status === 200);
  expect(first).toHaveLength(1);
  const others = answers.filter(({ status }) => status !== 200);
  expect(others.map(({ json }) => [json.status, json.code])).toEqual([
    [412, 'precondition_failed'],
    [412, 'precondition_failed'],
  ]);
  expect(first[0]?.headers['etag']).toBe(await tagAt(path));
});

test('PUT and DELETE too; `*` and one of a list match, a weak tag does not', async () => {
  const { path } = await makeCode();
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
  const { path, id } = await makeCode();
  const tag = await tagAt(path);
  service.scans.lifetime.set(service.codes.find(service.actor.workspaceNo, id)?.no ?? 0, 1);
  expect((await client.call('GET', path)).json.scans).toBe(1);
  expect(await tagAt(path)).toBe(tag);
  const body = { name: 'Spring', startDate: '2026-03-04', qrCodeIds: [id] };
  await client.call('POST', '/v1/campaigns', { body });
  expect(await tagAt(path)).not.toBe(tag);
});

test('PUT takes what GET gave, and names what cannot change', async () => {
  const { path } = await makeCode({
    name: 'Table 12',
    tags: ['menu'],
    externalId: 'put-1',
    expiresAt: '2040-01-31T22:00:00.000Z',
    metadata: { table: 12 },
    rules: [{ label: 'ios', if: { os: ['iOS'] }, then: { target: 'https://example.com/ios' } }],
  });
  const { json: shown } = await client.call('GET', path);
  const same = await client.call('PUT', path, { body: shown });
  expect([same.status, same.json]).toEqual([200, shown]);
  const moved = { ...shown, name: 'Table 13', scans: 99, status: 'expired' };
  expect((await client.call('PUT', path, { body: moved })).json.name).toBe('Table 13');
  const { json } = await client.call('GET', path);
  const wrong = {
    ...json,
    id: 'qr_00000000000000000000',
    slug: 'other',
  };
  const refused = await client.call('PUT', path, { body: { ...wrong, dynamic: false } });
  expect(refused.status).toBe(422);
  const faults = refused.faults.map((fault) => `${fault['path']} ${fault['code']}`);
  expect(new Set(faults)).toEqual(new Set(['dynamic read_only', 'id read_only', 'slug read_only']));
});

test.each(['PATCH', 'PUT', 'DELETE'])(
  '%s with an Idempotency-Key is refused by name',
  async (method) => {
    const { path } = await makeCode();
    const body = method === 'DELETE' ? undefined : { target };
    const refused = await change(method, path, body, { 'idempotency-key': 'k-1' });
    expect([refused.status, refused.faults[0]?.['path']]).toEqual([422, 'Idempotency-Key']);
    expect((await client.call('GET', path)).status).toBe(200);
  },
);
