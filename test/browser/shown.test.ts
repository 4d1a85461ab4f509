/**
 * What pages say, and how: names that are not cut, bars of one scale, times to the second, numbers that are
 * compared with whole periods only. One service for all; each test reads pages of its own.
 */
import type { Locator, Page, Route } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { dayMs } from '../../src/model/day.ts';
import { type Json, word } from '../support/client.ts';
import { follow } from './addresses.ts';
import { openHarness, type Harness, waitMs } from './harness.ts';
import { scan, untilCounted } from './seed.ts';

const testMs = 180_000;
/** Visitors in as many countries. */
const visitors = [
  '193.99.144.80',
  '80.67.169.12',
  '8.8.8.8',
  '1.1.1.1',
  '133.11.0.1',
  '62.2.24.162',
  '200.160.2.3',
  '192.87.106.101',
  '147.32.1.1',
  '130.240.1.1',
  '193.1.101.1',
  '147.83.2.3',
  '193.136.1.1',
] as const;
const longName = 'Table menu in the beer garden, north of the fountain';

let harness: Harness;
let codeId: string;
let campaignId: string;
let fair: Json;
let market: Json;
/** One for all tests, which go on by links: each has codes of its own or changes nothing. */
let page: Page;

beforeAll(async () => {
  harness = await openHarness();
  const code = await post('/qr-codes', { target: 'https://example.com/menu', name: longName });
  codeId = word(code.id);
  const others = Array.from({ length: 11 }, (_, at) => ({
    target: `https://example.com/${at}`,
    name: `Table ${at + 1}`,
  }));
  const made = await Promise.all(others.map((body) => post('/qr-codes', body)));
  for (const visitor of visitors) await scan(word(code.shortUrl), visitor);
  for (const { shortUrl } of made) await scan(word(shortUrl), visitors[0]);
  await untilCounted(harness, visitors.length + made.length);
  const startDate = new Date().toISOString().slice(0, 10);
  const campaign = { name: 'Summer in the beer gardens', startDate, qrCodeIds: [codeId] };
  campaignId = word((await post('/campaigns', campaign)).id);
  fair = await post('/campaigns', { ...campaign, name: 'Fair', qrCodeIds: [] });
  market = await post('/campaigns', { ...campaign, name: 'Market' });
  await post('/conversions', { qrCodeId: codeId, value: 19.9 });
  await post('/conversions', { qrCodeId: codeId, value: 5 });
  page = await harness.openSignedIn('/settings/data');
  await page.route(/\/v1\/analytics\/summary/, compareWithPart);
  await follow(page, '/');
}, testMs);
afterAll(async () => {
  await harness.close();
});

async function post(path: string, body: unknown) {
  return (await harness.api.call('POST', `/v1${path}`, { body })).json;
}

/** As after 45 days: the month before was counted for half of its days, the week before for all of them. */
async function compareWithPart(route: Route): Promise<void> {
  const response = await route.fetch();
  const answer = await response.json();
  const { searchParams } = new URL(route.request().url());
  const [from = 0, to = 0] = ['from', 'to'].map((name) => Date.parse(searchParams.get(name) ?? ''));
  const previous = { ...answer.previous, complete: to - from < 7 * dayMs };
  const change = { totalScans: 0.5, uniqueScanners: 0.5 };
  await route.fulfill({ response, json: { ...answer, previous, change } });
}

const widthOf = async (place: Locator): Promise<number> =>
  (await place.boundingBox())?.width ?? Number.NaN;

interface Measured {
  readonly scrollWidth: number;
  readonly clientWidth: number;
  readonly scrollHeight: number;
  readonly clientHeight: number;
}

/** Pixels of the content that its element does not show, in both directions. */
async function hiddenOf(place: Locator): Promise<readonly number[]> {
  return await place.evaluate((element: Measured) => [
    element.scrollWidth - element.clientWidth,
    element.scrollHeight - element.clientHeight,
  ]);
}

test(
  'the overview shows whole names, and bars of the named alone',
  async () => {
    const card = page.locator('.card', { hasText: 'Most scanned' });
    const name = card.locator('.bar-label', { hasText: longName });
    await name.waitFor();
    expect(await hiddenOf(name)).toEqual([0, 0]);
    expect((await hiddenOf(name.locator('a')))[0]).toBe(0);
    expect(await card.locator('.bar-row').last().innerText()).toMatch(/^Other/);
    const [track, longest] = [card.locator('.bar-track'), card.locator('.bar-fill')];
    expect(await widthOf(longest.first())).toBeCloseTo(await widthOf(track.first()), 0);
    // Twelve codes: ten are named, two are in the sum, which has no bar to be measured by.
    expect(await longest.count()).toBe(10);
  },
  testMs,
);

test(
  'a period that was counted in part is compared with nothing, one that was counted whole with the one before',
  async () => {
    const figure = (label: string) => page.locator('.figure', { hasText: label }).first();
    await figure('Last 30 days').getByText('Too early to compare with').waitFor();
    await figure('Last 7 days').getByText('+50% against').waitFor();
  },
  testMs,
);

test(
  'a breakdown shows its first ten rows, all after a click, and the numbers of conversions beside it',
  async () => {
    await follow(page, `/codes/${codeId}`);
    const card = page.locator('.card', { hasText: 'Locations' });
    const rows = card.getByRole('list', { name: 'Countries' }).getByRole('listitem');
    const more = card.getByRole('button', { name: 'Show all' });
    await more.waitFor();
    expect(await rows.count()).toBe(10);
    await more.click();
    const dialog = page.getByRole('dialog', { name: 'Countries' });
    await dialog.getByLabel('Search countries').fill('por');
    await dialog.getByRole('button', { name: 'Portugal' }).waitFor();
    await expect.poll(() => dialog.getByRole('listitem').count()).toBe(1);
    await page.keyboard.press('Escape');
    await page.getByText('Total value 24.9').waitFor();
    await follow(page, `/campaigns/${campaignId}`);
    await page.getByText('Total value 24.9').waitFor();
    await page.getByRole('cell', { name: 'Value 24.9' }).waitFor();
  },
  testMs,
);

test(
  'a code that leads nowhere is marked in the list and on its page, and found by its status',
  async () => {
    const limited = { target: 'https://example.com/few', name: 'Voucher', scanLimit: 1 };
    const { id, shortUrl } = await post('/qr-codes', limited);
    await scan(word(shortUrl), visitors[0]);
    const statusOf = async () =>
      (await harness.api.call('GET', `/v1/qr-codes/${word(id)}`)).json.status;
    await expect.poll(statusOf, { timeout: waitMs }).toBe('used_up');
    await follow(page, '/codes');
    const row = page.getByRole('row', { name: 'Voucher' });
    await row.getByText('Limit reached').waitFor();
    expect(
      await page.getByRole('row', { name: 'Table 11' }).getByText('Limit reached').count(),
    ).toBe(0);
    await page.getByLabel('Status').selectOption('Limit reached');
    await page.getByRole('row', { name: 'Table 11' }).waitFor({ state: 'detached' });
    await expect.poll(() => page.locator('.code-cell').count()).toBe(1);
    await row.getByRole('link').click();
    await page.getByText('This code has reached its scan limit').waitFor();
    await page.getByRole('link', { name: 'Change its limit' }).click();
    await page.getByLabel('Scan limit').fill('2');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('This code has reached its scan limit').waitFor({ state: 'detached' });
  },
  testMs,
);

test(
  'the filter by campaign names it, inside its frame, and is taken away',
  async () => {
    await follow(page, `/codes?campaign=${campaignId}`);
    const filter = page.locator('.chip', { hasText: 'Summer in the beer gardens' });
    await filter.waitFor();
    expect(await hiddenOf(filter)).toEqual([0, 0]);
    await expect.poll(() => page.locator('.code-cell').count()).toBe(1);
    await filter.getByRole('button').click();
    await page.getByText('Table 11', { exact: true }).waitFor();
  },
  testMs,
);

test(
  'a table that becomes wider than its place can be scrolled by keyboard',
  async () => {
    await follow(page, `/codes/${codeId}?part=scans`);
    const place = page.locator('.table-wrap');
    await place.waitFor();
    expect(await place.getAttribute('tabindex')).toBeNull();
    await page.setViewportSize({ width: 320, height: 800 });
    await page.locator('.table-wrap[tabindex="0"]').waitFor();
    await place.focus();
    await page.keyboard.press('ArrowRight');
    const left = () =>
      place.evaluate(({ scrollLeft }: { readonly scrollLeft: number }) => scrollLeft);
    await expect.poll(left, { timeout: waitMs }).toBeGreaterThan(0);
    await page.setViewportSize({ width: 1_440, height: 800 });
    await page.locator('.table-wrap:not([tabindex])').waitFor();
  },
  testMs,
);

test(
  'campaigns that cannot be loaded say why, and are tried again',
  async () => {
    const problem = { status: 503, code: 'overloaded', detail: 'Too many requests are waiting.' };
    const refused = /\/v1\/campaigns\?/;
    await page.route(refused, (route) => route.fulfill({ status: 503, json: problem }));
    await follow(page, `/codes/${codeId}?part=details`);
    await page.getByRole('button', { name: 'Change campaigns' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Too many requests are waiting.').waitFor();
    await page.unroute(refused);
    await dialog.getByRole('button', { name: 'Try again' }).click();
    await dialog.getByLabel('Summer in the beer gardens').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  },
  testMs,
);

test(
  'a code is put into a campaign when it is made, into another from its page, and taken out of both',
  async () => {
    const codesOf = async ({ id }: Json) =>
      (await harness.api.call('GET', `/v1/campaigns/${word(id)}`)).json.qrCodeIds;
    await follow(page, '/codes/new');
    await page.getByLabel('Web address', { exact: true }).fill('example.com/stand');
    await page.getByLabel('Campaign').selectOption('Fair');
    await page.getByRole('button', { name: 'Create code' }).click();
    // Codes of this service are for this machine alone.
    await page.getByText('Code created. Before you print it').waitFor();
    const fact = page.locator('.fact', { hasText: 'Campaigns' });
    await fact.getByRole('link', { name: 'Fair' }).waitFor();
    const made = new URL(page.url()).pathname.split('/').at(-1);
    expect(await codesOf(fair)).toEqual([made]);
    const change = fact.getByRole('button', { name: 'Change campaigns' });
    const dialog = page.getByRole('dialog');
    const save = async (): Promise<void> => {
      await dialog.getByRole('button', { name: 'Save changes' }).click();
      await dialog.waitFor({ state: 'detached' });
    };
    await change.click();
    await dialog.getByLabel('Market').check();
    await save();
    await fact.getByRole('link', { name: 'Market' }).waitFor();
    expect([await codesOf(fair), await codesOf(market)]).toEqual([[made], [codeId, made]]);
    await change.click();
    await dialog.getByLabel('Fair').uncheck();
    await dialog.getByLabel('Market').uncheck();
    await save();
    await fact.getByRole('button', { name: 'Put into a campaign' }).waitFor();
    expect([await codesOf(fair), await codesOf(market)]).toEqual([[], [codeId]]);
  },
  testMs,
);

test('the browser had nothing to complain of', () => {
  expect(harness.complaints).toEqual([]);
});
