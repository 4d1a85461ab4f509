/** Digests: who gets them, when, once for a period, and how they end. A real mail server gets them. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { DigestScheduler } from '../../../src/product/reports/digests/digest-scheduler.ts';
import { dayMs } from '../../../src/model/day.ts';
import { damage } from '../codes/codes-fixture.ts';
import { Browser } from '../../support/browser.ts';
import { type Answer, Client } from '../../support/client.ts';
import { startMailServer } from '../../support/fakes/mail-server.ts';
import { makeMember, openMailing } from '../../support/test-client.ts';
import { openTestApp, startTestApi, type TestApp } from '../../support/test-app.ts';
import { timersOf } from '../../store/timers.ts';

const hourMs = 3_600_000;
/** The clock of a test starts on Wednesday, 2026-03-04 05:06. */
const monday = Date.UTC(2026, 2, 9, 8);
const first = Date.UTC(2026, 3, 1, 8);

type Person = Awaited<ReturnType<typeof memberOf>>;

/** A member of the first workspace, signed in. */
async function memberOf(app: TestApp) {
  const { id, ...account } = await makeMember(app, 'viewer', 'jane@example.com');
  return { id, browser: await Browser.signedIn(app, account) };
}

const ask = async ({ browser }: Person, frequency: string): Promise<Answer> =>
  await browser.put('/v1/profile/digest', { frequency });

/** Not started: a test calls `tick`. @param send in place of the mail server */
function schedulerOf(app: TestApp, send?: (to: string) => Promise<boolean>): DigestScheduler {
  const { digests, digestNumbers: numbers } = app.reports;
  const { emails } = app.mail!;
  const { publicUrl } = app.config.api;
  return new DigestScheduler({
    ...app.base,
    digests,
    numbers,
    publicUrl,
    send: async (mail) => (await send?.(mail.to)) ?? (await emails.digest(mail)),
  });
}

/** The service with a mail server, and a member who has asked for digests, or not. */
async function start(frequency = 'off') {
  const { mail: server, service: app, client } = await openMailing();
  const jane = await memberOf(app);
  if (frequency !== 'off') await ask(jane, frequency);
  return { server, app, client, jane };
}

const frequencyOf = async ({ browser }: Person): Promise<unknown> =>
  (await browser.get('/v1/profile/digest')).json.frequency;

/** Lines of a mail that were folded, and what stands for other characters, as they were. */
const unfolded = (source: string): string =>
  source
    .replace(/\r\n[ \t]+/g, ' ')
    .replace(/=\r\n/g, '')
    .replace(/=3D/g, '=');

test('a member asks for it, and gets the week when it is over', async () => {
  const { app, server, jane } = await start();
  const before = await jane.browser.get('/v1/profile/digest');
  expect(before.json).toEqual({ available: true, frequency: 'off', nextAt: null });
  const nextAt = '2026-03-09T08:00:00.000Z';
  const asked = { available: true, frequency: 'weekly', nextAt };
  expect((await ask(jane, 'weekly')).json).toEqual(asked);
  app.scans.lifetime.set(0, 321);
  const scheduler = schedulerOf(app);
  app.clock.set(monday - 1);
  expect(await scheduler.tick()).toBe(0);
  app.clock.set(monday);
  expect(await scheduler.tick()).toBe(1);
  const { to, source } = await server.next();
  expect(to).toEqual(['jane@example.com']);
  const mail = unfolded(source);
  expect(mail).toContain('Subject: My workspace: 321 scans last week');
  expect(mail).toContain('2 Mar to 8 Mar 2026');
  expect(mail).toContain('Content-Type: text/html');
  expect(mail).toContain('Germany');
  expect(mail).toMatch(/List-Unsubscribe: <http:\/\/localhost:8080\/unsubscribe\/[\w-]{43}>/);
  expect(mail).toContain('List-Unsubscribe-Post: List-Unsubscribe=One-Click');
  const after = await jane.browser.get('/v1/profile/digest');
  expect(after.json.nextAt).toBe('2026-03-16T08:00:00.000Z');
});

test('a period is sent once, whatever restarts, and however the clock is set', async () => {
  let { app } = await start('weekly');
  app.clock.set(monday);
  const sent: string[] = [];
  const send = async (to: string): Promise<boolean> => sent.push(to) > 0;
  const [one, other] = [schedulerOf(app, send), schedulerOf(app, send)];
  await Promise.all([one.tick(), other.tick(), one.tick()]);
  expect(sent).toHaveLength(1);
  app = await app.restart();
  await schedulerOf(app, send).tick();
  app.clock.set(monday - 3 * hourMs);
  await schedulerOf(app, send).tick();
  app.clock.set(monday + hourMs);
  await schedulerOf(app, send).tick();
  expect(sent).toHaveLength(1);
  // Three weeks without a service: the last of them is told, those between are not.
  app.clock.set(monday + 22 * dayMs);
  app = await app.restart();
  await schedulerOf(app, send).tick();
  expect(sent).toHaveLength(2);
});

test('a process that dies while it sends does not send again', async () => {
  const { app } = await start('weekly');
  app.clock.set(monday);
  const dying = schedulerOf(app, async () => await new Promise(() => undefined));
  void dying.tick();
  await expect.poll(() => [...app.reports.digests.due(1)]).toEqual([]);
  const again = await app.restart();
  expect(await schedulerOf(again).tick()).toBe(0);
});

test('a mail that is refused is sent later, five times at most', async () => {
  const { app } = await start('weekly');
  app.clock.set(monday);
  let tries = 0;
  const refused = schedulerOf(app, async () => {
    tries += 1;
    return false;
  });
  for (let hour = 0; hour < 24 * 4; hour += 1) {
    await refused.tick();
    app.clock.move(hourMs / 4);
  }
  expect(tries).toBe(5);
  expect(app.logLines.filter((line) => line.includes('digest failed, given up'))).toHaveLength(1);
  expect(app.logLines.join('')).not.toContain('jane@example.com');
  app.clock.set(monday + 7 * dayMs);
  expect(await schedulerOf(app).tick()).toBe(1);
});

test('a retry is about the same period, and goes out once', async () => {
  let { app, server } = await start('monthly');
  app.clock.set(first);
  await schedulerOf(app, async () => false).tick();
  app = await app.restart();
  app.clock.move(5 * 60_000);
  expect(await schedulerOf(app).tick()).toBe(1);
  const { source } = await server.next();
  expect(unfolded(source)).toContain('Subject: My workspace: 0 scans in March 2026');
  app.clock.move(20 * hourMs);
  expect(await schedulerOf(app).tick()).toBe(0);
});

test('one workspace that cannot be read keeps no other waiting, and loses no period', async () => {
  const { app } = await start('weekly');
  app.clock.set(monday);
  app.scans.failure = new Error('disk');
  await expect(schedulerOf(app).tick()).rejects.toThrow('disk');
  app.scans.failure = undefined;
  expect(await schedulerOf(app).tick()).toBe(1);
});

test.each(['digests', 'workspaces'])('damaged %s keep no other waiting', async (table) => {
  const server = await startMailServer();
  onTestFinished(() => server.close());
  const app = await openTestApp({ environment: server.environment });
  const { digests } = app.reports;
  const { id: jane, email } = await makeMember(app, 'viewer');
  const other = await app.workspaces.workspaces.create(jane, 'Other');
  // They are due before hers.
  for (let no = 10; no < 70; no++) {
    await digests.ask({ userId: `usr_${no}`, workspaceNo: other.no }, 'weekly');
  }
  await damage(app, table, (_key, at) => table !== 'workspaces' || at > 0);
  await digests.ask({ userId: jane, workspaceNo: 1 }, 'weekly');
  app.clock.set(monday);
  const sent: string[] = [];
  await schedulerOf(app, async (to) => sent.push(to) > 0).tick();
  expect(sent).toEqual([email]);
  expect(timersOf(app.store.reports.digestsDue)).toHaveLength(61);
});

describe('it ends', () => {
  /** The address to unsubscribe at, and how many mails the next week brings. */
  async function startSent() {
    const { app, server, jane } = await start('weekly');
    app.clock.set(monday);
    await schedulerOf(app).tick();
    const mail = unfolded((await server.next()).source);
    const link = /List-Unsubscribe: <http:\/\/localhost:8080(\/[^>]+)>/;
    const path = link.exec(mail)?.[1] ?? '';
    const client = new Client(app.url);
    onTestFinished(async () => await client.close());
    const nextWeek = async (): Promise<number> => {
      app.clock.move(7 * dayMs);
      return await schedulerOf(app).tick();
    };
    return { app, jane, client, path, nextWeek };
  }

  test('by one click in a mail program, without signing in', async () => {
    const { client, path, jane, nextWeek } = await startSent();
    const answer = await client.call('POST', path, {
      raw: 'List-Unsubscribe=One-Click',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(answer.text).toContain('You are unsubscribed');
    expect((await client.post(path)).status).toBe(200);
    expect((await client.get(path)).status).toBe(404);
    expect(await frequencyOf(jane)).toBe('off');
    expect(await nextWeek()).toBe(0);
  });

  test('by the button of the page that the link opens, not by opening it', async () => {
    const { client, path, nextWeek } = await startSent();
    const page = await client.get(path);
    expect(page.status).toBe(200);
    expect(page.text).toContain('<form method="post"><button>Unsubscribe</button></form>');
    expect(page.headers['content-security-policy']).toContain("form-action 'self'");
    expect(await nextWeek()).toBe(1);
    await client.post(path);
    expect(await nextWeek()).toBe(0);
  });

  test('in the profile', async () => {
    const { jane, client, path, nextWeek } = await startSent();
    const off = { available: true, frequency: 'off', nextAt: null };
    expect((await ask(jane, 'off')).json).toEqual(off);
    expect((await client.get(path)).status).toBe(404);
    expect(await nextWeek()).toBe(0);
  });

  test('with the membership, also of a member who comes back', async () => {
    const { app, jane, nextWeek } = await startSent();
    await app.workspaces.members.remove(app.actor, jane.id);
    app.clock.move(1);
    await app.store.environment.transaction(() =>
      app.workspaces.users.addMember(1, jane.id, 'viewer'),
    );
    expect(await frequencyOf(jane)).not.toBe('weekly');
    expect(await nextWeek()).toBe(0);
    expect([...app.store.reports.digests.keys({})]).toEqual([]);
    expect([...app.store.reports.digestTokens.keys({})]).toEqual([]);
    expect(timersOf(app.store.reports.digestsDue)).toEqual([]);
  });
});

test('another frequency takes the place of the first', async () => {
  const { app, jane } = await start('weekly');
  expect((await ask(jane, 'monthly')).json.nextAt).toBe('2026-04-01T08:00:00.000Z');
  app.clock.set(monday);
  expect(await schedulerOf(app).tick()).toBe(0);
  expect(timersOf(app.store.reports.digestsDue)).toHaveLength(1);
});

test('it is of a workspace: members of two ask twice', async () => {
  const { app, jane } = await start('weekly');
  const other = await app.workspaces.workspaces.create(jane.id, 'Second');
  await jane.browser.post(`/v1/workspaces/${other.id}/switch`);
  expect(await frequencyOf(jane)).toBe('off');
});

test('where no mail is sent, or to an address that is not confirmed, nobody can ask', async () => {
  const app = await startTestApi();
  const jane = await memberOf(app);
  const refused = await ask(jane, 'weekly');
  expect(refused.status).toBe(409);
  expect(refused.json.detail).toBe('Cannot send you a digest: this service has no mail server');
  expect((await jane.browser.get('/v1/profile/digest')).json.available).toBe(false);
  expect((await ask(jane, 'off')).status).toBe(200);
  const { app: mailing, jane: zoe } = await start();
  const { users } = mailing.workspaces;
  const user = users.get(zoe.id);
  await mailing.store.environment.transaction(() =>
    users.put({ ...user, mailboxProven: false }, user),
  );
  expect((await ask(zoe, 'weekly')).json.detail).toContain('your e-mail address is not confirmed');
});

test('it follows the zone and the weeks of the workspace', async () => {
  const { app, server, client, jane } = await start();
  const body = { timezone: 'America/New_York', weekStart: 'sun' };
  await client.patch(`/v1/workspaces/${app.actor.workspaceId}`, body);
  expect((await ask(jane, 'weekly')).json.nextAt).toBe('2026-03-08T12:00:00.000Z');
  app.clock.set(Date.UTC(2026, 2, 8, 12));
  expect(await schedulerOf(app).tick()).toBe(1);
  expect(unfolded((await server.next()).source)).toContain('1 Mar to 7 Mar 2026 (New York time)');
});
