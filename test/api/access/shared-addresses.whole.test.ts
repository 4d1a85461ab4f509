/**
 * One e-mail address, several accounts: without a mail server an invite proves no mailbox. Nobody takes an
 * address from its owner or keeps another from joining, and no answer shows which accounts another workspace has.
 */
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { isProven } from '../../../src/product/workspaces/users.ts';
import { Browser } from '../../support/browser.ts';
import { type Answer, Client, type Json, word } from '../../support/client.ts';
import { startMailServer } from '../../support/fakes/mail-server.ts';
import { tokenIn, useTestApi } from '../../support/test-client.ts';

const squatterPassword = 'squatter’s password';
const ownPassword = 'the person’s password';

let { service, client } = await useTestApi({ environment: { QZ_TRUSTED_PROXIES: '127.0.0.1' } });
let tests = 0;
/** Each test has an address of its own. */
let email: string;

beforeEach(() => {
  email = `ceo${(tests += 1)}@corp.example`;
});

type Place = Awaited<ReturnType<typeof place>>;

/** Another workspace with an admin who may invite anybody, and the admin's key. */
async function place(name: string) {
  const { users, workspaces, keys } = service.workspaces;
  const address = `${name}@admin${tests}.example`;
  const admin = await users.create(1, 'viewer', { email: address, name });
  const workspace = await workspaces.create(admin.id, name);
  await workspaces.setPlan(workspace.no, 'enterprise');
  const wanted = { workspaceNo: workspace.no, userId: admin.id, name, role: 'owner' } as const;
  return { ...workspace, key: (await keys.create(wanted)).token };
}

let strangers = 0;
const stranger = (): Record<string, string> => ({
  'x-forwarded-for': `203.0.${(strangers += 1) >> 8}.${strangers & 255}`,
});

const invite = async ({ key }: Place, role = 'editor', to = email): Promise<Answer> =>
  await client.post('/v1/team/invites', { email: to, role }, { key });

async function accept(token: unknown, password: string, name = 'Ceo'): Promise<Answer> {
  const body = { token, name, password };
  const path = '/v1/team/invites/accept';
  return await client.post(path, body, { key: undefined, headers: stranger() });
}

async function join(at: Place, password: string): Promise<Json> {
  const { status, json } = await accept((await invite(at)).json.token, password);
  expect(status).toBe(200);
  return json;
}

/** The session that begins with this password. */
async function signIn(password: string): Promise<{ answer: Answer; browser: Browser }> {
  const browser = new Browser(service);
  onTestFinished(async () => await browser.close());
  const answer = await browser.signIn(email, password, stranger()['x-forwarded-for']);
  return { answer, browser };
}

const namesOf = async (browser: Browser): Promise<string[]> =>
  (await browser.get('/v1/workspaces')).items.map(({ name }) => word(name)).toSorted();

describe('an address that was squatted', () => {
  test.each(['before', 'after'])('%s the person came keeps nobody out', async (when) => {
    const [a, b] = [await place('A'), await place('B')];
    const early = when === 'before' ? await join(b, squatterPassword) : undefined;
    const person = await join(a, ownPassword);
    const squatter = early ?? (await join(b, squatterPassword));
    expect(person.userId).not.toBe(squatter.userId);
    const own = await signIn(ownPassword);
    expect(own.answer.json).toMatchObject({
      user: { id: person.userId },
      workspace: { name: 'A' },
    });
    const others = await signIn(squatterPassword);
    expect(others.answer.json.workspace?.name).toBe('B');
    // Neither reaches the other's workspace.
    expect([await namesOf(own.browser), await namesOf(others.browser)]).toEqual([['A'], ['B']]);
    const goTo = await others.browser.post(`/v1/workspaces/${a.id}/switch`);
    expect(goTo.status).toBe(404);
    expect((await signIn('neither')).answer.status).toBe(401);
  });

  test('by any number of workspaces keeps nobody out', async () => {
    const a = await place('A');
    for (let at = 0; at < 12; at += 1) {
      await join(await place(`squat${at}`), `${squatterPassword} ${at}`);
      service.clock.move(60_000);
    }
    await join(a, ownPassword);
    service.clock.move(60_000);
    for (let at = 12; at < 24; at += 1) {
      await join(await place(`squat${at}`), `${squatterPassword} ${at}`);
      service.clock.move(60_000);
    }
    expect((await signIn(ownPassword)).answer.json.workspace?.name).toBe('A');
    expect((await signIn(`${squatterPassword} 3`)).answer.json.workspace?.name).toBe('squat3');
  });

  test('is joined again by its password: one account in two workspaces', async () => {
    const [a, c] = [await place('A'), await place('C')];
    const first = await join(a, ownPassword);
    expect((await join(c, ownPassword)).userId).toBe(first.userId);
    expect(await namesOf((await signIn(ownPassword)).browser)).toEqual(['A', 'C']);
  });

  test('is free again in its workspace when the account was removed', async () => {
    const a = await place('A');
    const first = await join(a, squatterPassword);
    expect((await invite(a)).status).toBe(409);
    const path = `/v1/team/members/${word(first.userId)}`;
    expect((await client.delete(path, { key: a.key })).status).toBe(200);
    expect((await signIn(squatterPassword)).answer.status).toBe(401);
    await join(a, ownPassword);
    const { users, profiles } = service.workspaces;
    // Not even another name brings the removed account back to its address, which is that of one account.
    await profiles.rename(word(first.userId), 'Gone');
    expect((await profiles.rename(users.get(email).id, 'Here')).id).not.toBe(first.userId);
    expect((await signIn(ownPassword)).answer.status).toBe(200);
  });
});

describe('an answer does not show what another workspace has', () => {
  /** What differs between any two answers is left out. */
  const shapeOf = ({ status, json, headers }: Answer) => ({
    status,
    fields: Object.keys(json),
    headers: Object.keys(headers).toSorted(),
    errors: json.errors,
    detail: json.detail,
  });

  async function walk(at: Place): Promise<Array<ReturnType<typeof shapeOf>>> {
    const invited = await invite(at);
    const { token } = invited.json;
    const path = '/v1/team/invites/accept';
    const headers = stranger();
    const answers = [invited];
    for (const body of [
      { token },
      { token, password: 'x' },
      { token, name: 'N' },
      { token, name: 'N', password: 'short' },
      { token, name: 'N', password: 'a new password' },
      { token, name: 'N', password: 'a new password' },
    ]) {
      answers.push(await client.post(path, body, { key: undefined, headers }));
    }
    answers.push(await invite(at));
    return answers.map(shapeOf);
  }

  test('whether nobody, an owner or unproven accounts have the address', async () => {
    const nobodys = await walk(await place('A'));
    const shared = await walk(await place('B'));
    const { users } = service.workspaces;
    service.clock.move(3_600_000);
    await users.create(1, 'viewer', { email, name: 'Owner', password: ownPassword });
    const owned = await walk(await place('C'));
    expect([shared, owned]).toEqual([nobodys, nobodys]);
    expect(nobodys.map(({ status }) => status)).toEqual([201, 422, 422, 422, 422, 200, 409, 409]);
  });

  test('guesses by invites wait as guesses at the sign-in do', async () => {
    const b = await place('B');
    await service.workspaces.users.create(1, 'viewer', { email, name: 'O', password: ownPassword });
    const statuses: number[] = [];
    for (let at = 0; at < 8; at += 1) {
      const { token } = (await invite(b)).json;
      const guess = await accept(token, `guess number ${at}`);
      statuses.push(guess.status);
      if (guess.status !== 200) break;
      const path = `/v1/team/members/${word(guess.json.userId)}`;
      await client.delete(path, { key: b.key });
    }
    expect(statuses.at(-1)).toBe(429);
    // The same count holds at the sign-in.
    expect((await signIn(ownPassword)).answer.status).toBe(429);
  });

  test('people behind one address join at once, and sign in', async () => {
    const a = await place('A');
    const headers = { 'x-forwarded-for': '198.51.100.7' };
    const people = Array.from({ length: 17 }, (_, no) => `cook${no}@corp.example`);
    for (const to of people) {
      const { token } = (await invite(a, 'editor', to)).json;
      const body = { token, name: 'Cook', password: `the password of ${to}` };
      const path = '/v1/team/invites/accept';
      const joined = await client.post(path, body, { key: undefined, headers });
      expect([to, joined.status]).toEqual([to, 200]);
    }
    const [to = ''] = people;
    const body = { email: to, password: `the password of ${to}` };
    const signedIn = await client.post('/v1/auth/sign-in', body, { headers });
    expect(signedIn.status).toBe(200);
  });

  test('an account of the address does not clear the failures of guesses at another', async () => {
    await join(await place('A'), ownPassword);
    service.clock.move(3_600_000);
    await join(await place('B'), squatterPassword);
    service.clock.move(3_600_000);
    let guesses = 0;
    let refused = false;
    for (; guesses < 20 && !refused; guesses += 1) {
      refused = (await signIn(`guess ${guesses}`)).answer.status === 429;
      if (!refused) refused = (await signIn(squatterPassword)).answer.status === 429;
    }
    expect(guesses).toBeLessThan(8);
  });
});

describe('an account of the address guesses no password of another by taking it', () => {
  const guessesMax = 8;

  test('again and again', async () => {
    await join(await place('B'), squatterPassword);
    service.clock.move(3_600_000);
    await service.workspaces.users.create(1, 'viewer', { email, name: 'O', password: ownPassword });
    const { browser } = await signIn(squatterPassword);
    const statuses: number[] = [];
    let oldPassword = squatterPassword;
    while (statuses.length < guessesMax && statuses.at(-1) !== 429) {
      const newPassword = `guess number ${statuses.length}`;
      const options = { body: { oldPassword, newPassword }, headers: stranger() };
      statuses.push((await browser.call('POST', '/v1/auth/password', options)).status);
      oldPassword = newPassword;
    }
    expect(statuses.at(-1)).toBe(429);
    // The same count holds at the sign-in.
    expect((await signIn(ownPassword)).answer.status).toBe(429);
  });

  test('and moving there with it', async () => {
    const { users } = service.workspaces;
    await users.create(1, 'viewer', { email, name: 'O', password: ownPassword });
    const statuses: number[] = [];
    for (let at = 0; at < guessesMax && statuses.at(-1) !== 429; at += 1) {
      const b = await place(`b${at}`);
      const own = { email: `b${at}@b.example`, name: 'B', password: `guess number ${at}` };
      await users.create(b.no, 'viewer', own);
      const browser = new Browser(service);
      await browser.signIn(own.email, own.password, stranger()['x-forwarded-for']);
      const body = { email, currentPassword: own.password };
      const moved = await browser.patch('/v1/profile', body, { headers: stranger() });
      statuses.push(moved.status);
      await browser.close();
    }
    expect(statuses.at(-1)).toBe(429);
  });

  test('at once, from two workspaces with one password: it is one account', async () => {
    const [a, b] = [await place('A'), await place('B')];
    const tokens = [(await invite(a)).json.token, (await invite(b)).json.token];
    const [one, two] = await Promise.all(tokens.map((token) => accept(token, ownPassword)));
    expect([one?.status, two?.status]).toEqual([200, 200]);
    expect(two?.json.userId).toBe(one?.json.userId);
    expect(await namesOf((await signIn(ownPassword)).browser)).toEqual(['A', 'B']);
  });
});

test('the operator confirms one account: the address is theirs, others keep their workspace', async () => {
  const [a, b] = [await place('A'), await place('B')];
  const squatter = await join(b, squatterPassword);
  const person = await join(a, ownPassword);
  const { users } = service.workspaces;
  const confirm = async (id: unknown) => await users.confirm(users.get(word(id)));
  await confirm(person.userId);
  await expect(confirm(squatter.userId)).rejects.toThrow(`${word(person.userId)} is confirmed`);
  expect((await signIn(ownPassword)).answer.json.workspace?.name).toBe('A');
  expect((await signIn(squatterPassword)).answer.json.workspace?.name).toBe('B');
  // The owner is who joins elsewhere with this password.
  expect((await join(await place('C'), ownPassword)).userId).toBe(person.userId);
});

test('the operator gives an unproven account another password, and it alone', async () => {
  const [a, b] = [await place('A'), await place('B')];
  const squatter = await join(b, squatterPassword);
  await join(a, ownPassword);
  await service.workspaces.accounts.resetPassword(word(squatter.userId), 'a third one');
  expect((await signIn('a third one')).answer.json.workspace?.name).toBe('B');
  expect((await signIn(squatterPassword)).answer.status).toBe(401);
  expect((await signIn(ownPassword)).answer.json.workspace?.name).toBe('A');
});

test('the operator makes an owner where unproven accounts have the address', async () => {
  const b = await place('B');
  await join(b, squatterPassword);
  const { users } = service.workspaces;
  const real = { email, name: 'Real', password: ownPassword };
  await users.create(1, 'editor', real);
  expect((await signIn(ownPassword)).answer.json.workspace?.name).toBe('My workspace');
  await expect(users.create(1, 'editor', real)).rejects.toThrow();
  await expect(users.create(b.no, 'editor', real)).rejects.toThrow();
});

test('an unproven account changes its own password, and no other account’s', async () => {
  const [a, b] = [await place('A'), await place('B')];
  await join(a, ownPassword);
  await join(b, squatterPassword);
  const { browser } = await signIn(squatterPassword);
  const change = async (oldPassword: string, newPassword: string): Promise<number> => {
    const body = { oldPassword, newPassword };
    return (await browser.post('/v1/auth/password', body, { headers: stranger() })).status;
  };
  expect(await change(ownPassword, 'a third password')).toBe(401);
  expect(await change(squatterPassword, 'a third password')).toBe(200);
  expect((await signIn('a third password')).answer.json.workspace?.name).toBe('B');
  expect((await signIn(ownPassword)).answer.json.workspace?.name).toBe('A');
});

test('a link that came by mail proves the address, of a new account and of one made before', async () => {
  const mailServer = await startMailServer();
  onTestFinished(() => mailServer.close());
  const [a, b] = [await place('A'), await place('B')];
  const person = await join(a, ownPassword);
  await join(b, squatterPassword);
  service = await service.restart({ environment: mailServer.environment });
  await service.listen();
  client = new Client(service.url);
  onTestFinished(() => client.close());
  const c = await place('C');
  const mailed = async (at: Place): Promise<string> => {
    expect((await invite(at)).json.token).toBeUndefined();
    return tokenIn(await mailServer.next());
  };
  const joined = await accept(await mailed(c), ownPassword);
  expect(joined.json.userId).toBe(person.userId);
  const { users } = service.workspaces;
  expect(users.findByEmail(email)?.id).toBe(person.userId);
  // The squatter's account stays what it was, also by a link that came by mail.
  const d = await place('D');
  const squatter = await accept(await mailed(d), squatterPassword);
  const record = users.find(word(squatter.json.userId));
  expect(record !== undefined && isProven(record)).toBe(false);
  expect(users.findByEmail(email)?.id).toBe(person.userId);
});
