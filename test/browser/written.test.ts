/** What people write into the dashboard, and what it says and offers meanwhile, in a browser against the real service. */
import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { word } from '../support/client.ts';
import { openHarness, type Harness } from './harness.ts';
import { scan, untilCounted } from './seed.ts';

const testMs = 180_000;

/** Visitors in as many countries. */
const abroad = [
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
] as const;

let harness: Harness;

beforeAll(async () => {
  harness = await openHarness();
}, testMs);
afterAll(async () => {
  await harness.close();
});

const create = async (body: object): Promise<void> => {
  await harness.api.call('POST', '/v1/qr-codes', { body });
};

/** Pixels of the content that its element does not show beside what it shows. */
async function hiddenOf(place: Locator): Promise<number> {
  return await place.evaluate(
    (element: { readonly scrollWidth: number; readonly clientWidth: number }) =>
      element.scrollWidth - element.clientWidth,
  );
}

test(
  'what is no web address is told so, with one that would be, where a code is made and where it is changed',
  async () => {
    const page = await harness.openSignedIn('/codes/new');
    const press = async (name: string): Promise<void> =>
      await page.getByRole('button', { name }).click();
    await page.getByLabel('Web address', { exact: true }).fill('not a url');
    await press('Create code');
    const fault = page.getByText(
      'This is not a web address: expected one such as https://example.com/menu',
    );
    await fault.waitFor();
    await page.getByLabel('Web address', { exact: true }).fill('example.com/menu');
    await press('Create code');
    await press('Change destination');
    await page.getByLabel('New destination').fill('not a url');
    await press('Continue');
    await press('Change it now');
    await fault.waitFor();
    await page.context().close();
  },
  testMs,
);

test.each([390, 1_440])(
  'long names leave space for the numbers beside them at %i pixels',
  async (width) => {
    const name = 'Table menu in the beer garden, north of the fountain';
    const post = async (path: string, body: object) =>
      (await harness.api.call('POST', path, { body })).json;
    const code = await post('/v1/qr-codes', { target: 'https://example.com/garden', name });
    const { id } = await post('/v1/campaigns', {
      name: 'Beer gardens',
      startDate: new Date().toISOString().slice(0, 10),
      qrCodeIds: [word(code.id)],
    });
    await post('/v1/conversions', { qrCodeId: word(code.id), value: 24.9 });
    const page = await harness.openSignedIn(`/campaigns/${word(id)}`, { width });
    const table = page.locator('.table-wrap');
    await table.getByText('Value 24.9').waitFor();
    expect(await hiddenOf(table)).toBe(0);
    await page.goto('/codes');
    const link = page.getByRole('link', { name }).first();
    await link.waitFor();
    expect(await hiddenOf(link)).toBe(0);
    await page.context().close();
  },
  testMs,
);

test(
  'where scans are listed, and where data is, it is said when addresses are deleted',
  async () => {
    const body = { target: 'https://example.com/said', name: 'Said' };
    const { json } = await harness.api.call('POST', '/v1/qr-codes', { body });
    const page = await harness.openSignedIn(`/codes/${word(json.id)}?part=scans`);
    await page
      .getByText('IP addresses and user agents are deleted once a scan is counted')
      .waitFor();
    await page.goto('/settings/data');
    const row = page.getByRole('row', { name: 'IP addresses and user agents' });
    expect(await row.innerText()).toContain('Two minutes at most');
    await page.context().close();
  },
  testMs,
);

test(
  'ten countries are shown, and the others when they are asked for',
  async () => {
    const body = { target: 'https://example.com/far', name: 'Far' };
    const { json } = await harness.api.call('POST', '/v1/qr-codes', { body });
    for (const address of abroad) await scan(word(json.shortUrl), address);
    await untilCounted(harness, abroad.length);
    const page = await harness.openSignedIn('/');
    const shown = page.locator('.card', { hasText: 'Countries' }).locator('.bar-fill');
    await expect.poll(() => shown.count()).toBe(10);
    await page.goto('/analytics');
    const rows = (list: Locator): Locator => list.getByRole('listitem');
    const card = page.locator('.card', { hasText: 'Locations' });
    await expect.poll(() => rows(card).count()).toBe(10);
    await card.getByRole('button', { name: `Show all (${abroad.length})` }).click();
    const all = page.getByRole('dialog', { name: 'Countries' });
    await expect.poll(() => rows(all).count()).toBe(abroad.length);
    await all.getByRole('searchbox').fill('zzzz');
    await expect.poll(() => rows(all).count()).toBe(0);
    await page.context().close();
  },
  testMs,
);

test(
  'tags in use are offered where one is written, and found however they are written',
  async () => {
    await create({ target: 'https://example.com/tagged', name: 'Tagged', tags: ['Café'] });
    await create({
      target: 'https://example.com/tagged',
      name: 'Tagged',
      tags: ['Café', 'Terrace'],
    });
    const page = await harness.openSignedIn('/codes/new');
    const offered = async (label: string): Promise<Array<string | null>> => {
      const list = await page.getByLabel(label).getAttribute('list');
      const options = await page.locator(`datalist[id="${list}"] option`).all();
      return await Promise.all(options.map(async (option) => await option.getAttribute('value')));
    };
    await expect.poll(async () => await offered('Tags')).toEqual(['Café', 'Terrace']);
    await page.getByLabel('Tags').fill('Terrace, ca');
    await expect.poll(async () => await offered('Tags')).toEqual(['Terrace, Café']);
    await page.goto('/codes');
    await page.getByLabel('Tag', { exact: true }).fill('CAFE');
    await expect.poll(async () => await page.getByRole('link', { name: 'Tagged' }).count()).toBe(2);
    await page.context().close();
  },
  testMs,
);

test('the browser had nothing to complain of', () => {
  expect(harness.complaints).toEqual([]);
});
