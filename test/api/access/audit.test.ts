/** The audit log: which requests have a line, what it says, and what it never says. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Browser } from '../../support/browser.ts';
import { type Json, word } from '../../support/client.ts';
import { makeMember, useTestApi } from '../../support/test-client.ts';

const password = 'a good password';
const email = 'jane@example.com';
const { service, client } = await useTestApi({
  environment: { QZ_TRUSTED_PROXIES: '127.0.0.1' },
});
const owner = service.actor.userId;
let seen = 0;

/** The audit lines since the last call. */
function lines(): Json[] {
  const all = service.logLines.map((line): Json => JSON.parse(line));
  const audited = all.filter(({ audit }) => audit !== undefined);
  const fresh = audited.slice(seen);
  seen = audited.length;
  return fresh;
}

test('has one line for each change of keys, members, invites and endpoints, and none for reads', async () => {
  const key = await client.post('/v1/api-keys', { name: 'Till', role: 'viewer' });
  const invite = await client.post('/v1/team/invites', { email, role: 'editor' });
  const body = { token: invite.json.token, name: 'Jane', password };
  const joined = await client.post('/v1/team/invites/accept', body, { key: undefined });
  const userId = word(joined.json.userId);
  const path = `/v1/team/members/${userId}`;
  await client.patch(path, { role: 'viewer' });
  const url = 'https://hooks.example.com/?token=secret-in-url';
  const hook = await client.post('/v1/webhooks', { url, events: ['*'] });
  await client.delete(`/v1/api-keys/${word(key.json.id)}`);
  await client.get('/v1/api-keys');
  await client.post('/v1/qr-codes', { target: 'https://example.com/' });
  const by = { userId: owner, workspaceId: joined.json.workspaceId };
  expect(lines()).toMatchObject([
    { audit: 'createApiKey', status: 201, ...by, target: key.json.id, role: 'viewer' },
    { audit: 'createInvite', status: 201, ...by, target: invite.json.id, role: 'editor' },
    { audit: 'acceptInvite', status: 200, userId, workspaceId: by.workspaceId, role: 'editor' },
    { audit: 'updateMember', status: 200, ...by, target: userId, role: 'viewer' },
    { audit: 'createWebhook', status: 201, ...by, target: hook.json.id },
    { audit: 'deleteApiKey', status: 200, ...by, target: key.json.id },
  ]);
});

test('shows sign-ins and guesses by account and source, and refusals', async () => {
  const { id } = await makeMember(service, 'viewer', 'john@example.com');
  const [one, two] = [new Browser(service), new Browser(service)];
  await one.signIn('john@example.com', 'wrong', '203.0.113.7');
  await one.signIn('nobody@example.com', 'wrong', '203.0.113.7');
  await two.signIn('john@example.com', password, '2001:db8::9');
  await client.call('POST', '/v1/auth/sign-in', { key: undefined, raw: '{' });
  await two.delete(`/v1/team/members/${owner}`);
  await client.get('/v1/qr-codes', { key: 'forged' });
  await client.get('/v1/qr-codes', { key: undefined });
  await Promise.all([one.close(), two.close()]);
  const found = lines();
  expect(found).toMatchObject([
    { audit: 'signIn', status: 401, code: 'unauthorized', target: id },
    { audit: 'signIn', status: 401, code: 'unauthorized' },
    { audit: 'signIn', status: 200, userId: id, target: id },
    { audit: 'signIn', status: 400, code: 'invalid_json' },
    { audit: 'deleteMember', status: 403, code: 'forbidden', userId: id, target: owner },
    { audit: 'listQrCodes', status: 401, code: 'unauthorized' },
  ]);
  const [first, second, third] = found.map(({ from }) => word(from));
  expect(second).toBe(first);
  expect(third).not.toBe(first);
});

test('holds no secret, e-mail or address, and no line for each request of a flood', async () => {
  const headers = { 'x-forwarded-for': '198.51.100.9' };
  for (let at = 0; at < 40; at += 1) {
    await client.get('/v1/qr-codes', { key: `forged-${at}`, headers });
  }
  expect(lines()).toHaveLength(20);
  const text = service.logLines.join('');
  const secrets = [password, email, 'nobody@', 'secret-in-url', 'whsec_', service.apiKey];
  for (const secret of [...secrets, 'forged', '203.0.113', '2001:db8', '198.51.100']) {
    expect(text).not.toContain(secret);
  }
});

test('is described whole by the guide', async () => {
  const guide = readFileSync('src/api/docs/guides/security.md', 'utf8');
  const table = /## The audit log\n([^]*?)\n## /.exec(guide)?.[1] ?? '';
  const { json } = await client.get('/v1/openapi.json');
  const changes = Object.values(json.paths ?? {}).flatMap((path) =>
    Object.entries(path).flatMap(([method, change]) => (method === 'get' ? [] : [change])),
  );
  const audited = changes.filter(({ tags }) =>
    /^(?:Sessions|API keys|Team|Webhooks)$/.test(word(tags?.[0])),
  );
  const names = audited.map(({ operationId }) => word(operationId));
  expect(names.length).toBeGreaterThan(15);
  expect(names.filter((name) => !table.includes(`\`${name}\``))).toEqual([]);
});
