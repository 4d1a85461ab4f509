/** API keys through HTTP, and what the workspace has used. */
import { describe, expect, test } from 'vitest';
import { word } from '../support/client.ts';
import { OffsetClock } from '../support/fakes/offset-clock.ts';
import { openTestClient } from '../support/test-client.ts';

const clock = new OffsetClock();
const { service, client } = await openTestClient({
  clock,
  environment: { QZ_TRUSTED_PROXIES: '127.0.0.1' },
});

const works = async (key: string): Promise<number> =>
  (await client.call('GET', '/v1/qr-codes', { key })).status;
const create = async (body: unknown, key = service.apiKey) =>
  await client.call('POST', '/v1/api-keys', { key, body });

describe('API keys', () => {
  test('are shown once, listed without their secret, and revoked at once', async () => {
    const made = await create({ name: 'Till', role: 'viewer' });
    expect(made.status).toBe(201);
    const key = word(made.json.key);
    expect(made.headers.location).toBe(`/v1/api-keys/${word(made.json.id)}`);
    expect(await works(key)).toBe(200);
    const list = await client.call('GET', '/v1/api-keys?limit=1');
    expect(list.items[0]).toMatchObject({ id: made.json.id, name: 'Till', revokedAt: null });
    expect(list.items[0]?.lastUsedAt).toMatch(/Z$/);
    expect(list.text).not.toContain(key.split('.')[2]);
    const path = `/v1/api-keys/${word(made.json.id)}`;
    expect((await client.call('DELETE', path)).json).toEqual({ deleted: true, id: made.json.id });
    expect(await works(key)).toBe(401);
    expect((await client.call('DELETE', path)).status).toBe(404);
  });

  test('rotate: both work for the overlap, then the old one is expired', async () => {
    const old = (await create({ name: 'Old', role: 'editor' })).json;
    const path = `/v1/api-keys/${word(old.id)}/rotate`;
    const made = await client.call('POST', path, { body: { overlapSeconds: 3_600 } });
    expect([made.status, made.json.role, made.json.name]).toEqual([201, 'editor', 'Old']);
    const [before, after] = [word(old.key), word(made.json.key)];
    expect([await works(before), await works(after)]).toEqual([200, 200]);
    clock.offsetMs = 3_601_000;
    expect([await works(before), await works(after)]).toEqual([401, 200]);
    expect((await client.call('POST', path)).status).toBe(404);
    clock.offsetMs = 0;
    const standard = await client.call('POST', `/v1/api-keys/${word(made.json.id)}/rotate`);
    expect(standard.status).toBe(201);
    const now = await client.call('POST', `/v1/api-keys/${word(standard.json.id)}/rotate`, {
      body: { overlapSeconds: 0 },
    });
    expect([await works(word(standard.json.key)), await works(word(now.json.key))]).toEqual([
      401, 200,
    ]);
  });

  test('grant, rotate and revoke nothing above the asker’s role', async () => {
    const admin = await service.keyOf('admin');
    expect((await create({ name: 'up', role: 'owner' }, admin)).status).toBe(403);
    const owner = word((await create({ name: 'own', role: 'owner' })).json.id);
    const ask = { key: admin };
    expect((await client.call('POST', `/v1/api-keys/${owner}/rotate`, ask)).status).toBe(403);
    expect((await client.call('DELETE', `/v1/api-keys/${owner}`, ask)).status).toBe(403);
  });

  test('stay valid when the signing secret is rotated; new ones are signed with the new', async () => {
    const before = word((await create({ name: 'before' })).json.key);
    const kid = service.workspaces.rotateSigningKeys();
    const after = word((await create({ name: 'after' })).json.key);
    const header = JSON.parse(Buffer.from(after.split('.')[0] ?? '', 'base64url').toString());
    expect(header).toMatchObject({ kid });
    expect([await works(before), await works(after)]).toEqual([200, 200]);
  });

  test.each([
    [{}],
    [{ name: 'a\u0000b' }],
    [{ name: 'x', role: 'root' }],
    [{ name: 'x', expiresAt: '2020-01-01T00:00:00Z' }],
    [{ name: 'x', workspaceId: 'ws_1' }],
  ])('%j is 422', async (body) => {
    expect((await create(body)).status).toBe(422);
  });
});

test('usage counts exactly under 1,000 parallel requests', async () => {
  const limit = 700;
  await service.workspaces.workspaces.setPlan(1, 'enterprise', { perMinute: 5_000, perDay: limit });
  const { quota } = service.workspaces;
  const before = quota.usage(1).day.used;
  const answers = await Promise.all(
    Array.from({ length: 1_000 }, async () => await client.call('GET', '/v1/session')),
  );
  const accepted = answers.filter(({ status }) => status === 200).length;
  expect(accepted).toBe(limit - before);
  expect(quota.usage(1).day.used).toBe(limit);
  const open = { perMinute: 5_000, perDay: undefined };
  await service.workspaces.workspaces.setPlan(1, 'enterprise', open);
  const usage = await client.call('GET', '/v1/billing/usage');
  expect(usage.json).toMatchObject({
    plan: 'enterprise',
    day: { used: limit + 1, limit: null, remaining: null },
    minute: { limit: 5_000 },
    qrCodes: 0,
  });
});
