import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openWorkspacesFixture } from './workspaces-fixture.ts';

const dayMs = 86_400_000;

test('a session ends after 7 idle days, and 30 days after it began however it is used', async () => {
  const fixture = await openWorkspacesFixture();
  const { user } = fixture.first;
  const begin = async () => await fixture.services.sessions.begin(user.id, user.passwordHash);
  const idle = await begin();
  const used = await begin();
  for (let day = 1; day < 30; day += 1) {
    fixture.clock.move(dayMs);
    expect(fixture.services.sessions.find(used.secret)?.actor.userId).toBe(user.id);
    // Looking is a use: the idle one is looked at once its time is over.
    if (day === 7) expect(fixture.services.sessions.find(idle.secret)).toBeUndefined();
    // The last use is known after a restart too.
    if (day % 10 === 0) await fixture.restart();
  }
  fixture.clock.move(dayMs);
  expect(fixture.services.sessions.find(used.secret)).toBeUndefined();
  fixture.clock.move(1);
  expect(await fixture.services.sessions.expire()).toBe(2);
  const { people } = fixture.temporary.store;
  const tables = [people.sessions, people.sessionUses];
  expect(tables.map((table) => table.count({}))).toEqual([0, 0]);
  expect([people.userSessions.count({}), people.sessionExpiry.count({})]).toEqual([0, 0]);
});

test('its secret is not in the store, and a user has 100 at most', async () => {
  const fixture = await openWorkspacesFixture();
  const { user } = fixture.first;
  const { sessions } = fixture.services;
  const first = await sessions.begin(user.id, user.passwordHash);
  await fixture.temporary.store.environment.flush();
  const bytes = readFileSync(join(fixture.temporary.folder, 'management.mdb'));
  expect(bytes.includes(first.secret)).toBe(false);
  fixture.clock.move(1_000);
  for (let made = 0; made < 100; made += 1) await sessions.begin(user.id, user.passwordHash);
  expect(sessions.find(first.secret)).toBeUndefined();
  expect(fixture.temporary.store.people.sessions.count({})).toBe(100);
  expect(sessions.find('nonsense')).toBeUndefined();
  await expect(sessions.begin(user.id, 'another hash')).rejects.toMatchObject({
    code: 'unauthorized',
  });
});

test('invites are removed with all their entries a month after their end', async () => {
  const fixture = await openWorkspacesFixture();
  const { invites, keys } = fixture.services;
  const { actor } = await keys.verify(fixture.first.apiKey);
  await invites.create(actor, 'late@example.com', 'viewer');
  const removed = await invites.create(actor, 'gone@example.com', 'viewer');
  await invites.remove(1, removed.invite.id);
  fixture.clock.move(37 * dayMs - 1);
  expect(await invites.expire()).toBe(0);
  fixture.clock.move(2);
  expect(await invites.expire()).toBe(1);
  const { people } = fixture.temporary.store;
  const counts = [
    people.invites.count({}),
    people.workspaceInvites.count({}),
    people.inviteTokens.count({}),
    people.pendingInvites.count({}),
    people.inviteExpiry.count({}),
  ];
  expect(counts).toEqual([0, 0, 0, 0, 0]);
});
