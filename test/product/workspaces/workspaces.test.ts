/** The first workspace, its users, its plan and its zone, and the keys that sign. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { makeSigningKeys, readSigningKeys } from '../../../src/product/workspaces/signing-keys.ts';
import { dayMs, dayOf } from '../../../src/model/day.ts';
import { temporaryFolder } from '../../store/temporary-management.ts';
import { openTestApp } from '../../support/test-app.ts';

test('bootstrap makes workspace, owner and key, once', async () => {
  const app = await openTestApp({ plan: 'enterprise' });
  const { first, workspaces: services } = app;
  expect(first.workspace).toMatchObject({ no: 1, plan: 'enterprise' });
  expect(first.password).toMatch(/^[A-Za-z0-9_-]{24}$/);
  const { actor, limits } = await services.keys.verify(first.apiKey);
  expect(actor).toEqual({
    userId: first.user.id,
    workspaceId: first.workspace.id,
    workspaceNo: 1,
    role: 'owner',
    keyId: services.keys.list(1)[0]?.id,
  });
  expect(limits).toEqual({ perMinute: 600, perDay: undefined });
  const again = { email: 'other@example.com', password: 'x', plan: 'free' } as const;
  expect(await services.workspaces.bootstrap(again)).toBeUndefined();
  const { workspaces, users } = (await app.restart()).workspaces;
  expect(await workspaces.bootstrap(again)).toBeUndefined();
  expect(workspaces.findById(first.workspace.id)?.no).toBe(1);
  expect([...workspaces.all()]).toHaveLength(1);
  expect(users.firstOwner(1)?.id).toBe(first.user.id);
});

test('bootstrap keeps neither the password nor the token', async () => {
  const app = await openTestApp();
  const { password, apiKey } = app.first;
  await app.restart();
  const bytes = readFileSync(join(app.dataDir, 'management.mdb'));
  expect(bytes.includes(password)).toBe(false);
  expect(bytes.includes(apiKey.split('.')[2] ?? '')).toBe(false);
});

test('an e-mail belongs to one user, however it is written and raced for', async () => {
  const { workspaces: services } = await openTestApp();
  const name = 'Zoë';
  const emails = ['zoe\u0308@example.com', 'ZO\u00cb@example.com', 'zo\u00eb@example.com'];
  const made = await Promise.allSettled(
    emails.map(async (email) => await services.users.create(1, 'editor', { email, name })),
  );
  expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  const user = services.users.findByEmail('zoë@EXAMPLE.COM');
  expect(services.users.roleIn(1, user?.id ?? '')).toBe('editor');
  expect(await services.users.authenticate('zoë@example.com', '')).toBeUndefined();
});

test('users have bounded names, e-mails and passwords', async () => {
  const { workspaces: services, first } = await openTestApp();
  const refused = { code: 'validation_failed' };
  const user = { email: 'a@b.example', name: 'A' };
  const long = 'x'.repeat(300);
  for (const more of [{ email: `${long}@b.example` }, { name: long }, { password: long }]) {
    const work = services.users.create(1, 'viewer', { ...user, ...more });
    await expect(work).rejects.toMatchObject(refused);
  }
  for (const name of ['', long]) {
    const key = { workspaceNo: 1, userId: first.user.id, name, role: 'viewer' } as const;
    await expect(services.keys.create(key)).rejects.toMatchObject(refused);
  }
  expect(await services.users.authenticate(first.user.email, long)).toBeUndefined();
});

test('users need a workspace', async () => {
  const { workspaces: services } = await openTestApp();
  const work = services.users.create(9, 'viewer', { email: 'a@b.example', name: 'A' });
  await expect(work).rejects.toMatchObject({ code: 'not_found' });
});

test('setPlan holds from the next request, an override replaces the numbers', async () => {
  const { workspaces: services, first } = await openTestApp({ plan: 'free' });
  const limits = async (): Promise<object> => (await services.keys.verify(first.apiKey)).limits;
  expect(await limits()).toEqual({ perMinute: 20, perDay: 1_000 });
  await services.workspaces.setPlan(1, 'pro');
  expect(await limits()).toEqual({ perMinute: 120, perDay: 50_000 });
  await services.workspaces.setPlan(1, 'enterprise', { perMinute: 5_000, perDay: 7 });
  expect(await limits()).toEqual({ perMinute: 5_000, perDay: 7 });
  await services.workspaces.setPlan(1, 'enterprise');
  expect(await limits()).toEqual({ perMinute: 600, perDay: undefined });
});

describe('signing keys', () => {
  const random = (bytes: Uint8Array): Uint8Array => crypto.getRandomValues(bytes);

  test('are made once, readable by the owner only', () => {
    const folder = temporaryFolder();
    makeSigningKeys(folder, random);
    const made = readSigningKeys(folder);
    expect(made).toHaveLength(1);
    expect(statSync(join(folder, 'signing-keys.json')).mode & 0o777).toBe(0o600);
    makeSigningKeys(folder, random);
    const again = readSigningKeys(folder);
    expect(again[0]?.kid).toBe(made[0]?.kid);
    expect(again[0]?.secret.equals(made[0]!.secret)).toBe(true);
  });

  test.each([
    ['', 'it is not JSON'],
    ['{}', 'no list of keys'],
    ['{"keys":[]}', 'no list of keys'],
    ['{"keys":[{"kid":"a"}]}', 'no kid or no secret'],
    ['{"keys":[{"kid":"a","secret":"c2hvcnQ"}]}', 'shorter than 32 bytes'],
  ])('a file with %j is refused and left alone', (text, reason) => {
    const folder = temporaryFolder();
    const path = join(folder, 'signing-keys.json');
    writeFileSync(path, text);
    expect(() => readSigningKeys(folder)).toThrow(reason);
    expect(readFileSync(path, 'utf8')).toBe(text);
  });
});

it('is counted in from the next UTC day on, whatever it was set to meanwhile', async () => {
  let nowMs = Date.UTC(2026, 5, 10, 12);
  const app = await openTestApp({
    clock: { now: () => nowMs, monotonicMs: () => performance.now() },
  });
  const { workspaces } = app.workspaces;
  const today = dayOf(nowMs);
  const set = async (timezone: string): Promise<unknown> => {
    const { zoneSinceDay, zoneBefore } = await workspaces.change(1, { timezone });
    return [timezone, zoneSinceDay, zoneBefore];
  };
  expect(workspaces.get(1).timezone).toBeUndefined();
  expect(await set('Europe/Berlin')).toEqual(['Europe/Berlin', today + 1, 'UTC']);
  expect(await set('Asia/Tokyo')).toEqual(['Asia/Tokyo', today + 1, 'UTC']);
  nowMs += dayMs;
  // Tokyo has begun: it is what today is counted in.
  expect(await set('America/New_York')).toEqual(['America/New_York', today + 2, 'Asia/Tokyo']);
  expect(await set('America/New_York')).toEqual(['America/New_York', today + 2, 'Asia/Tokyo']);
  nowMs += 5 * dayMs;
  expect(await set('UTC')).toEqual(['UTC', today + 7, 'America/New_York']);
  const { weekStart, name } = await workspaces.change(1, { weekStart: 'sun', name: 'Shop' });
  expect([weekStart, name, workspaces.get(1).timezone]).toEqual(['sun', 'Shop', 'UTC']);
});
