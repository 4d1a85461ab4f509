/** A person's own name and address: with a mail server and without, and what others can make of it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openInstallation } from '../../../src/app/folder/service-folder.ts';
import { Browser } from '../../support/browser.ts';
import { type Answer, Client, type Json, word } from '../../support/client.ts';
import type { MailServer } from '../../support/fakes/mail-server.ts';
import { runCommand } from '../../support/process.ts';
import { openMailing, tokenIn } from '../../support/test-client.ts';
import { startTestApi, type TestApp } from '../../support/test-app.ts';

const password = 'a good password';
const trusting = { QZ_TRUSTED_PROXIES: '127.0.0.1' };

let addresses = 0;
const stranger = (): string => `203.0.113.${(addresses += 1)}`;

type Person = Awaited<ReturnType<typeof personOf>>;

/** A member of a workspace, signed in. */
async function personOf(app: TestApp, email: string, workspaceNo = 1) {
  const user = { email, name: email.split('@')[0] ?? '', password };
  const { id } = await app.workspaces.users.create(workspaceNo, 'viewer', user);
  const browser = await Browser.signedIn(app, user, stranger());
  return {
    email,
    id,
    browser,
    change: async (body: unknown): Promise<Answer> => {
      const headers = { 'x-forwarded-for': stranger() };
      return await browser.patch('/v1/profile', body, { headers });
    },
    profile: async (): Promise<Json> => (await browser.get('/v1/profile')).json,
  };
}

/** The service without a mail server, and a member of it. */
async function openJane() {
  const app = await startTestApi({ environment: trusting });
  return { app, jane: await personOf(app, 'jane@example.com') };
}

/** Who signs in with this address: the name; empty where nobody does. */
async function nameAt(app: TestApp, email: string, given = password): Promise<string> {
  const browser = new Browser(app);
  const { status, json } = await browser.signIn(email, given, stranger());
  await browser.close();
  return status === 200 ? word(json.user?.name) : '';
}

/** A workspace beside the first. */
async function second(app: TestApp): Promise<number> {
  const owner = app.workspaces.users.firstOwner(1)?.id ?? '';
  return (await app.workspaces.workspaces.create(owner, 'Second')).no;
}

test('a name is changed by the person alone, and is the same in every answer', async () => {
  const { app, jane } = await openJane();
  const changed = await jane.change({ name: 'Jane Döe' });
  expect(changed.json).toEqual({
    id: jane.id,
    name: 'Jane Döe',
    email: jane.email,
    emailConfirmed: true,
    pendingEmail: null,
  });
  expect(await jane.profile()).toEqual(changed.json);
  expect((await jane.browser.get('/v1/session')).json.user?.name).toBe('Jane Döe');
  const client = new Client(app.url, app.apiKey);
  const { items } = await client.get('/v1/team/members');
  expect(items.map(({ name }) => name)).toContain('Jane Döe');
  await client.close();
});

test('what is refused changes nothing', async () => {
  const { jane } = await openJane();
  const before = await jane.profile();
  const refused = [
    [{ name: 'x'.repeat(121) }, 'name'],
    [{ name: '\u200b' }, 'name'],
    [{ email: 'nonsense' }, 'email'],
    [{ email: 'new@example.com' }, 'currentPassword'],
    [{ email: 'new@example.com', currentPassword: 'wrong' }, 'currentPassword'],
    [{ role: 'owner' }, 'role'],
  ] as const;
  for (const [body, path] of refused) {
    const answer = await jane.change(body);
    const paths = answer.faults.map((fault) => fault.path);
    expect([body, answer.status, paths]).toEqual([body, 422, [path]]);
  }
  expect(await jane.profile()).toEqual(before);
});

test('another spelling of the address needs no password, and stays confirmed', async () => {
  const { app, jane } = await openJane();
  const { json } = await jane.change({ email: 'Jane@Example.com' });
  expect(json).toMatchObject({ email: 'Jane@Example.com', emailConfirmed: true });
  expect(await nameAt(app, 'JANE@example.com')).toBe('jane');
});

test('guesses of the password by it wait as those at the sign-in do', async () => {
  const { jane } = await openJane();
  let last: Answer | undefined;
  for (let guess = 0; guess < 8 && last?.status !== 429; guess += 1) {
    last = await jane.change({ email: 'new@example.com', currentPassword: `guess ${guess}` });
  }
  expect(last?.status).toBe(429);
});

const own = { currentPassword: password };

/** An owner in another workspace, and two members who want addresses: the owner's and a free one. */
async function besideOwner(app: TestApp) {
  await personOf(app, 'ceo@example.com', await second(app));
  const mallory = await personOf(app, 'mallory@example.com');
  return { mallory, trent: await personOf(app, 'trent@example.com') };
}

describe('without a mail server a new address', () => {
  test('holds at once, is not confirmed, and frees the old one', async () => {
    const { app, jane } = await openJane();
    const body = { email: 'zoë@example.com', name: 'Zoë', currentPassword: password };
    const { json } = await jane.change(body);
    expect(json).toMatchObject({ name: 'Zoë', email: body.email, emailConfirmed: false });
    expect([await nameAt(app, body.email), await nameAt(app, jane.email)]).toEqual(['Zoë', '']);
    await personOf(app, jane.email);
    // Back again: the address has an owner by now, who keeps it.
    const other = await second(app);
    const moved = await personOf(app, 'mover@example.com', other);
    await moved.change({ email: jane.email, currentPassword: password });
    expect(app.workspaces.users.findByEmail(jane.email)?.name).toBe('jane');
  });

  test('takes none from its owner, and says nothing of whether it has one', async () => {
    const { app } = await openJane();
    const { mallory, trent } = await besideOwner(app);
    const taken = await mallory.change({ ...own, email: 'ceo@example.com' });
    const free = await trent.change({ ...own, email: 'nobody@example.com' });
    const shape = ({ status, json }: Answer) => [status, { ...json, id: '', name: '', email: '' }];
    expect(shape(taken)).toEqual(shape(free));
    // The same password is the owner's first.
    expect(await nameAt(app, 'ceo@example.com')).toBe('ceo');
    await app.workspaces.accounts.resetPassword(mallory.id, 'mallory’s own');
    expect(await nameAt(app, 'ceo@example.com', 'mallory’s own')).toBe('mallory');
    expect(await nameAt(app, 'ceo@example.com')).toBe('ceo');
  });

  test('is no fellow member’s, in any of the person’s workspaces', async () => {
    const { app, jane } = await openJane();
    await personOf(app, 'john@example.com');
    const answer = await jane.change({ email: 'JOHN@example.com', currentPassword: password });
    expect([answer.status, answer.json.code]).toEqual([409, 'conflict']);
    expect(await jane.profile()).toMatchObject({ email: jane.email, emailConfirmed: true });
  });

  test('is confirmed by the operator, who may also give another', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'quietzone-profile-'));
    onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
    // The command looks at all parts of the folder.
    await (await openInstallation(dataDir, 'fill')).close();
    const app = await startTestApi({ environment: trusting, dataDir });
    const jane = await personOf(app, 'jane@example.com');
    const squatter = await personOf(app, 'squatter@example.com', await second(app));
    for (const person of [jane, squatter]) {
      await person.change({ ...own, email: 'new@example.com' });
    }
    const run = async (...args: string[]) =>
      await runCommand(['users', ...args], { QZ_DATA_DIR: app.dataDir });
    const ambiguous = await run('confirm', 'new@example.com');
    expect(ambiguous.code).toBe(1);
    for (const part of [jane.id, squatter.id, 'in My workspace', 'in Second', 'not confirmed']) {
      expect(ambiguous.stderr).toContain(part);
    }
    expect(await run('reset-password', '-e', 'new@example.com')).toEqual(ambiguous);
    const done = await run('confirm', jane.id);
    const stdout = `User ${jane.id} is confirmed: new@example.com belongs to them\n`;
    expect(done).toMatchObject({ code: 0, stdout });
    // Once more is the same; another is refused.
    expect(await run('confirm', jane.id)).toEqual(done);
    const stderr = expect.stringContaining(`${jane.id} is confirmed for new@example.com`);
    expect(await run('confirm', squatter.id)).toMatchObject({ code: 1, stderr });
    const listed = JSON.parse((await run('list', '--json')).stdout);
    expect(listed.filter((user: Json) => word(user.email) === 'new@example.com')).toMatchObject([
      { id: jane.id, confirmed: true, workspaces: ['My workspace (viewer)'] },
      { id: squatter.id, confirmed: false, workspaces: ['Second (viewer)'] },
    ]);
    expect((await run('confirm', 'usr_00000000000000000000')).code).toBe(1);
    expect(await jane.profile()).toMatchObject({ email: 'new@example.com', emailConfirmed: true });
    const john = await personOf(app, 'john@example.com');
    expect((await run('change', john.id, '--email', 'new@example.com')).code).toBe(1);
    const changed = await run('change', 'john@example.com', '-n', 'John', '-e', 'j@example.com');
    const told = `User ${john.id} is now John and signs in as j@example.com\n`;
    expect(changed).toMatchObject({ code: 0, stdout: told });
    expect(await nameAt(app, 'j@example.com')).toBe('John');
    const refused = [
      [john.id],
      [john.id, '-n', '\u200b'],
      [john.id, '-e', 'j j@example.com'],
      [john.id, '-e', 'j\u200b@example.com'],
      [john.id, '-e', 'example.com'],
      ['nobody@example.com', '-n', 'x'],
    ];
    for (const args of refused) {
      expect((await run('change', ...args)).code).toBe(1);
    }
  });
});

describe('with a mail server a new address', () => {
  async function mailing() {
    const { mail, service: app } = await openMailing(trusting);
    return { app, mail, jane: await personOf(app, 'jane@example.com') };
  }

  async function tokenOf(mail: MailServer, to: string): Promise<string> {
    const letter = await mail.next();
    expect(letter.to).toEqual([to]);
    expect(letter.source).toContain('/settings/confirm-email?');
    return tokenIn(letter);
  }

  const confirm = async ({ browser }: Person, token: string): Promise<Answer> =>
    await browser.post('/v1/profile/confirm-email', { token });

  test('holds once its link is opened by the person, and once only', async () => {
    const { app, mail, jane } = await mailing();
    const mallory = await personOf(app, 'mallory@example.com');
    const asked = await jane.change({ ...own, email: 'new@example.com' });
    expect(asked.json).toMatchObject({ email: jane.email, pendingEmail: 'new@example.com' });
    expect(asked.text).not.toMatch(/token/);
    const token = await tokenOf(mail, 'new@example.com');
    expect((await confirm(mallory, token)).status).toBe(404);
    expect((await confirm(jane, 'A'.repeat(43))).status).toBe(404);
    const confirmed = await confirm(jane, token);
    expect(confirmed.json).toMatchObject({
      email: 'new@example.com',
      emailConfirmed: true,
      pendingEmail: null,
    });
    expect((await confirm(jane, token)).status).toBe(404);
    const notice = await mail.next();
    expect([notice.to, /^Subject: (.*)$/m.exec(notice.source)?.[1]]).toEqual([
      [jane.email],
      'Your e-mail address was changed',
    ]);
    expect(notice.source).not.toMatch(/new@example\.com|token=/);
    expect(await nameAt(app, 'new@example.com')).toBe('jane');
    expect(await nameAt(app, jane.email)).toBe('');
    expect(app.logLines.join('')).not.toContain('new@example.com');
  });

  test('and a new password are told to the owner of the account, no stranger', async () => {
    const { app, mail, jane } = await mailing();
    const body = { oldPassword: password, newPassword: 'another good password' };
    expect((await jane.browser.post('/v1/auth/password', body)).status).toBe(200);
    const notice = await mail.next();
    expect([notice.to, /^Subject: (.*)$/m.exec(notice.source)?.[1]]).toEqual([
      [jane.email],
      'Your password was changed',
    ]);
    // The address of an account that proved nothing may be anybody's.
    const user = app.workspaces.users.find(jane.id);
    if (user !== undefined) app.workspaces.users.put({ ...user, mailboxProven: false }, user);
    const back = { oldPassword: body.newPassword, newPassword: body.oldPassword };
    expect((await jane.browser.post('/v1/auth/password', back)).status).toBe(200);
    await jane.change({ email: 'two@example.com', currentPassword: password });
    expect((await mail.next()).to).toEqual(['two@example.com']);
  });

  test('ends after a day, and with the next one; mails are a minute apart', async () => {
    const { app, mail, jane } = await mailing();
    const ask = async (email: string) => await jane.change({ email, currentPassword: password });
    await ask('one@example.com');
    const one = await tokenOf(mail, 'one@example.com');
    const soon = await ask('two@example.com');
    expect([soon.status, soon.headers['retry-after']]).toEqual([429, '60']);
    app.clock.move(60_000);
    expect((await ask('two@example.com')).status).toBe(200);
    const two = await tokenOf(mail, 'two@example.com');
    expect((await confirm(jane, one)).status).toBe(404);
    app.clock.move(86_400_000);
    expect((await jane.profile()).pendingEmail).toBeNull();
    expect((await confirm(jane, two)).status).toBe(410);
    expect((await jane.profile()).email).toBe(jane.email);
  });

  test('with an owner is asked for as any other, and not taken from them', async () => {
    const { app, mail } = await mailing();
    const { mallory, trent } = await besideOwner(app);
    const taken = await mallory.change({ ...own, email: 'ceo@example.com' });
    const token = await tokenOf(mail, 'ceo@example.com');
    const free = await trent.change({ ...own, email: 'nobody@example.com' });
    await tokenOf(mail, 'nobody@example.com');
    const shape = ({ status, json }: Answer) => [status, Object.keys(json)];
    expect(shape(taken)).toEqual(shape(free));
    expect((await confirm(mallory, token)).status).toBe(409);
    expect(await nameAt(app, 'ceo@example.com')).toBe('ceo');
  });
});
