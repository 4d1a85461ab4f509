import { execFileSync } from 'node:child_process';
import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Failure } from '../../../src/model/failure.ts';
import type { Role } from '../../../src/model/workspace.ts';
import { makeMember } from '../../support/test-client.ts';
import { openTestApp, type TestApp } from '../../support/test-app.ts';

type Json = Record<string, unknown>;
interface KeyFile {
  keys: Array<{ kid: string; secret: string }>;
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
function decode(part: string | undefined): Json {
  const value: Json = JSON.parse(Buffer.from(part ?? '', 'base64url').toString());
  return value;
}

function keyFile(app: TestApp): KeyFile {
  const path = join(app.dataDir, 'signing-keys.json');
  const value: KeyFile = JSON.parse(readFileSync(path, 'utf8'));
  return value;
}

/** A token signed with the installation's own secret, whatever it says. */
function forge(app: TestApp, claims: Json, header: Json = {}): string {
  const { kid, secret } = keyFile(app).keys[0]!;
  const [oldHeader, oldClaims] = app.first.apiKey
    .split('.')
    .slice(0, 2)
    .map((part) => decode(part));
  const text = `${encode({ ...oldHeader, kid, ...header })}.${encode({ ...oldClaims, ...claims })}`;
  const mac = createHmac(
    header.alg === 'HS512' ? 'sha512' : 'sha256',
    Buffer.from(secret, 'base64url'),
  ).update(text);
  return `${text}.${mac.digest('base64url')}`;
}

/** A key of the first owner. */
const makeKey = async (
  { workspaces, first }: TestApp,
  more: { role?: Role; expiresAtMs?: number },
) =>
  await workspaces.keys.create({
    workspaceNo: 1,
    userId: first.user.id,
    name: 'Second',
    role: 'admin',
    ...more,
  });

async function outcome(app: TestApp, token: string): Promise<string> {
  return await app.workspaces.keys.verify(token).then(
    () => 'accepted',
    (error: unknown) => (error instanceof Failure ? error.code : JSON.stringify(error)),
  );
}

describe('the token', () => {
  test('is a JWT with the claims of the contract', async () => {
    const app = await openTestApp();
    const { first, clock, workspaces: services } = app;
    const [header, claims, signature] = first.apiKey.split('.');
    expect(decode(header)).toEqual({
      alg: 'HS256',
      typ: 'JWT',
      kid: keyFile(app).keys[0]!.kid,
    });
    expect(decode(claims)).toEqual({
      iss: 'quietzone',
      sub: first.user.id,
      ws: first.workspace.id,
      role: 'owner',
      jti: services.keys.list(1)[0]?.id,
      iat: Math.floor(clock.now() / 1_000),
    });
    expect(signature).toMatch(/^[\w-]{43}$/);
    expect(await outcome(app, forge(app, {}))).toBe('accepted');
  });

  test('is refused when anything in it is not ours', async () => {
    const app = await openTestApp();
    const { first, clock } = app;
    const [header, claims, signature] = first.apiKey.split('.');
    const other = await openTestApp();
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
    const rsaText = `${encode({ alg: 'RS256', typ: 'JWT' })}.${claims}`;
    const rsa = sign('sha256', Buffer.from(rsaText), privateKey).toString('base64url');
    const pem = publicKey.export({ type: 'spki', format: 'pem' });
    const confusedText = `${encode({ alg: 'HS256', jwk: publicKey.export({ format: 'jwk' }) })}.${claims}`;
    const confused = createHmac('sha256', pem).update(confusedText).digest('base64url');
    const nowSeconds = Math.floor(clock.now() / 1_000);
    const tokens: Record<string, string> = {
      empty: '',
      'no JWT': 'x',
      dots: '..',
      'not base64': '\u0000.\u0000.\u0000',
      'too long': 'a'.repeat(1_000_000),
      'no signature': `${header}.${claims}.`,
      'cut signature': first.apiKey.slice(0, -1),
      'other signature': `${header}.${claims}.${'A'.repeat(43)}`,
      'changed claims': `${header}.${encode({ ...decode(claims), role: 'viewer' })}.${signature}`,
      'alg none': `${encode({ alg: 'none', typ: 'JWT' })}.${claims}.`,
      'alg None, signed': forge(app, {}, { alg: 'None' }),
      HS512: forge(app, {}, { alg: 'HS512' }),
      RS256: `${rsaText}.${rsa}`,
      'public key as secret': `${confusedText}.${confused}`,
      'unknown kid': forge(app, {}, { kid: 'other' }),
      'kid as path': forge(app, {}, { kid: '../../../../dev/null' }),
      'kid as object': forge(app, {}, { kid: {} }),
      'crit header': forge(app, {}, { crit: ['exp'], exp: 1 }),
      'another installation': other.first.apiKey,
      'another issuer': forge(app, { iss: 'other' }),
      expired: forge(app, { exp: nowSeconds }),
      'not yet': forge(app, { nbf: nowSeconds + 60 }),
      'exp as text': forge(app, { exp: 'never' }),
      'unknown key': forge(app, { jti: 'key_00000000000000000000' }),
      'no key': forge(app, { jti: undefined }),
      'key as object': forge(app, { jti: { toString: 1 } }),
      'another user': forge(app, { sub: 'usr_00000000000000000000' }),
      'another workspace': forge(app, { ws: 'ws_00000000000000000000' }),
      'no workspace': forge(app, { ws: undefined }),
      'raised role': forge(app, { role: 'admin' }),
      'role as object': forge(app, { role: {} }),
    };
    for (const [name, token] of Object.entries(tokens)) {
      expect(await outcome(app, token), name).toBe('unauthorized');
      expect(await outcome(app, token), `${name}, again`).toBe('unauthorized');
    }
    expect(await outcome(app, first.apiKey)).toBe('accepted');
  });

  test('has one spelling: no other last character, no padding', async () => {
    const app = await openTestApp();
    const token = app.first.apiKey;
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/';
    for (const last of alphabet) {
      const spelt = token.slice(0, -1) + last;
      expect(await outcome(app, spelt), last).toBe(spelt === token ? 'accepted' : 'unauthorized');
    }
    for (const tail of ['=', '==', '.', ' ', '\n', 'A']) {
      expect(await outcome(app, token + tail), JSON.stringify(tail)).toBe('unauthorized');
    }
  });

  test('expires to the millisecond, warm or not', async () => {
    const app = await openTestApp();
    const { clock } = app;
    const expiresAtMs = clock.now() + 10_500;
    const { token, record } = await makeKey(app, { role: 'viewer', expiresAtMs });
    expect(record.expiresAtMs).toBe(expiresAtMs);
    clock.move(10_499);
    expect(await outcome(app, token)).toBe('accepted');
    clock.move(1);
    expect(await outcome(app, token)).toBe('unauthorized');
  });
});

test('a new key needs a member, and no role above theirs', async () => {
  const { workspaces: services } = await openTestApp();
  const email = 'ed@example.com';
  const { id: userId } = await services.users.create(1, 'editor', { email, name: 'Ed' });
  const make = async (more: object): Promise<unknown> =>
    await services.keys.create({ workspaceNo: 1, userId, name: 'K', role: 'editor', ...more });
  await make({});
  await expect(make({ role: 'admin' })).rejects.toMatchObject({ code: 'forbidden' });
  await expect(make({ workspaceNo: 2 })).rejects.toMatchObject({ code: 'not_found' });
  await expect(make({ userId: 'usr_x' })).rejects.toMatchObject({ code: 'not_found' });
});

describe('a revoked key', () => {
  test('is refused on the next request, other keys are not', async () => {
    const app = await openTestApp();
    const { workspaces: services, first } = app;
    const { token, record } = await makeKey(app, {});
    expect(await outcome(app, token)).toBe('accepted');
    await expect(services.keys.revoke(2, record.id)).rejects.toMatchObject({ code: 'not_found' });
    await services.keys.revoke(1, record.id);
    expect(await outcome(app, token)).toBe('unauthorized');
    expect(await outcome(app, first.apiKey)).toBe('accepted');
    await expect(services.keys.revoke(1, record.id)).rejects.toMatchObject({ code: 'not_found' });
    expect(services.keys.list(1).map(({ name }) => name)).toEqual(['First key', 'Second']);
    expect(await outcome(await app.restart(), token)).toBe('unauthorized');
  });
});

test('a key that another process removes is refused on the next request', async () => {
  const app = await openTestApp();
  const { token, record } = await makeKey(app, {});
  expect(await outcome(app, token)).toBe('accepted');
  const url = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);
  const source = `
    const { openManagement } = await import(${url('../../../src/store/management/management.ts')});
    const store = openManagement(${JSON.stringify(join(app.dataDir, 'management.mdb'))});
    await store.environment.transaction(() => {
      store.apiKeys.remove(${JSON.stringify(record.id)});
      store.meta.put('version:access', (store.meta.get('version:access') ?? 0) + 1);
    });
    await store.close();`;
  // On this very thread, so that nothing turns the event loop before the next request.
  execFileSync(process.execPath, ['--input-type=module', '--eval', source]);
  expect(await outcome(app, token)).toBe('unauthorized');
});

test("a key acts with its user's present role when that is less", async () => {
  const app = await openTestApp();
  const { workspaces: services, store, first } = app;
  const { keys } = services;
  const { id: userId, key: token } = await makeMember(app, 'admin');
  expect((await keys.verify(token)).actor.role).toBe('admin');
  await store.environment.transaction(() => {
    store.memberships.put([1, userId], { role: 'viewer', joinedAtMs: 0 });
    store.meta.put('version:access', (store.meta.get('version:access') ?? 0) + 1);
  });
  expect((await keys.verify(token)).actor.role).toBe('viewer');
  await store.environment.transaction(() => {
    store.memberships.remove([1, userId]);
    store.meta.put('version:access', (store.meta.get('version:access') ?? 0) + 1);
  });
  await expect(keys.verify(token)).rejects.toMatchObject({ code: 'unauthorized' });
  expect((await keys.verify(first.apiKey)).actor.role).toBe('owner');
});

test.each([
  ['without an end', undefined],
  ['with an end', 1_000_000_000],
])(
  'a key %s that is rotated twice is replaced by keys with its own life',
  async (_what, lifeMs) => {
    const { workspaces: services, first, clock } = await openTestApp();
    const owner = { workspaceNo: 1, userId: first.user.id, role: 'owner' } as const;
    const made = await services.keys.create({
      ...owner,
      name: 'Long',
      ...(lifeMs === undefined ? {} : { expiresAtMs: clock.now() + lifeMs }),
    });
    for (const overlapMs of [60_000, 30_000]) {
      const { record } = await services.keys.rotate(owner, made.record.id, overlapMs);
      expect(record.expiresAtMs).toBe(lifeMs === undefined ? undefined : clock.now() + lifeMs);
      expect(record.madeToEndAtMs).toBeUndefined();
      expect(services.keys.find(made.record.id)?.expiresAtMs).toBe(clock.now() + overlapMs);
      clock.move(1_000);
    }
  },
);

test('a rotated signing secret signs new keys and old ones stay good', async () => {
  const app = await openTestApp();
  const path = join(app.dataDir, 'signing-keys.json');
  const fresh = { kid: 'new', secret: Buffer.alloc(32, 9).toString('base64url') };
  writeFileSync(path, JSON.stringify({ keys: [fresh, ...keyFile(app).keys] }));
  const forged = forge(app, {});
  expect(decode(forged.split('.')[0])).toMatchObject({ kid: 'new' });
  // The file is read anew for an unknown kid: once a change of access, else once a second.
  const known = keyFile(app);
  writeFileSync(path, JSON.stringify({ keys: known.keys.slice(1) }));
  expect(await outcome(app, forged)).toBe('unauthorized');
  writeFileSync(path, JSON.stringify(known));
  expect(await outcome(app, forged)).toBe('unauthorized');
  app.clock.move(1_000);
  expect(await outcome(app, forged)).toBe('accepted');
  expect(await outcome(app, app.first.apiKey)).toBe('accepted');
});

test('lastUsedAt is there at once and after a restart', async () => {
  const app = await openTestApp();
  const [key] = app.workspaces.keys.list(1);
  expect(app.workspaces.keys.lastUsedAtMs(key?.id ?? '')).toBeUndefined();
  await app.workspaces.keys.verify(app.first.apiKey);
  const usedAtMs = app.clock.now();
  expect(app.workspaces.keys.lastUsedAtMs(key?.id ?? '')).toBe(usedAtMs);
  const { workspaces } = await app.restart();
  expect(workspaces.keys.lastUsedAtMs(key?.id ?? '')).toBe(usedAtMs);
});
