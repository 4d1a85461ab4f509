/** Where a code leads now: its status, in the lists too, its campaigns, and what a scan would get. */
import { beforeEach, describe, expect, test } from 'vitest';
import { isoTime } from '../../../src/model/day.ts';
import { type Answer, word } from '../../support/client.ts';
import { useTestApi } from '../../support/test-client.ts';

const { service, client, makeCode, codeNo } = await useTestApi();
const target = 'https://example.com/menu';
let run = 0;
/** Marks the codes of one test, so that it finds only them. */
let tag = '';

beforeEach(() => {
  run++;
  tag = `run-${run}`;
});

const create = async (fields: object): Promise<string> =>
  word((await makeCode({ tags: [tag], ...fields })).id);
const list = (query: string) => client.get(`/v1/qr-codes?tag=${tag}&${query}`);
const idsOf = ({ items }: Answer): string[] => items.map(({ id }) => word(id));

const scan = (id: string, times: number) => service.scans.lifetime.set(codeNo(id), times);
/** A minute from now. */
const soonIs = (): string => isoTime(service.clock.now() + 60_000);

test('a code says whether it redirects: in its page, in the list and in the table', async () => {
  const soon = soonIs();
  const expiring = await create({ expiresAt: soon, scanLimit: 5 });
  const limited = await create({ scanLimit: 5 });
  const plain = await create({});
  const fixed = await create({ dynamic: false });
  scan(limited, 5);
  scan(expiring, 5);
  scan(plain, 9);
  const statuses = async (): Promise<unknown[]> => {
    const ids = [expiring, limited, plain, fixed];
    const pages = await Promise.all(ids.map(async (id) => await client.get(`/v1/qr-codes/${id}`)));
    const { items } = await list('limit=10');
    expect(items.map((item) => item.status).toReversed()).toEqual(
      pages.map(({ json }) => json.status),
    );
    const { text } = await client.get(`/v1/qr-codes/export.csv?tag=${tag}`);
    const lines = text.trim().split(/\r?\n/);
    const column = lines.map((line) => line.split(',').at(-1));
    expect(column).toEqual(['status', ...items.map(({ status }) => status)]);
    return pages.map(({ json }) => json.status);
  };
  expect(await statuses()).toEqual(['used_up', 'used_up', 'active', 'active']);
  service.clock.move(60_000);
  expect(await statuses()).toEqual(['expired', 'used_up', 'active', 'active']);
});

test('?status=paused and not_started, in the order of a redirect', async () => {
  const inAMinute = soonIs();
  const paused = await create({ paused: true, startsAt: inAMinute });
  const early = await create({ startsAt: inAMinute, scanLimit: 1 });
  const plain = await create({ fallbackUrl: 'https://example.com/later' });
  scan(early, 3);
  const by = async (): Promise<string[][]> => {
    const statuses = ['paused', 'not_started', 'used_up', 'active'];
    return await Promise.all(statuses.map(async (one) => idsOf(await list(`status=${one}`))));
  };
  expect(await by()).toEqual([[paused], [early], [], [plain]]);
  service.clock.move(60_000);
  expect(await by()).toEqual([[paused], [], [early], [plain]]);
});

test('a raised limit or a later end makes a code active again, in the list at once', async () => {
  const id = await create({ scanLimit: 2 });
  scan(id, 2);
  expect(idsOf(await list('status=used_up'))).toEqual([id]);
  await client.patch(`/v1/qr-codes/${id}`, { scanLimit: 3 });
  expect(idsOf(await list('status=used_up'))).toEqual([]);
  expect(idsOf(await list('status=active'))).toEqual([id]);
  const expiresAt = isoTime(service.clock.now());
  const { json } = await client.patch(`/v1/qr-codes/${id}`, { expiresAt });
  expect(json.status).toBe('expired');
  expect(idsOf(await list('status=expired'))).toEqual([id]);
  await client.patch(`/v1/qr-codes/${id}`, { expiresAt: null });
  expect(idsOf(await list('status=expired'))).toEqual([]);
});

test('a code shows its campaigns by name and days, those it was put into at creation and later', async () => {
  const startDate = isoTime(service.clock.now()).slice(0, 10);
  const campaign = async (name: string, qrCodeIds: string[]): Promise<string> => {
    const body = { name, startDate, endDate: startDate, qrCodeIds };
    return word((await client.post('/v1/campaigns', body)).json.id);
  };
  const days = { startDate, endDate: startDate };
  const spring = await campaign('Spring', []);
  const made = await makeCode({ campaignIds: [spring] });
  expect(made.campaigns).toEqual([{ id: spring, name: 'Spring', ...days }]);
  const id = word(made.id);
  const summer = await campaign('Summer', [id]);
  const both = await client.get(`/v1/qr-codes/${id}`);
  expect(both.json.campaigns).toEqual([
    { id: spring, name: 'Spring', ...days },
    { id: summer, name: 'Summer', ...days },
  ]);
  expect(both.json.campaignIds).toEqual([spring, summer]);
  const of = await client.get(`/v1/qr-codes?campaign=${summer}`);
  expect(of.json).toMatchObject({ total: 1, data: [{ id, campaignIds: [spring, summer] }] });
  await client.patch(`/v1/campaigns/${spring}`, { name: 'Early spring', endDate: null });
  await client.delete(`/v1/campaigns/${summer}`);
  const after = await client.patch(`/v1/qr-codes/${id}`, { name: 'Table 1' });
  expect(after.json.campaigns).toEqual([
    { id: spring, name: 'Early spring', startDate, endDate: null },
  ]);
});

describe('resolve', () => {
  async function resolve(id: string, query = ''): Promise<unknown> {
    const { status, json } = await client.get(`/v1/qr-codes/${id}/resolve?${query}`);
    expect(status).toBe(200);
    return json;
  }

  const to = (location: string, label: string, reason = 'rule') => {
    return { status: 302, location, label, reason };
  };
  const rule = (label: string, conditions: object) => {
    return { label, if: conditions, then: { target: `https://e.co/${label}` } };
  };

  test('rules, by what is said of the scan; the target without', async () => {
    const id = await create({
      utm: { source: '{label}' },
      passQuery: true,
      rules: [
        rule('ios', { os: ['iOS'], device: ['mobile'] }),
        rule('de', { language: ['de'], country: ['AT'] }),
        rule('table', { query: { table: '*' } }),
        rule('lunch', { time: { from: '11:00', to: '14:00', timezone: 'America/New_York' } }),
      ],
    });
    const query = encodeURIComponent('table=4&utm_source=x');
    const rows = [
      // A system without a device is on what it is mostly on.
      ['os=iOS', to('https://e.co/ios?utm_source=ios', 'ios')],
      ['os=iOS&device=tablet', to(`${target}?utm_source=target`, 'target', 'target')],
      ['language=fr;q=0.5,de-AT&country=AT', to('https://e.co/de?utm_source=de', 'de')],
      [`query=${query}`, to('https://e.co/table?utm_source=table&table=4', 'table')],
    ] as const;
    for (const [asked, answer] of rows) {
      expect(await resolve(id, `${asked}&at=2026-07-01T04:00:00Z`)).toEqual(answer);
    }
    // Half past ten in New York in winter, half past eleven in summer.
    expect(await resolve(id, 'at=2026-01-01T15:30:00Z')).toMatchObject({ label: 'target' });
    expect(await resolve(id, 'at=2026-07-01T15:30:00Z')).toMatchObject({ label: 'lunch' });
  });

  test('a split shows all its variants, of a rule and of the code', async () => {
    const variant = (label: string, weight: number) => {
      return { label, target: `https://e.co/${label}`, weight };
    };
    const then = { split: [variant('a', 1), variant('b', 3)] };
    const id = await create({
      rules: [{ label: 'x', if: { os: ['Android'] }, then }],
      split: [variant('c', 2), variant('d', 2)],
    });
    expect(await resolve(id, 'os=Android')).toEqual({
      ...to('https://e.co/b', 'b', 'split'),
      variants: [
        { label: 'a', location: 'https://e.co/a', share: 0.25 },
        { label: 'b', location: 'https://e.co/b', share: 0.75 },
      ],
    });
    expect(await resolve(id)).toMatchObject({ label: 'c', reason: 'split' });
  });

  test('states, in the order of a redirect, with and without a fallback', async () => {
    const startsAt = isoTime(service.clock.now() + 60_000);
    const expiresAt = isoTime(service.clock.now() + 120_000);
    const id = await create({ startsAt, expiresAt, scanLimit: 5 });
    const ended = (reason: string, status = 410) => ({
      status,
      location: null,
      label: reason,
      reason,
    });
    expect(await resolve(id)).toEqual(ended('not_started', 404));
    expect(await resolve(id, `at=${startsAt}`)).toEqual(to(target, 'target', 'target'));
    expect(await resolve(id, `at=${expiresAt}`)).toEqual(ended('expired'));
    scan(id, 5);
    expect(await resolve(id, `at=${startsAt}`)).toEqual(ended('used_up'));
    const body = { paused: true, fallbackUrl: 'https://e.co/later' };
    await client.patch(`/v1/qr-codes/${id}`, body);
    expect(await resolve(id)).toEqual(to('https://e.co/later', 'paused', 'paused'));
  });

  test('a static code leads nowhere else', async () => {
    const id = await create({ dynamic: false });
    const { status, json } = await client.get(`/v1/qr-codes/${id}/resolve`);
    expect([status, json.code]).toEqual([409, 'static_code']);
  });
});
