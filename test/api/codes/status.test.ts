/** Whether a code still leads somewhere, and which campaigns it is in: /v1/qr-codes from outside. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { isoTime } from '../../../src/model/day.ts';
import { type Answer, Client, word } from '../../support/client.ts';
import { startTestApi, type TestApp } from '../../support/test-app.ts';

let service: TestApp;
let client: Client;
let run = 0;
/** Tells the codes of a test from those of the others. */
let tag = '';

beforeAll(async () => {
  service = await startTestApi();
  client = new Client(service.url, service.apiKey);
});
afterAll(async () => {
  await client.close();
  await service.close();
});
beforeEach(() => {
  run++;
  tag = `run-${run}`;
});

const target = 'https://example.com/menu';

async function create(body: object): Promise<string> {
  const made = await client.call('POST', '/v1/qr-codes', {
    body: { target, tags: [tag], ...body },
  });
  expect(made.status).toBe(201);
  expect(made.json.status).toBe('active');
  return word(made.json.id);
}

async function list(query: string): Promise<Answer> {
  return await client.call('GET', `/v1/qr-codes?tag=${tag}&${query}`);
}

const idsOf = ({ items }: Answer): string[] => items.map(({ id }) => word(id));

function scan(id: string, times: number): void {
  const code = service.codes.find(service.actor.workspaceNo, id);
  service.scans.lifetime.set(code?.no ?? 0, times);
}

test('a code says whether it redirects: in its page, in the list and in the table', async () => {
  const soon = isoTime(service.clock.now() + 60_000);
  const expiring = await create({ expiresAt: soon, scanLimit: 5 });
  const limited = await create({ scanLimit: 5 });
  const plain = await create({});
  const fixed = await create({ dynamic: false });
  scan(limited, 5);
  scan(expiring, 5);
  scan(plain, 9);
  const statuses = async (): Promise<unknown[]> => {
    const ids = [expiring, limited, plain, fixed];
    const pages = await Promise.all(
      ids.map(async (id) => await client.call('GET', `/v1/qr-codes/${id}`)),
    );
    const { items } = await list('limit=10');
    expect(items.map((item) => item.status).toReversed()).toEqual(
      pages.map(({ json }) => json.status),
    );
    const { text } = await client.call('GET', `/v1/qr-codes/export.csv?tag=${tag}`);
    const column = text
      .trim()
      .split(/\r?\n/)
      .map((line) => line.split(',').at(-1));
    expect(column).toEqual(['status', ...items.map(({ status }) => status)]);
    return pages.map(({ json }) => json.status);
  };
  expect(await statuses()).toEqual(['used_up', 'used_up', 'active', 'active']);
  service.clock.move(60_000);
  expect(await statuses()).toEqual(['expired', 'used_up', 'active', 'active']);
});

test('?status=paused and not_started, in the order of a redirect', async () => {
  const inAMinute = isoTime(service.clock.now() + 60_000);
  const made = async (body: object): Promise<string> => {
    const code = { target, tags: [tag], ...body };
    return word((await client.call('POST', '/v1/qr-codes', { body: code })).json.id);
  };
  const paused = await made({ paused: true, startsAt: inAMinute });
  const early = await made({ startsAt: inAMinute, scanLimit: 1 });
  const plain = await made({ fallbackUrl: 'https://example.com/later' });
  scan(early, 3);
  const by = async (): Promise<string[][]> => {
    const statuses = ['paused', 'not_started', 'used_up', 'active'];
    return await Promise.all(statuses.map(async (one) => idsOf(await list(`status=${one}`))));
  };
  expect(await by()).toEqual([[paused], [early], [], [plain]]);
  service.clock.move(60_000);
  expect(await by()).toEqual([[paused], [], [early], [plain]]);
});

test('?status filters together with the others, by page, by cursor and as a table', async () => {
  const soon = isoTime(service.clock.now() + 60_000);
  const groups: Record<string, string[]> = { active: [], expired: [], used_up: [] };
  for (let made = 0; made < 24; made++) {
    const bounds = [{}, { expiresAt: soon }, { scanLimit: 2 }][made % 3];
    const id = await create({ name: made % 2 === 0 ? 'even one' : 'odd one', ...bounds });
    if (made % 3 === 2) scan(id, 2);
    groups[['active', 'expired', 'used_up'][made % 3] ?? '']?.unshift(id);
  }
  service.clock.move(60_000);
  for (const [status, ids] of Object.entries(groups)) {
    const first = await list(`status=${status}&limit=3`);
    expect([idsOf(first), first.json.total]).toEqual([ids.slice(0, 3), 8]);
    const third = await list(`status=${status}&limit=3&page=3`);
    expect([idsOf(third), third.json.total]).toEqual([ids.slice(6), 8]);
    const next = await list(`status=${status}&limit=3&cursor=${word(first.json.nextCursor)}`);
    expect([idsOf(next), next.json.total]).toEqual([ids.slice(3, 6), 8]);
    const even = await list(`status=${status}&search=even&dynamic=true&type=url&limit=10`);
    expect([even.items.length, even.json.total]).toEqual([4, 4]);
    const table = await client.call('GET', `/v1/qr-codes/export.csv?tag=${tag}&status=${status}`);
    expect(table.text.trim().split('\n')).toHaveLength(9);
  }
  const refused = await list('status=gone');
  expect([refused.status, refused.faults[0]?.path]).toEqual([422, 'status']);
});

test('a raised limit or a later end makes a code active again, in the list at once', async () => {
  const id = await create({ scanLimit: 2 });
  scan(id, 2);
  expect(idsOf(await list('status=used_up'))).toEqual([id]);
  await client.call('PATCH', `/v1/qr-codes/${id}`, { body: { scanLimit: 3 } });
  expect(idsOf(await list('status=used_up'))).toEqual([]);
  expect(idsOf(await list('status=active'))).toEqual([id]);
  const expiresAt = isoTime(service.clock.now());
  const { json } = await client.call('PATCH', `/v1/qr-codes/${id}`, { body: { expiresAt } });
  expect(json.status).toBe('expired');
  expect(idsOf(await list('status=expired'))).toEqual([id]);
  await client.call('PATCH', `/v1/qr-codes/${id}`, { body: { expiresAt: null } });
  expect(idsOf(await list('status=expired'))).toEqual([]);
});

test('a code shows its campaigns by name and days, those it was put into at creation and later', async () => {
  const startDate = isoTime(service.clock.now()).slice(0, 10);
  const campaign = async (name: string, qrCodeIds: string[]): Promise<string> => {
    const body = { name, startDate, endDate: startDate, qrCodeIds };
    return word((await client.call('POST', '/v1/campaigns', { body })).json.id);
  };
  const days = { startDate, endDate: startDate };
  const spring = await campaign('Spring', []);
  const made = await client.call('POST', '/v1/qr-codes', {
    body: { target, campaignIds: [spring] },
  });
  expect(made.json.campaigns).toEqual([{ id: spring, name: 'Spring', ...days }]);
  const id = word(made.json.id);
  const summer = await campaign('Summer', [id]);
  const both = await client.call('GET', `/v1/qr-codes/${id}`);
  expect(both.json.campaigns).toEqual([
    { id: spring, name: 'Spring', ...days },
    { id: summer, name: 'Summer', ...days },
  ]);
  expect(both.json.campaignIds).toEqual([spring, summer]);
  await client.call('PATCH', `/v1/campaigns/${spring}`, {
    body: { name: 'Early spring', endDate: null },
  });
  await client.call('DELETE', `/v1/campaigns/${summer}`);
  const after = await client.call('PATCH', `/v1/qr-codes/${id}`, { body: { name: 'Table 1' } });
  expect(after.json.campaigns).toEqual([
    { id: spring, name: 'Early spring', startDate, endDate: null },
  ]);
});
