/**
 * What pages say, and how: names that are not cut, bars of one scale, times to the second, numbers that are
 * compared with whole periods only. One service for all; each test reads pages of its own.
 */
import type { Locator } from 'playwright-core';
import { expect, test } from 'vitest';
import { dayMs } from '../../src/model/day.ts';
import { hiddenOf, screens } from './accessibility.ts';
import { follow } from './addresses.ts';
import { changeAnswers, refusal, useHarness } from './harness.ts';
import { makeCampaign, scan, untilCounted } from './seed.ts';

/** In as many countries. */
const visitors =
  '193.99.144.80 80.67.169.12 8.8.8.8 1.1.1.1 133.11.0.1 62.2.24.162 200.160.2.3 192.87.106.101 ' +
  '147.32.1.1 130.240.1.1 193.1.101.1 147.83.2.3 193.136.1.1';
const longName = 'Table menu in the beer garden, north of the fountain';

const harness = await useHarness();
const { api, post, makeCode } = harness;
const code = await makeCode({ name: longName });
for (const visitor of visitors.split(' ')) await scan(code.shortUrl, visitor);
for (let table = 1; table <= 11; table += 1) {
  await scan((await makeCode({ name: `Table ${table}` })).shortUrl);
}
await untilCounted(harness, 13 + 11);
const campaignId = await makeCampaign(harness, 'Summer in the beer gardens', [code.id]);
const fair = await makeCampaign(harness, 'Fair', []);
const market = await makeCampaign(harness, 'Market', [code.id]);
for (const value of [19.9, 5]) await post('/conversions', { qrCodeId: code.id, value });
/** One for all tests, which go on by links: each has codes of its own or changes nothing. */
const page = await harness.openSignedIn();
// As after 45 days: the month before was counted for half of its days, the week before for all of them.
await changeAnswers(page, /\/v1\/analytics\/summary/, ({ previous }, query) => {
  const [from = 0, to = 0] = ['from', 'to'].map((name) => Date.parse(query.get(name) ?? ''));
  return {
    previous: { ...previous, complete: to - from < 7 * dayMs },
    change: { totalScans: 0.5, uniqueScanners: 0.5 },
  };
});
await follow(page, '/');

const widthOf = async (place: Locator): Promise<number> =>
  (await place.boundingBox())?.width ?? Number.NaN;

test('the overview shows whole names, and bars of the named alone', async () => {
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
});

test('a period that was counted in part is compared with nothing, one that was counted whole with the one before', async () => {
  const figure = (label: string) => page.locator('.figure', { hasText: label }).first();
  await figure('Last 30 days').getByText('Too early to compare with').waitFor();
  await figure('Last 7 days').getByText('+50% against').waitFor();
});

test('a breakdown shows its first ten rows, all after a click, and the numbers of conversions beside it', async () => {
  await follow(page, code.path);
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
});

test('long names leave space for the numbers next to them on both screens', async () => {
  const places = [
    [`/campaigns/${campaignId}`, page.locator('.table-wrap')],
    ['/codes?search=fountain', page.getByRole('link', { name: longName }).first()],
  ] as const;
  for (const [path, place] of places) {
    await follow(page, path);
    await place.waitFor();
    for (const { width } of screens) {
      await page.setViewportSize({ width, height: 900 });
      expect((await hiddenOf(place))[0]).toBe(0);
    }
  }
});

test('a code that leads nowhere is marked in the list and on its page, and found by its status', async () => {
  const { id, shortUrl } = await makeCode({ name: 'Voucher', scanLimit: 1 });
  await scan(shortUrl);
  const statusOf = async () => (await api.get(`/v1/qr-codes/${id}`)).json.status;
  await expect.poll(statusOf).toBe('used_up');
  await follow(page, '/codes');
  const row = page.getByRole('row', { name: 'Voucher' });
  await row.getByText('Limit reached').waitFor();
  expect(await page.getByRole('row', { name: 'Table 11' }).getByText('Limit reached').count()).toBe(
    0,
  );
  await page.getByLabel('Status').selectOption('Limit reached');
  await page.getByRole('row', { name: 'Table 11' }).waitFor({ state: 'detached' });
  await expect.poll(() => page.locator('.code-cell').count()).toBe(1);
  await row.getByRole('link').click();
  await page.getByText('This code has reached its scan limit').waitFor();
  await page.getByRole('link', { name: 'Change its limit' }).click();
  await page.getByLabel('Scan limit').fill('2');
  await page.getByRole('button', { name: 'Save changes' }).click();
  await page.getByText('This code has reached its scan limit').waitFor({ state: 'detached' });
});

test('the filter by campaign names it, inside its frame, and is taken away', async () => {
  await follow(page, `/codes?campaign=${campaignId}`);
  const filter = page.locator('.chip', { hasText: 'Summer in the beer gardens' });
  await filter.waitFor();
  expect(await hiddenOf(filter)).toEqual([0, 0]);
  await expect.poll(() => page.locator('.code-cell').count()).toBe(1);
  await filter.getByRole('button').click();
  await page.getByText('Table 11', { exact: true }).waitFor();
});

test('a table that becomes wider than its place can be scrolled by keyboard', async () => {
  await follow(page, `${code.path}?part=scans`);
  const place = page.locator('.table-wrap');
  await place.waitFor();
  expect(await place.getAttribute('tabindex')).toBeNull();
  await page.setViewportSize({ width: 320, height: 800 });
  await page.locator('.table-wrap[tabindex="0"]').waitFor();
  await place.focus();
  await page.keyboard.press('ArrowRight');
  const left = () =>
    place.evaluate(({ scrollLeft }: { readonly scrollLeft: number }) => scrollLeft);
  await expect.poll(left).toBeGreaterThan(0);
  await page.setViewportSize({ width: 1_440, height: 800 });
  await page.locator('.table-wrap:not([tabindex])').waitFor();
});

test('campaigns that cannot be loaded say why, and are tried again', async () => {
  const refused = /\/v1\/campaigns\?/;
  await page.route(refused, (route) =>
    route.fulfill(refusal(503, 'overloaded', 'Too many requests are waiting.')),
  );
  await follow(page, `${code.path}?part=details`);
  await page.getByRole('button', { name: 'Change campaigns' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Too many requests are waiting.').waitFor();
  await page.unroute(refused);
  await dialog.getByRole('button', { name: 'Try again' }).click();
  await dialog.getByLabel('Summer in the beer gardens').waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
});

test('a code is put into a campaign when it is made, into another from its page, and taken out of both', async () => {
  const codesOf = async (id: string) => (await api.get(`/v1/campaigns/${id}`)).json.qrCodeIds;
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
  expect([await codesOf(fair), await codesOf(market)]).toEqual([[made], [code.id, made]]);
  await change.click();
  await dialog.getByLabel('Fair').uncheck();
  await dialog.getByLabel('Market').uncheck();
  await save();
  await fact.getByRole('button', { name: 'Add to a campaign' }).waitFor();
  expect([await codesOf(fair), await codesOf(market)]).toEqual([[], [code.id]]);
});
