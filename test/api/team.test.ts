/** Invites and members: by link and by mail, races included, and the rules that keep an owner. */
import { describe, expect, test } from 'vitest';
import { Browser } from '../support/browser.ts';
import { type Answer, word } from '../support/client.ts';
import { OffsetClock } from '../support/fakes/offset-clock.ts';
import { soon } from '../support/soon.ts';
import { makeMember, openMailing, tokenIn, useTestApi } from '../support/test-client.ts';

const clock = new OffsetClock();
const password = 'a good password';
const { service, client } = await useTestApi({
  clock,
  environment: { QZ_TRUSTED_PROXIES: '127.0.0.1' },
});

let strangers = 0;
async function accept(body: unknown, more: Record<string, string> = {}): Promise<Answer> {
  strangers += 1;
  const headers = { 'x-forwarded-for': `203.0.113.${strangers}`, ...more };
  return await client.post('/v1/team/invites/accept', body, { key: undefined, headers });
}

const invite = async (email: string, role = 'editor', key = service.apiKey): Promise<Answer> =>
  await client.post('/v1/team/invites', { email, role }, { key });

const eventsOf = async (kind: string): Promise<unknown[]> => {
  const { items } = await client.get('/v1/events?limit=100');
  return items.filter(({ event }) => word(event) === kind).map(({ data }) => data);
};

describe('an invite', () => {
  test('makes a new user a member, once, with its events', async () => {
    const made = await invite('Jane.Döe@exämple.com');
    expect(made.status).toBe(201);
    const { acceptUrl, token, ...shown } = made.json;
    expect(acceptUrl).toBe(`http://localhost:8080/accept-invite?token=${word(token)}`);
    const wanted = { email: 'Jane.Döe@exämple.com', role: 'editor', status: 'pending' };
    expect(shown).toMatchObject(wanted);
    const list = await client.get('/v1/team/invites');
    expect(list.items).toEqual([shown]);
    const body = { token, name: 'Jane', password };
    expect((await accept({ token })).faults.map(({ path }) => path)).toEqual(['name', 'password']);
    expect((await accept({ ...body, password: 'jane.döe1' })).json.code).toBe('validation_failed');
    const joined = await accept(body);
    expect(joined.status).toBe(200);
    expect(joined.json).toMatchObject({ role: 'editor' });
    expect((await accept(body)).json.code).toBe('conflict');
    const { workspaceId } = joined.json;
    const owner = service.workspaces.users.firstOwner(1)?.id;
    const invited = { workspaceId, email: shown.email, role: 'editor', invitedBy: owner };
    expect(await eventsOf('member.invited')).toEqual([invited]);
    expect(await eventsOf('member.joined')).toEqual([joined.json]);
    expect((await invite('jane.dÖe@EXÄMPLE.com')).status).toBe(409);
    const jane = new Browser(service);
    expect((await jane.signIn('jane.döe@exämple.com', password)).status).toBe(200);
    await jane.close();
  });

  test('is accepted by one of two that race, for two users or the same', async () => {
    const { token } = (await invite('race@example.com')).json;
    const body = { token, name: 'R', password };
    const answers = await Promise.all([accept(body), accept(body), accept(body)]);
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 409, 409]);
    const pair = await Promise.all([invite('twice@example.com'), invite('TWICE@example.com')]);
    expect(pair.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, 409]);
  });

  test('is accepted once under one Idempotency-Key, by nobody who is known yet', async () => {
    const { token } = (await invite('idem@example.com')).json;
    const from = { 'x-forwarded-for': '192.0.2.50', 'idempotency-key': 'accept-1' };
    const joined = await accept({ token, name: 'I', password }, from);
    const again = await accept({ token, name: 'I', password }, from);
    expect(again.json).toEqual(joined.json);
    expect(again.headers['idempotent-replayed']).toBe('true');
  });

  test('shows by its token who invites whom, and where, until it is over', async () => {
    const preview = async (token: unknown): Promise<Answer> =>
      await client.post('/v1/team/invites/preview', { token }, { key: undefined });
    const codesOf = async (token: unknown): Promise<unknown[]> => {
      const answers = [await preview(token), await accept({ token, name: 'N', password })];
      return answers.map(({ json }) => json.code);
    };
    const { token, id } = (await invite('shown@example.com', 'viewer')).json;
    const shown = {
      workspaceName: 'My workspace',
      inviterName: 'Owner',
      email: 'shown@example.com',
      role: 'viewer',
    };
    for (let times = 0; times < 2; times++) expect((await preview(token)).json).toEqual(shown);
    const path = `/v1/team/invites/${word(id)}`;
    expect((await client.delete(path)).json).toEqual({ deleted: true, id });
    expect((await client.delete(path)).status).toBe(404);
    for (const none of [token, 'A'.repeat(43)]) {
      expect(await codesOf(none)).toEqual(['not_found', 'not_found']);
    }
    const used = (await invite('used@example.com')).json.token;
    expect((await accept({ token: used, name: 'U', password })).status).toBe(200);
    expect(await codesOf(used)).toEqual(['conflict', 'conflict']);
    const late = (await invite('late@example.com')).json;
    clock.offsetMs = 7 * 86_400_000;
    expect(await codesOf(late.token)).toEqual(['gone', 'gone']);
    expect((await invite('late@example.com')).status).toBe(201);
    clock.offsetMs = 0;
  });

  test('takes a known user by session, and nobody else', async () => {
    const user = { email: 'known@example.com', name: 'K', password };
    const { users, workspaces } = service.workspaces;
    const owner = users.firstOwner(1)?.id ?? '';
    const second = await workspaces.create(owner, 'Second');
    const known = await users.create(second.no, 'viewer', user);
    const { token } = (await invite(user.email)).json;
    const other = { email: 's@example.com', name: 'S', password };
    await users.create(second.no, 'viewer', other);
    const stranger = await Browser.signedIn(service, other);
    const path = '/v1/team/invites/accept';
    expect((await stranger.post(path, { token })).status).toBe(403);
    const own = await Browser.signedIn(service, user);
    const joined = await own.post(path, { token });
    expect(joined.json).toMatchObject({ userId: known.id, role: 'editor' });
  });

  test('to several addresses, or to a text that is not one, is 422', async () => {
    const header = 'a@b.example\r\nBcc: c@d.example';
    for (const email of ['jane', 'a@b.example,c@d.example', 'a@b..example', header]) {
      expect([email, (await invite(email, 'viewer')).status]).toEqual([email, 422]);
    }
  });

  test('is one of 200 a day of its workspace, whatever was withdrawn', async () => {
    const { users, workspaces, invites } = service.workspaces;
    const userId = users.firstOwner(1)?.id ?? '';
    const { no, id } = await workspaces.create(userId, 'Crowd');
    const actor = { userId, workspaceId: id, workspaceNo: no, role: 'owner' } as const;
    const send = async (at: number): Promise<string> => {
      const email = `u${at}@example.com`;
      const made = await invites.create(actor, { email, role: 'viewer', delivery: 'shown' });
      return made.invite.id;
    };
    for (let at = 0; at < 200; at += 1) await invites.remove(no, await send(at));
    await expect(send(200)).rejects.toMatchObject({
      code: 'daily_cap_reached',
      message: expect.stringMatching(/^The workspace has sent the day’s 200 invites, .* in \d+ s$/),
    });
    expect((await invite('other@example.com')).status).toBe(201);
    clock.offsetMs = 86_400_000;
    expect(await send(201)).toMatch(/^inv_/);
    clock.offsetMs = 0;
  });

  test('grants no role above the inviter’s', async () => {
    const key = await service.keyOf('admin');
    expect((await invite('up@example.com', 'owner', key)).status).toBe(403);
    expect((await invite('up@example.com', 'admin', key)).status).toBe(201);
  });
});

describe('members', () => {
  const change = async (id: string, role: string, key = service.apiKey): Promise<number> =>
    (await client.patch(`/v1/team/members/${id}`, { role }, { key })).status;

  test('the last owner stays, also when two owners go at once', async () => {
    const { users } = service.workspaces;
    const first = users.firstOwner(1)?.id ?? '';
    expect(await change(first, 'admin')).toBe(409);
    const path = `/v1/team/members/${first}`;
    expect((await client.delete(path)).status).toBe(409);
    const other = await makeMember(service, 'owner');
    const both = await Promise.all([change(other.id, 'admin'), change(first, 'admin', other.key)]);
    expect(both.filter((status) => status === 200)).toHaveLength(1);
    const owners = service.workspaces.members.list(1).filter(({ role }) => role === 'owner');
    expect(owners).toHaveLength(1);
    // For the tests after this one.
    const actor = { workspaceNo: 1, userId: owners[0]?.user.id ?? '', role: 'owner' } as const;
    await service.workspaces.members.changeRole(actor, first, 'owner');
  });

  test('an admin reaches no owner and grants no owner', async () => {
    const key = await service.keyOf('admin');
    const owner = service.workspaces.users.firstOwner(1)?.id ?? '';
    expect(await change(owner, 'viewer', key)).toBe(403);
    const email = 'm@example.com';
    const { id } = await service.workspaces.users.create(1, 'viewer', { email, name: 'M' });
    expect(await change(id, 'owner', key)).toBe(403);
    expect(await change(id, 'admin', key)).toBe(200);
  });

  test.each([
    ['removed', undefined, []],
    ['made a viewer', 'viewer', []],
    ['made an editor', 'editor', []],
    ['made an admin', 'admin', ['admin', 'viewer']],
    ['left an owner', 'owner', ['admin', 'owner', 'viewer']],
  ] as const)('an inviter who is %s keeps the invites they may send', async (_name, role, kept) => {
    const name = `inviter-${role ?? 'gone'}`;
    const { id, key } = await makeMember(service, 'owner');
    const tokens: Record<string, unknown> = {};
    for (const granted of ['owner', 'admin', 'viewer']) {
      tokens[granted] = (await invite(`${name}-${granted}@example.com`, granted, key)).json.token;
    }
    const others = await invite(`${name}-others@example.com`, 'owner');
    if (role === undefined) await client.delete(`/v1/team/members/${id}`);
    else await change(id, role);
    const { items } = await client.get('/v1/team/invites?limit=100');
    const sent = items.filter(({ invitedBy }) => word(invitedBy) === id);
    expect(sent.map((one) => word(one.role)).toSorted()).toEqual(kept);
    for (const [granted, token] of Object.entries(tokens)) {
      const { status } = await accept({ token, name, password });
      expect([granted, status]).toEqual([granted, kept.some((one) => one === granted) ? 200 : 404]);
    }
    const joined = await accept({ token: others.json.token, name, password });
    expect(joined.status).toBe(200);
    // The address is free for another invite.
    expect((await invite(`${name}-viewer@example.com`)).status).toBe(
      kept.some((one) => one === 'viewer') ? 409 : 201,
    );
  });

  test('a removed member’s key and session end with the next request', async () => {
    const leaver = await makeMember(service, 'editor');
    const { id, key } = leaver;
    const browser = await Browser.signedIn(service, leaver);
    expect((await client.get('/v1/qr-codes', { key })).status).toBe(200);
    const path = `/v1/team/members/${id}`;
    expect((await client.delete(path)).json).toEqual({ deleted: true, id });
    expect((await client.delete(path)).status).toBe(404);
    expect((await client.get('/v1/qr-codes', { key })).status).toBe(401);
    expect((await browser.get('/v1/qr-codes')).status).toBe(401);
  });
});

describe('mail', () => {
  const to = (email: string) => ({ email, role: 'viewer' });

  test('carries the link in text and HTML, which the answer does not', async () => {
    const { mail, client: caller } = await openMailing();
    const made = await caller.post('/v1/team/invites', to('zoë@example.com'));
    expect(made.json.token).toBeUndefined();
    const letter = await mail.next();
    expect(letter.to).toEqual(['zoë@example.com']);
    expect(letter.source).toMatch(/text\/plain[^]*text\/html/);
    const accepted = { token: tokenIn(letter), name: 'Zoë', password };
    expect((await caller.post('/v1/team/invites/accept', accepted)).status).toBe(200);
  });

  test('names no address that somebody has put into a name', async () => {
    const { mail, service: mailing, client: caller } = await openMailing();
    const { users, workspaces, profiles } = mailing.workspaces;
    await profiles.rename(users.firstOwner(1)?.id ?? '', 'Prize at evil.example now');
    await workspaces.change(1, { name: 'https://10.0.0.1/x' });
    await caller.post('/v1/team/invites', to('zoe@example.com'));
    const { source } = await mail.next();
    expect(source).toContain('Subject: A member invites you to a workspace');
    expect(source).not.toMatch(/evil|10\.0\.0\.1/);
  });

  test('goes to no server without TLS unless the configuration allows it', async () => {
    const mailing = await openMailing({ QZ_MAIL_REQUIRE_TLS: 'true' });
    const { status } = await mailing.client.post('/v1/team/invites', to('zoe@example.com'));
    expect(status).toBe(201);
    const { logLines } = mailing.service;
    await expect.poll(() => logLines.join(''), soon).toContain('"code":"ETLS"');
  });

  test('that cannot be sent is tried again, given up, and the next invite shows its link', async () => {
    const { mail, service: mailing, client: caller } = await openMailing();
    await mail.close();
    const send = async () => await caller.post('/v1/team/invites', to('lost@example.com'));
    expect((await send()).status).toBe(201);
    await expect.poll(() => mailing.logLines.join('').includes('given up'), soon).toBe(true);
    await expect.poll(async () => (await send()).json.token, soon).toMatch(/^[\w-]{43}$/);
    expect((await send()).status).toBe(409);
    expect(mailing.logLines.join('')).not.toContain('lost@example.com');
  });
});
