import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openTestApp } from '../support/test-app.ts';
import { timersOf } from '../store/timers.ts';

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
