/** Shared reports: what a link shows, for how long, to whom, and what it never shows. */
import { expect, test } from 'vitest';
import { dayMs } from '../../../src/model/day.ts';
import { calendarOfRange, type LocalRange } from '../../../src/model/zones/local-range.ts';
import { unavailable } from '../../../src/engine/analytics/spans.ts';
import { reportsMax } from '../../../src/model/reports/report.ts';
import { word } from '../../support/client.ts';
import { makeMember, makeStranger } from '../../support/test-client.ts';
import { clientOf, openLink, openReportFixture, secretTarget } from './report-fixture.ts';

const gone = 'This link does not work';
/** With a link to the report of the code. */
async function openShared() {
  const fixture = await openReportFixture();
  const report = await fixture.share();
  return { ...fixture, report, url: report.url };
}

const isUtc = (range: LocalRange): boolean => calendarOfRange(range).zone === 'UTC';

test('a link shows name, numbers and charts of a code, to everyone who has it', async () => {
  const { app, codeNo, share } = await openReportFixture();
  app.scans.lifetime.set(codeNo, 1234);
  const report = await share();
  expect(report).toMatchObject({ range: '30d', status: 'active', expiresAt: null, title: null });
  const page = await openLink(app, report.url);
  expect(page.status).toBe(200);
  expect(page.text).toContain('<h1 dir="auto">Summer &lt;menu&gt;</h1>');
  expect(page.text).toContain('1,234');
  expect(page.text).toContain('Germany');
  expect(page.text).toContain('aria-label="Scans by day from');
});

test('a page loads nothing, runs nothing, is kept by nobody and names nobody', async () => {
  const { app, codeId, client, share } = await openReportFixture();
  const report = await share();
  const { headers, text } = await openLink(app, report.url);
  const policy = headers['content-security-policy'] ?? '';
  expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[\w+/=]+'; base-uri 'none'/);
  expect(policy).toContain("form-action 'none'; frame-ancestors 'none'");
  expect(headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'referrer-policy': 'no-referrer',
    'cache-control': 'private, no-store',
    'x-robots-tag': 'noindex, nofollow',
    'x-content-type-options': 'nosniff',
  });
  expect(headers['set-cookie']).toBeUndefined();
  expect(text).not.toMatch(/<script|style="|src=|url\(/);
  const code = (await client.get(`/v1/qr-codes/${codeId}`)).json;
  const shortCode = word(code.shortUrl).split('/').at(-1);
  const owner = app.first.user;
  const hidden = [secretTarget, 'secret.example', codeId, shortCode, 'hidden-tag', word(report.id)];
  const people = [owner.email, owner.id, app.first.workspace.id, app.first.workspace.name];
  for (const secret of [...hidden, ...people]) expect(text).not.toContain(secret);
});

test('a code without a name is not called by what leads to its target', async () => {
  const { app, client, share } = await openReportFixture();
  const body = { target: secretTarget };
  const { json } = await client.post('/v1/qr-codes', body);
  const textOf = async (more: object): Promise<string> =>
    (await openLink(app, (await share({ qrCodeId: json.id, ...more })).url)).text;
  const text = await textOf({});
  expect(text).toContain('<h1 dir="auto">QR code</h1>');
  expect(text).not.toContain(word(json.shortUrl));
  expect(await textOf({ title: 'Mine' })).toContain('<h1 dir="auto">Mine</h1>');
});

test('the range is the report’s own, and every other by the query', async () => {
  const { app, codeNo, share, codeId } = await openReportFixture();
  app.clock.move(400 * dayMs);
  app.scans.lifetime.set(codeNo, 10);
  const { url } = await share({ qrCodeId: codeId, range: '7d' });
  const shown = async (query: string): Promise<string | undefined> => {
    const { text } = await openLink(app, url, { query });
    return /\?range=(\w+)" aria-current/.exec(text)?.[1];
  };
  expect(await shown('')).toBe('7d');
  expect(await shown('?range=90d')).toBe('90d');
  expect(await shown('?range=all')).toBe('all');
  for (const query of ['?range=zzz', '?range=', '?range=%3Cscript%3E']) {
    const refused = await openLink(app, url, { query });
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('7d, 30d, 90d')]);
  }
  const { text } = await openLink(app, url, { query: '?range=all' });
  expect(text).toContain('Scans by week from');
  expect(text).toContain('no earlier period to compare with');
});

test('a campaign is counted over its schedule, and ends with it', async () => {
  const { app, client, codeId, codeNo, share } = await openReportFixture();
  const days = { startDate: '2026-03-10', endDate: '2026-03-12' };
  const campaign = { name: 'Spring', ...days, qrCodeIds: [codeId] };
  const { json } = await client.post('/v1/campaigns', campaign);
  const { url } = await share({ campaignId: json.id });
  expect((await openLink(app, url)).text).toContain('This has not started yet');
  app.clock.move(60 * dayMs);
  app.scans.lifetime.set(codeNo, 7);
  const { text } = await openLink(app, url);
  expect(text).toContain('Campaign, 10 Mar to 12 Mar 2026');
  expect(text).not.toContain('Summer');
  await client.delete(`/v1/campaigns/${word(json.id)}`);
  expect((await openLink(app, url)).status).toBe(404);
});

test('unknown, cut, revoked, expired and gone links are one and the same page', async () => {
  const { app, client, codeId, share } = await openReportFixture();
  const revoked = await share();
  const expiring = await share({ qrCodeId: codeId, expiresAt: '2026-03-05T00:00:00Z' });
  const left = await share();
  for (const { url } of [revoked, expiring]) expect((await openLink(app, url)).status).toBe(200);
  const path = `/v1/reports/${word(revoked.id)}`;
  expect((await client.delete(path)).json).toEqual({ deleted: true, id: revoked.id });
  expect((await client.delete(path)).status).toBe(404);
  // At once, though its page was just shown.
  expect((await openLink(app, revoked.url)).status).toBe(404);
  await client.delete(`/v1/qr-codes/${codeId}`);
  app.clock.move(2 * dayMs);
  expect((await openLink(app, left.url)).status).toBe(200);
  expect((await client.get(`/v1/reports/${word(expiring.id)}`)).json.status).toBe('expired');
  app.clock.move(91 * dayMs);
  expect((await client.get(`/v1/reports/${word(left.id)}`)).json.status).toBe('gone');
  const made = [`${app.url}/r/${'A'.repeat(43)}`, `${app.url}/r/x`];
  const answers = [];
  for (const url of [revoked.url, expiring.url, left.url, ...made]) {
    answers.push(await openLink(app, url));
  }
  for (const { status, text } of answers) expect([status, text]).toEqual([404, answers[0]?.text]);
  expect(answers[0]?.text).toContain(gone);
});

test('numbers are read once in half a minute, however many open the link', async () => {
  const { app, url } = await openShared();
  await Promise.all([openLink(app, url), openLink(app, url), openLink(app, url)]);
  const once = app.scans.asked.length;
  expect(once).toBeGreaterThan(0);
  await openLink(app, url);
  expect(app.scans.asked.length).toBe(once);
  app.clock.move(30_000);
  await openLink(app, url);
  expect(app.scans.asked.length).toBeGreaterThan(once);
});

test('a failed page is not kept', async () => {
  const { app, url } = await openShared();
  app.scans.failure = new Error('disk');
  expect((await openLink(app, url)).status).toBe(500);
  app.scans.failure = undefined;
  expect((await openLink(app, url)).status).toBe(200);
});

test('guesses wait by address, and known links by a bucket of their own', async () => {
  const { app, url } = await openShared();
  const from = '203.0.113.7';
  let guess = 0;
  const statuses = [];
  for (; guess < 22; guess += 1) {
    const wrong = `${app.url}/r/${String(guess).padStart(43, 'A')}`;
    statuses.push((await openLink(app, wrong, { from })).status);
  }
  expect(statuses.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 404));
  expect(statuses.slice(20)).toEqual([429, 429]);
  expect((await openLink(app, url, { from })).status).toBe(200);
  expect((await openLink(app, url, { from })).headers['x-ratelimit-limit']).toBe('120');
});

test('opening a link takes nothing of the quota of the workspace', async () => {
  const { app, client, url } = await openShared();
  const used = async () => (await client.get('/v1/billing/usage')).json.day?.used;
  const before = Number(await used());
  for (let times = 0; times < 5; times += 1) await openLink(app, url);
  expect(Number(await used())).toBe(before + 1);
});

test('HEAD is answered, nothing else is', async () => {
  const { app, url } = await openShared();
  expect(await openLink(app, url, { method: 'HEAD' })).toMatchObject({ status: 200, text: '' });
  expect((await openLink(app, url, { method: 'POST' })).status).toBe(404);
});

test('after a restart links work, and can be copied again by those who may share', async () => {
  const { app, client, share } = await openReportFixture();
  const report = await share();
  const key = app.apiKey;
  await client.close();
  const again = await app.restart();
  await again.listen();
  expect((await openLink(again, report.url)).status).toBe(200);
  const owner = clientOf(again, key);
  expect((await owner.get('/v1/reports')).items).toEqual([report]);
  const viewer = clientOf(again, await again.keyOf('viewer'));
  expect((await viewer.get('/v1/reports')).items).toEqual([{ ...report, url: null }]);
  expect((await viewer.get(`/v1/reports/${word(report.id)}`)).json.url).toBeNull();
});

test('of the token only its hash is stored', async () => {
  const { app, url } = await openShared();
  const token = word(url).split('/').at(-1) ?? '';
  expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
  const stored = JSON.stringify([...app.store.reports.reports.range({})]);
  const found = JSON.stringify([...app.store.reports.reportTokens.range({})]);
  expect(stored.length).toBeGreaterThan(100);
  expect(stored + found).not.toContain(token);
});

test('a link stays when the member who made it is removed, until another revokes it', async () => {
  const { app, client, codeId } = await openReportFixture();
  const { id: userId, key } = await makeMember(app, 'editor');
  const body = { qrCodeId: codeId };
  const { json } = await clientOf(app, key).post('/v1/reports', body);
  await app.workspaces.members.remove(app.actor, userId);
  expect((await openLink(app, word(json.url))).status).toBe(200);
  expect((await client.delete(`/v1/reports/${word(json.id)}`)).status).toBe(200);
  expect((await openLink(app, word(json.url))).status).toBe(404);
});

test('another workspace has none of it', async () => {
  const { app, share, codeId } = await openReportFixture();
  await share();
  const stranger = clientOf(app, await makeStranger(app));
  expect((await stranger.get('/v1/reports')).items).toEqual([]);
  expect((await stranger.post('/v1/reports', { qrCodeId: codeId })).status).toBe(404);
});

test('both subjects, a past end, a static code and a deleted one are refused', async () => {
  const { client, codeId } = await openReportFixture();
  const post = (body: unknown) => client.post('/v1/reports', body);
  const both = await post({ qrCodeId: codeId, campaignId: 'cmp_00000000000000000000' });
  expect([both.status, both.faults[0]?.code]).toEqual([422, 'not_allowed']);
  const past = await post({ qrCodeId: codeId, expiresAt: '2026-03-01T00:00:00Z' });
  expect(past.faults).toMatchObject([{ path: 'expiresAt', code: 'in_past' }]);
  const body = { target: 'tel:+49123', type: 'phone', dynamic: false };
  const fixed = await client.post('/v1/qr-codes', body);
  expect((await post({ qrCodeId: fixed.json.id })).json.code).toBe('static_code');
  await client.delete(`/v1/qr-codes/${codeId}`);
  expect((await post({ qrCodeId: codeId })).status).toBe(404);
});

test('a full list takes another when something of it is over', async () => {
  const { app, client, codeId } = await openReportFixture();
  const { reports } = app.reports;
  const draft = { of: codeId, range: '30d' } as const;
  await reports.create(app.actor, { ...draft, expiresAtMs: app.clock.now() + 1_000 });
  for (let made = 1; made < reportsMax; made += 1) await reports.create(app.actor, draft);
  const body = { qrCodeId: codeId };
  expect((await client.post('/v1/reports', body)).status).toBe(409);
  app.clock.move(1_000);
  expect((await client.post('/v1/reports', body)).status).toBe(201);
  expect(reports.list(1)).toHaveLength(reportsMax);
  expect((await client.post('/v1/reports', body)).status).toBe(409);
});

test('days are those of the workspace, or of the report’s own zone, or of UTC where no other is known', async () => {
  const { app, client, codeId, share } = await openReportFixture();
  const workspace = `/v1/workspaces/${app.actor.workspaceId}`;
  await client.patch(workspace, { timezone: 'America/New_York' });
  const own = await share();
  const given = await share({ qrCodeId: codeId, timezone: 'Asia/Kathmandu' });
  expect([own.timezone, given.timezone]).toEqual([null, 'Asia/Kathmandu']);
  app.clock.set(Date.UTC(2026, 2, 4, 4, 30));
  const page = await openLink(app, own.url);
  expect(page.text).toContain('3 Mar 2026 (New York time)');
  expect(page.text).toContain('As of 3 Mar 2026, 23:30 (New York time)');
  expect((await openLink(app, given.url)).text).toContain('4 Mar 2026 (Kathmandu time)');
  app.clock.move(30_000);
  const { totals } = app.scans.analytics;
  Object.assign(app.scans.analytics, {
    totals: async (...[subject, range]: Parameters<typeof totals>) => {
      app.scans.failure = isUtc(range) ? undefined : unavailable('not known');
      return await totals(subject, range);
    },
  });
  expect((await openLink(app, own.url)).text).toContain('4 Mar 2026 (UTC)');
});
