/**
 * What is kept under an Idempotency-Key, and for whom: every POST whose answer has a secret, sent again by
 * others of the workspace.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { emptyBody } from '../../../src/api/kernel/fields.ts';
import { postRoute } from '../../../src/api/kernel/resource.ts';
import { jsonResult } from '../../../src/api/kernel/route.ts';
import { requestFingerprint } from '../../../src/product/workspaces/idempotency.ts';
import { type Answer, type Json, word } from '../../support/client.ts';
import { Browser } from '../../support/browser.ts';
import { makeMember, useTestApi } from '../../support/test-client.ts';

const { service, client } = await useTestApi({
  environment: {
    QZ_TRUSTED_PROXIES: '127.0.0.1',
    QZ_WEBHOOKS_ALLOW_NETWORKS: '127.0.0.1/32',
  },
});
const password = 'a good password';

interface SecretCase {
  readonly operation: string;
  /** The path of the request; makes what it names. */
  readonly path: () => Promise<string>;
  readonly body: () => unknown;
  /** The secrets of an answer. */
  readonly secrets: (json: Json) => readonly unknown[];
  /** What a repetition as another sender answers. */
  readonly own: number;
}

const made = async (path: string, body: unknown): Promise<string> =>
  word((await client.post(path, body)).json.id);
const endpoint = { url: 'http://127.0.0.1:1/', events: ['member.joined'] };

const cases: readonly SecretCase[] = [
  {
    operation: 'createApiKey',
    path: async () => '/v1/api-keys',
    body: () => ({ name: 'ci', role: 'admin' }),
    secrets: ({ key }) => [key],
    own: 201,
  },
  {
    operation: 'rotateApiKey',
    path: async () =>
      `/v1/api-keys/${await made('/v1/api-keys', { name: 'r', role: 'viewer' })}/rotate`,
    body: () => ({ overlapSeconds: 3_600 }),
    secrets: ({ key }) => [key],
    own: 201,
  },
  {
    operation: 'createWebhook',
    path: async () => '/v1/webhooks',
    body: () => endpoint,
    secrets: ({ secret }) => [secret],
    own: 201,
  },
  {
    operation: 'rotateWebhookSecret',
    path: async () => `/v1/webhooks/${await made('/v1/webhooks', endpoint)}/rotate-secret`,
    body: () => ({ overlapSeconds: 0 }),
    secrets: ({ secret }) => [secret],
    own: 200,
  },
  {
    operation: 'createInvite',
    path: async () => '/v1/team/invites',
    body: () => ({ email: `secret${keys}@example.com`, role: 'viewer' }),
    secrets: ({ token, acceptUrl }) => [token, acceptUrl],
    // The address has its pending invite.
    own: 409,
  },
];

let keys = 0;
const newHeaders = (): Record<string, string> => ({ 'idempotency-key': `secret-${(keys += 1)}` });

test('the table has every operation that shows a secret once', async () => {
  const { paths = {}, components } = (await client.get('/v1/openapi.json')).json;
  const showing = Object.entries(components?.schemas ?? {})
    .filter(([, schema]) => JSON.stringify(schema).includes('shown this once'))
    .map(([name]) => `"#/components/schemas/${name}"`);
  const operations = Object.values(paths)
    .flatMap((item) => Object.values(item))
    .filter(({ responses }) => showing.some((ref) => JSON.stringify(responses).includes(ref)));
  const names = operations.map(({ operationId }) => word(operationId));
  expect(names.toSorted()).toEqual(cases.map(({ operation }) => operation).toSorted());
});

describe.each(cases)('the secret of $operation', ({ path, body, secrets, own }) => {
  test('is replayed to its sender alone, not to another key or person of the workspace', async () => {
    const at = await path();
    const options = { headers: newHeaders(), body: body() };
    const first = await client.call('POST', at, options);
    const again = await client.call('POST', at, options);
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(again.text).toBe(first.text);
    const others: Answer[] = [];
    for (const role of ['owner', 'admin'] as const) {
      const member = await makeMember(service, role);
      const browser = await Browser.signedIn(service, member);
      others.push(await client.call('POST', at, { ...options, key: member.key }));
      others.push(await browser.call('POST', at, options));
    }
    // The same person by another key is another sender too.
    others.push(
      await client.call('POST', at, { ...options, key: await service.keyOf('owner') }),
      await client.call('POST', at, { ...options, key: await service.keyOf('admin') }),
    );
    const [secret = ''] = secrets(first.json).map(word);
    expect(secret.length).toBeGreaterThan(20);
    for (const other of others) {
      expect(other.status).toBe(own);
      expect(other.headers['idempotent-replayed']).toBeUndefined();
      for (const shown of secrets(first.json)) expect(other.text).not.toContain(shown);
    }
    await service.store.environment.flush();
    const stored = readFileSync(join(service.dataDir, 'management.mdb'));
    for (const shown of secrets(first.json)) {
      expect(stored.includes(word(shown).split('.').at(-1) ?? '')).toBe(false);
    }
  });

  test('is refused to its sender once demoted, and to a key once revoked', async () => {
    const { id, key } = await makeMember(service, 'admin');
    const at = await path();
    const options = { headers: newHeaders(), body: body(), key };
    const first = await client.call('POST', at, options);
    expect(first.status).toBeLessThan(300);
    await client.patch(`/v1/team/members/${id}`, { role: 'editor' });
    expect((await client.call('POST', at, options)).status).toBe(403);
    await client.patch(`/v1/team/members/${id}`, { role: 'admin' });
    expect((await client.call('POST', at, options)).text).toBe(first.text);
    const claims = JSON.parse(Buffer.from(key.split('.')[1] ?? '', 'base64url').toString());
    await client.delete(`/v1/api-keys/${word(claims.jti)}`);
    expect((await client.call('POST', at, options)).status).toBe(401);
  });
});

test('bulk codes are made by each sender of the same key and body', async () => {
  const headers = newHeaders();
  const body = [{ target: 'https://example.com/bulk' }];
  const send = async (key: string) =>
    await client.post('/v1/qr-codes/bulk', body, { headers, key });
  const second = await service.keyOf('editor');
  const first = await send(service.apiKey);
  const other = await send(second);
  expect((await send(service.apiKey)).text).toBe(first.text);
  expect((await send(second)).text).toBe(other.text);
  expect(other.text).not.toBe(first.text);
});

test('a change of the password leaves nothing in the store to check guesses by', async () => {
  const browser = await Browser.signedIn(service, await makeMember(service, 'editor'));
  const body = { oldPassword: password, newPassword: 'another password' };
  const path = '/v1/auth/password';
  const options = { body, headers: { 'idempotency-key': 'the-digest' } };
  expect((await browser.call('POST', path, options)).status).toBe(200);
  expect((await browser.call('POST', path, options)).headers['idempotent-replayed']).toBe('true');
  await service.store.environment.flush();
  const stored = readFileSync(join(service.dataDir, 'management.mdb'));
  const guess = requestFingerprint('POST', path, Buffer.from(JSON.stringify(body)));
  expect(stored.includes('the-digest')).toBe(true);
  expect(stored.includes(guess)).toBe(false);
});

test('an answer is computed once: after the transaction, under a key inside it', async () => {
  const steps: string[] = [];
  const route = postRoute({
    path: '/things',
    operationId: 'createThing',
    access: 'editor',
    tag: 'Team',
    summary: '',
    description: '',
    body: emptyBody,
    answer: { status: 201, schema: emptyBody, what: '' },
    make: async (_call, kept) => {
      kept('it');
      steps.push('committed');
      return await Promise.resolve('it');
    },
    result: (made: string) => {
      steps.push('answer');
      return jsonResult(201, made);
    },
  });
  const call = { actor: service.actor, params: {}, query: '', header: () => undefined };
  const run = async (keep?: () => void) =>
    await route.run({ ...call, body: () => Buffer.alloc(0), keep } as never);
  await run();
  await run(() => steps.push('kept'));
  expect(steps).toEqual(['committed', 'answer', 'answer', 'kept', 'committed']);
});
