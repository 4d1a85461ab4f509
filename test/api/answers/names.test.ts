/** Names that nobody can read, or that read otherwise than they are: refused wherever one may be given. */
import { beforeAll, expect, test } from 'vitest';
import { importedDrafts } from '../../../src/api/codes/code-bodies.ts';
import { Failure } from '../../../src/model/failure.ts';
import { word } from '../../support/client.ts';
import { openTestClient } from '../../support/test-client.ts';

const blank = '\u00a0\u200b\u3164';
const turned = 'invoice\u202efdp.exe';
const family = '\u{1f469}\u200d\u{1f469}\u200d\u{1f467}';

const { service, client } = await openTestClient();
let code: string;

beforeAll(async () => {
  const made = await client.call('POST', '/v1/qr-codes', {
    body: { target: 'https://a.example/' },
  });
  code = word(made.json.id);
});

const target = 'https://a.example/';
const url = 'https://hooks.example/';
const campaign = { startDate: '2026-03-01', qrCodeIds: [] };
const fields: ReadonlyArray<[string, string, string, (text: string) => object]> = [
  ['POST', '/qr-codes', 'name', (name) => ({ target, name })],
  ['POST', '/qr-codes', 'tags.0', (tag) => ({ target, tags: [tag] })],
  ['POST', '/qr-codes', 'externalId', (externalId) => ({ target, externalId })],
  ['PATCH', '/qr-codes/:code', 'name', (name) => ({ name })],
  ['PUT', '/qr-codes/:code', 'tags.0', (tag) => ({ target, tags: [tag] })],
  ['POST', '/campaigns', 'name', (name) => ({ ...campaign, name })],
  ['POST', '/api-keys', 'name', (name) => ({ name })],
  ['POST', '/webhooks', 'description', (text) => ({ url, events: ['*'], description: text })],
  ['PATCH', '/workspaces/:workspace', 'name', (name) => ({ name })],
  [
    'POST',
    '/team/invites/accept',
    'name',
    (name) => ({ token: 'x', name, password: 'p'.repeat(12) }),
  ],
];

test.each(fields)('%s %s refuses a blank or turned %s', async (method, path, field, bodyOf) => {
  for (const [text, fault] of [
    [blank, 'required'],
    [turned, 'invalid_format'],
  ] as const) {
    const at = `/v1${path.replace(':code', code).replace(':workspace', service.actor.workspaceId)}`;
    const { status, faults } = await client.call(method, at, { body: bodyOf(text) });
    expect(status).toBe(422);
    expect(faults).toEqual([expect.objectContaining({ path: field, code: fault })]);
  }
});

test('an emoji of several is a name, and comes back as it was', async () => {
  const body = { target, name: family, tags: [family] };
  const { status, json } = await client.call('POST', '/v1/qr-codes', { body });
  expect(status).toBe(201);
  expect(json).toMatchObject({ name: family, tags: [family] });
});

test('a row of many and a row of an import fail by themselves', async () => {
  const body = [
    { target, name: blank },
    { target, name: turned },
    { target, name: 'fine' },
  ];
  const { json } = await client.call('POST', '/v1/qr-codes/bulk', { body });
  expect(json).toMatchObject({ created: 1, failed: 2 });
  const draft = importedDrafts('https://go.example');
  expect(draft({ target, name: turned })).toBeInstanceOf(Failure);
  expect(draft({ target, name: 'fine' })).not.toBeInstanceOf(Failure);
});

test('the commands’ users and keys too', async () => {
  const { users, keys } = service.workspaces;
  const { workspaceNo, userId } = service.actor;
  for (const name of ['', blank, turned]) {
    const user = { email: 'a@b.example', name, password: 'p'.repeat(12) };
    await expect(users.create(workspaceNo, 'editor', user)).rejects.toThrow(
      /^Cannot use this name: /,
    );
    const key = { workspaceNo, userId, name, role: 'viewer' } as const;
    await expect(keys.create(key)).rejects.toBeInstanceOf(Failure);
  }
});

test('a person cannot take such a name', async () => {
  const { users, profiles } = service.workspaces;
  const user = { email: 'old@b.example', name: 'Old', password: 'p'.repeat(12) };
  const { id } = await users.create(1, 'editor', user);
  await expect(profiles.rename(id, blank)).rejects.toThrow(/^Cannot use this name: /);
});
