import { execFileSync } from 'node:child_process';
import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/model/failure.ts';
import { openWorkspacesFixture, type WorkspacesFixture } from './workspaces-fixture.ts';

const revoker = new URL('revoke.ts', import.meta.url).pathname;

type Json = Record<string, unknown>;
interface KeyFile {
  keys: Array<{ kid: string; secret: string }>;
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
function decode(part: string | undefined): Json {
  const value: Json = JSON.parse(Buffer.from(part ?? '', 'base64url').toString());
  return value;
}

function keyFile(fixture: WorkspacesFixture): KeyFile {
  const path = join(fixture.temporary.folder, 'signing-keys.json');
  const value: KeyFile = JSON.parse(readFileSync(path, 'utf8'));
  return value;
}

/** A token signed with the installation's own secret, whatever it says. */
function forge(fixture: WorkspacesFixture, claims: Json, header: Json = {}): string {
  const { kid, secret } = keyFile(fixture).keys[0]!;
  const [oldHeader, oldClaims] = fixture.first.apiKey
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

async function outcome(fixture: WorkspacesFixture, token: string): Promise<string> {
  return await fixture.services.keys.verify(token).then(
    () => 'accepted',
    (error: unknown) => (error instanceof Failure ? error.code : JSON.stringify(error)),
  );
}

describe('the token', () => {
  test('is a JWT with the claims of the contract', async () => {
    const fixture = await openWorkspacesFixture();
    const { first, clock, services } = fixture;
    const [header, claims, signature] = first.apiKey.split('.');
    expect(decode(header)).toEqual({
      alg: 'HS256',
      typ: 'JWT',
      kid: keyFile(fixture).keys[0]!.kid,
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
    expect(await outcome(fixture, forge(fixture, {}))).toBe('accepted');
  });

  test('is refused when anything in it is not ours', async () => {
    const fixture = await openWorkspacesFixture();
    const { first, clock } = fixture;
    const [header, claims, signature] = first.apiKey.split('.');
    const other = await openWorkspacesFixture();
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
      'alg None, signed': forge(fixture, {}, { alg: 'None' }),
      HS512: forge(fixture, {}, { alg: 'HS512' }),
      RS256: `${rsaText}.${rsa}`,
      'public key as secret': `${confusedText}.${confused}`,
      'unknown kid': forge(fixture, {}, { kid: 'other' }),
      'kid as path': forge(fixture, {}, { kid: '../../../../dev/null' }),
      'kid as object': forge(fixture, {}, { kid: {} }),
      'crit header': forge(fixture, {}, { crit: ['exp'], exp: 1 }),
      'another installation': other.first.apiKey,
      'another issuer': forge(fixture, { iss: 'other' }),
      expired: forge(fixture, { exp: nowSeconds }),
      'not yet': forge(fixture, { nbf: nowSeconds + 60 }),
      'exp as text': forge(fixture, { exp: 'never' }),
      'unknown key': forge(fixture, { jti: 'key_00000000000000000000' }),
      'no key': forge(fixture, { jti: undefined }),
      'key as object': forge(fixture, { jti: { toString: 1 } }),
      'another user': forge(fixture, { sub: 'usr_00000000000000000000' }),
      'another workspace': forge(fixture, { ws: 'ws_00000000000000000000' }),
      'no workspace': forge(fixture, { ws: undefined }),
      'raised role': forge(fixture, { role: 'admin' }),
      'role as object': forge(fixture, { role: {} }),
    };
    for (const [name, token] of Object.entries(tokens)) {
      expect(await outcome(fixture, token), name).toBe('unauthorized');
      expect(await outcome(fixture, token), `${name}, again`).toBe('unauthorized');
    }
    expect(await outcome(fixture, first.apiKey)).toBe('accepted');
  });

  test('has one spelling: no other last character, no padding', async () => {
    const fixture = await openWorkspacesFixture();
    const token = fixture.first.apiKey;
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/';
    for (const last of alphabet) {
      const spelt = token.slice(0, -1) + last;
      expect(await outcome(fixture, spelt), last).toBe(
        spelt === token ? 'accepted' : 'unauthorized',
      );
    }
    for (const tail of ['=', '==', '.', ' ', '\n', 'A']) {
      expect(await outcome(fixture, token + tail), JSON.stringify(tail)).toBe('unauthorized');
    }
  });

  test('expires to the millisecond, warm or not', async () => {
    const fixture = await openWorkspacesFixture();
    const { services, first, clock } = fixture;
    const expiresAtMs = clock.now() + 10_500;
    const key = { workspaceNo: 1, userId: first.user.id, name: 'Short', role: 'viewer' } as const;
    const { token, record } = await services.keys.create({ ...key, expiresAtMs });
    expect(record.expiresAtMs).toBe(expiresAtMs);
    clock.move(10_499);
    expect(await outcome(fixture, token)).toBe('accepted');
    clock.move(1);
    expect(await outcome(fixture, token)).toBe('unauthorized');
  });
});

describe('create', () => {
  test('needs a member, and no role above his', async () => {
    const { services } = await openWorkspacesFixture();
    const email = 'ed@example.com';
    const { id: userId } = await services.users.create(1, 'editor', { email, name: 'Ed' });
    const make = async (more: object): Promise<unknown> =>
      await services.keys.create({ workspaceNo: 1, userId, name: 'K', role: 'editor', ...more });
    await make({});
    await expect(make({ role: 'admin' })).rejects.toMatchObject({ code: 'forbidden' });
    await expect(make({ workspaceNo: 2 })).rejects.toMatchObject({ code: 'not_found' });
    await expect(make({ userId: 'usr_x' })).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('a revoked key', () => {
  test('is refused on the next request, other keys are not', async () => {
    const fixture = await openWorkspacesFixture();
    const { services, first } = fixture;
    const key = { workspaceNo: 1, userId: first.user.id, name: 'Second', role: 'admin' } as const;
    const { token, record } = await services.keys.create(key);
    expect(await outcome(fixture, token)).toBe('accepted');
    await expect(services.keys.revoke(2, record.id)).rejects.toMatchObject({ code: 'not_found' });
    await services.keys.revoke(1, record.id);
    expect(await outcome(fixture, token)).toBe('unauthorized');
    expect(await outcome(fixture, first.apiKey)).toBe('accepted');
    await expect(services.keys.revoke(1, record.id)).rejects.toMatchObject({ code: 'not_found' });
    expect(services.keys.list(1).map(({ name }) => name)).toEqual(['First key', 'Second']);
    await fixture.restart();
    expect(await outcome(fixture, token)).toBe('unauthorized');
  });

  test('is refused on the next request too when another process revoked it', async () => {
    const fixture = await openWorkspacesFixture();
    for (let round = 0; round < 3; round++) {
      const key = {
        workspaceNo: 1,
        userId: fixture.first.user.id,
        name: 'K',
        role: 'admin',
      } as const;
      const { token, record } = await fixture.services.keys.create(key);
      expect(await outcome(fixture, token)).toBe('accepted');
      // On this very thread, so that nothing turns the event loop before the next request.
      execFileSync(process.execPath, [revoker, fixture.temporary.folder, record.id]);
      expect(await outcome(fixture, token)).toBe('unauthorized');
    }
    expect(await outcome(fixture, fixture.first.apiKey)).toBe('accepted');
  });
});

test("a key acts with its user's present role when that is less", async () => {
  const { services, temporary, first } = await openWorkspacesFixture();
  const store = temporary.store;
  const { users, keys } = services;
  const { id: userId } = await users.create(1, 'admin', { email: 'ad@example.com', name: 'Ad' });
  const { token } = await keys.create({ workspaceNo: 1, userId, name: 'K', role: 'admin' });
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
    const { services, first, clock } = await openWorkspacesFixture();
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
  const fixture = await openWorkspacesFixture();
  const path = join(fixture.temporary.folder, 'signing-keys.json');
  const fresh = { kid: 'new', secret: Buffer.alloc(32, 9).toString('base64url') };
  writeFileSync(path, JSON.stringify({ keys: [fresh, ...keyFile(fixture).keys] }));
  const forged = forge(fixture, {});
  expect(decode(forged.split('.')[0])).toMatchObject({ kid: 'new' });
  // The file is read anew for an unknown kid: once a change of access, else once a second.
  const known = keyFile(fixture);
  writeFileSync(path, JSON.stringify({ keys: known.keys.slice(1) }));
  expect(await outcome(fixture, forged)).toBe('unauthorized');
  writeFileSync(path, JSON.stringify(known));
  expect(await outcome(fixture, forged)).toBe('unauthorized');
  fixture.clock.move(1_000);
  expect(await outcome(fixture, forged)).toBe('accepted');
  expect(await outcome(fixture, fixture.first.apiKey)).toBe('accepted');
});

test('lastUsedAt is there at once and after a restart', async () => {
  const fixture = await openWorkspacesFixture();
  const [key] = fixture.services.keys.list(1);
  expect(fixture.services.keys.lastUsedAtMs(key?.id ?? '')).toBeUndefined();
  await fixture.services.keys.verify(fixture.first.apiKey);
  const usedAtMs = fixture.clock.now();
  expect(fixture.services.keys.lastUsedAtMs(key?.id ?? '')).toBe(usedAtMs);
  await fixture.restart();
  expect(fixture.services.keys.lastUsedAtMs(key?.id ?? '')).toBe(usedAtMs);
});
