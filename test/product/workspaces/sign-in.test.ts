/** Passwords and their hashes, waits after wrong ones, sessions and invites that end. */
import { createSecretKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  assertStrong,
  limitHashes,
  passwordMatches,
  Passwords,
} from '../../../src/product/workspaces/passwords.ts';
import { Failure } from '../../../src/model/failure.ts';
import { SignInThrottle } from '../../../src/product/workspaces/sign-in-throttle.ts';
import { Users } from '../../../src/product/workspaces/users.ts';
import { TestClock } from '../../support/fakes/test-clock.ts';
import { openTestApp } from '../../support/test-app.ts';
import { timersOf } from '../../store/timers.ts';

const key = createSecretKey(Buffer.alloc(32, 7));
const secret = (): KeyObject => key;

describe('passwords', () => {
  const randomBytes = (bytes: Uint8Array): Uint8Array => bytes.fill(7);

  test('have their parameters and salt in the hash', async () => {
    const hash = await new Passwords({ randomBytes, secret }).hash('pässword');
    expect(hash).toMatch(/^scrypt\$15\$8\$3\$[\w-]{22}\$[\w-]{43}$/);
    expect(await passwordMatches('pa\u0308ssword', hash)).toBe(true);
    const cheap = 'scrypt$4$8$1$BwcHBwcHBwcHBwcHBwcHBw$' + 'A'.repeat(43);
    expect(await passwordMatches('x', cheap)).toBe(false);
    await expect(passwordMatches('x', hash.replace('$15$', '$30$'))).rejects.toThrow('cost');
    await expect(passwordMatches('x', 'plain')).rejects.toThrow('another form');
  });

  test('are hashed two at a time; 32 wait, the rest is refused', async () => {
    // One bound for a process: a service with little memory that ran in this one has left a smaller.
    limitHashes();
    const passwords = new Passwords({ randomBytes, costLog2: 4, secret });
    const hash = await passwords.hash('password');
    const all = await Promise.allSettled([
      ...Array.from({ length: 50 }, (_, at) => passwords.hash(`password ${at}`)),
      passwordMatches('password', hash),
    ]);
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(34);
    const refused = { status: 'rejected', reason: { code: 'overloaded', retryAfterSeconds: 5 } };
    expect(all.slice(-2)).toMatchObject([refused, refused]);
    expect(await passwordMatches('password', hash)).toBe(true);
    expect(await passwordMatches('passwort', hash)).toBe(false);
  });
});

describe('a password that a person chooses', () => {
  const check = async (password: string): Promise<string> => {
    const own = ['jane.doe@example.com', 'Jané van Doe'];
    const refused = await assertStrong('password', password, own).catch((error: unknown) => error);
    return refused instanceof Error ? refused.message : '';
  };

  test.each(['a good password', 'correct horse', 'jane likes sunshine', '83746152', 'пароль-мой'])(
    'may be %s',
    async (password) => expect(await check(password)).toBe(''),
  );

  test.each([
    ['short', 'Expected at least 8 characters'],
    ['jane.doe@example.com', 'made of your e-mail address'],
    ['Jane.Doe-1985', 'made of your e-mail address'],
    ['doejané!', 'made of your e-mail address'],
    ['Quietzone2026', 'or the name Quietzone'],
    ['password', 'Attackers try this password among the first'],
    ['Password2026!', 'Attackers try this'],
    ['ｑｗｅｒｔｙ１２３', 'Attackers try this'],
    ['abababab', 'Choose another, such as four words.'],
  ])('is not %s: %s', async (password, why) => expect(await check(password)).toContain(why));

  test('is checked within a frame, however long it is', async () => {
    await check('a good password');
    const startedMs = performance.now();
    for (const text of ['p@ssw0rd', '4@8({[<3', 'jane']) await check(text.repeat(32));
    expect(performance.now() - startedMs).toBeLessThan(100);
  });
});

test('a wrong password and an unknown e-mail take the same time', async () => {
  const { store, base, clock } = await openTestApp();
  const passwords = new Passwords({ ...base, costLog2: 13, secret });
  const users = new Users(store, base.ids, clock, passwords);
  await users.create(1, 'viewer', { email: 'jane@example.com', name: 'Jane', password: 'right' });
  const leastMs = { 'jane@example.com': Infinity, 'nobody@example.com': Infinity };
  const isAlike = (): boolean => {
    const ratio = leastMs['nobody@example.com'] / leastMs['jane@example.com'];
    return ratio > 0.3 && ratio < 3;
  };
  // The least of several each: a hash is nearly all of it, but a busy machine may hold one up, also many in a row. It
  // ends with the first that are alike, so only a real difference takes all of them.
  for (let tries = 0; tries < 50 && !isAlike(); tries += 1) {
    for (const email of ['jane@example.com', 'nobody@example.com'] as const) {
      const startedMs = performance.now();
      expect(await users.authenticate(email, 'wrong')).toBeUndefined();
      leastMs[email] = Math.min(leastMs[email], performance.now() - startedMs);
    }
  }
  expect(isAlike(), JSON.stringify(leastMs)).toBe(true);
});

describe('SignInThrottle', () => {
  const attempt = (throttle: SignInThrottle, account: string, address: string): number => {
    try {
      throttle.begin(account, { client: address });
      return 0;
    } catch (error) {
      return error instanceof Failure ? (error.retryAfterSeconds ?? -1) : -1;
    }
  };

  test('doubles the wait with each failure, up to its bound', () => {
    const clock = new TestClock();
    const throttle = new SignInThrottle(clock);
    const waits: number[] = [];
    for (let tries = 0; tries < 14; tries += 1) {
      attempt(throttle, 'a', `192.0.2.${tries}`);
      const waitSeconds = attempt(throttle, 'a', '198.51.100.1');
      waits.push(waitSeconds);
      clock.move(waitSeconds * 1_000);
    }
    expect(waits.at(-1)).toBe(60);
    expect(waits.filter((wait, at) => at > 0 && wait < (waits[at - 1] ?? 0))).toEqual([]);
  });

  test('is per address too, forgives a success, starts afresh after an hour, and is bounded', () => {
    const clock = new TestClock();
    const throttle = new SignInThrottle(clock, 100);
    for (let tries = 0; tries < 20; tries += 1) attempt(throttle, `u${tries}`, '192.0.2.1');
    expect(attempt(throttle, 'fresh', '192.0.2.1')).toBeGreaterThan(0);
    expect(attempt(throttle, 'fresh', '192.0.2.2')).toBe(0);
    for (let tries = 0; tries < 30; tries += 1)
      throttle.begin('good', { client: '192.0.2.3' }).succeed();
    clock.move(3_600_000);
    expect(attempt(throttle, 'fresh', '192.0.2.1')).toBe(0);
    for (let tries = 0; tries < 1_000; tries += 1)
      attempt(throttle, `n${tries}`, `10.0.${tries >> 8}.${tries & 255}`);
    expect(attempt(throttle, 'last', '192.0.2.9')).toBe(0);
  });
});

const dayMs = 86_400_000;

test('a session ends after 7 idle days, and 30 days after it began however it is used', async () => {
  let app = await openTestApp();
  const { user } = app.first;
  const begin = async () => await app.workspaces.sessions.begin(user.id, user.passwordHash);
  const idle = await begin();
  const used = await begin();
  for (let day = 1; day < 30; day += 1) {
    app.clock.move(dayMs);
    expect(app.workspaces.sessions.find(used.secret)?.actor.userId).toBe(user.id);
    // Looking is a use: the idle one is looked at once its time is over.
    if (day === 7) expect(app.workspaces.sessions.find(idle.secret)).toBeUndefined();
    // The last use is known after a restart too.
    if (day % 10 === 0) app = await app.restart();
  }
  app.clock.move(dayMs);
  expect(app.workspaces.sessions.find(used.secret)).toBeUndefined();
  app.clock.move(1);
  expect(await app.workspaces.sessions.expire()).toBe(2);
  const { people } = app.store;
  const tables = [people.sessions, people.sessionUses];
  expect(tables.map((table) => table.count({}))).toEqual([0, 0]);
  expect([people.userSessions.count({}), timersOf(people.sessionExpiry)]).toEqual([0, []]);
});

test('its secret is not in the store, and a user has 100 at most', async () => {
  const app = await openTestApp();
  const { user } = app.first;
  const { sessions } = app.workspaces;
  const first = await sessions.begin(user.id, user.passwordHash);
  await app.store.environment.flush();
  const bytes = readFileSync(join(app.dataDir, 'management.mdb'));
  expect(bytes.includes(first.secret)).toBe(false);
  app.clock.move(1_000);
  for (let made = 0; made < 100; made += 1) await sessions.begin(user.id, user.passwordHash);
  expect(sessions.find(first.secret)).toBeUndefined();
  expect(app.store.people.sessions.count({})).toBe(100);
  expect(sessions.find('nonsense')).toBeUndefined();
  await expect(sessions.begin(user.id, 'another hash')).rejects.toMatchObject({
    code: 'unauthorized',
  });
});

test('invites are removed with all their entries a month after their end', async () => {
  const app = await openTestApp();
  const { invites, keys } = app.workspaces;
  const { actor } = await keys.verify(app.first.apiKey);
  const wanted = { role: 'viewer', delivery: 'shown' } as const;
  await invites.create(actor, { ...wanted, email: 'late@example.com' });
  const removed = await invites.create(actor, { ...wanted, email: 'gone@example.com' });
  await invites.remove(1, removed.invite.id);
  app.clock.move(37 * dayMs - 1);
  expect(await invites.expire()).toBe(0);
  app.clock.move(2);
  expect(await invites.expire()).toBe(1);
  const { people } = app.store;
  const counts = [
    people.invites.count({}),
    people.workspaceInvites.count({}),
    people.inviteTokens.count({}),
    people.pendingInvites.count({}),
    timersOf(people.inviteExpiry).length,
  ];
  expect(counts).toEqual([0, 0, 0, 0, 0]);
});
