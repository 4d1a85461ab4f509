/** What people write into the dashboard, and what it says and offers meanwhile, by hand and by file, in a browser against the real service. */
import { readFile } from 'node:fs/promises';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { word } from '../support/client.ts';
import { faultsOn, screens } from './accessibility.ts';
import { follow } from './addresses.ts';
import { openHarness, type Harness, waitMs } from './harness.ts';
import { scan, untilCounted } from './seed.ts';

const testMs = 180_000;

let harness: Harness;
/** One for all tests, which go on by links. */
let page: Page;

beforeAll(async () => {
  harness = await openHarness();
  page = await harness.openSignedIn('/settings/data');
}, testMs);
afterAll(async () => {
  await harness.close();
});

/** Its id. */
const create = async (body: object): Promise<string> =>
  word((await harness.api.call('POST', '/v1/qr-codes', { body })).json.id);

/** Pixels of the content that its element does not show beside what it shows. */
async function hiddenOf(place: Locator): Promise<number> {
  return await place.evaluate(
    (element: { readonly scrollWidth: number; readonly clientWidth: number }) =>
      element.scrollWidth - element.clientWidth,
  );
}

test(
  'tags in use are offered where one is written, and found however they are written',
  async () => {
    await create({ target: 'https://example.com/tagged', name: 'Tagged', tags: ['Café'] });
    await create({
      target: 'https://example.com/tagged',
      name: 'Tagged',
      tags: ['Café', 'Terrace'],
    });
    await follow(page, '/codes/new');
    const offered = async (label: string): Promise<Array<string | null>> => {
      const list = await page.getByLabel(label).getAttribute('list');
      const options = await page.locator(`datalist[id="${list}"] option`).all();
      return await Promise.all(options.map(async (option) => await option.getAttribute('value')));
    };
    await expect.poll(async () => await offered('Tags')).toEqual(['Café', 'Terrace']);
    await page.getByLabel('Tags').fill('Terrace, ca');
    await expect.poll(async () => await offered('Tags')).toEqual(['Terrace, Café']);
    await follow(page, '/codes');
    await page.getByLabel('Tag', { exact: true }).fill('CAFE');
    await expect.poll(async () => await page.getByRole('link', { name: 'Tagged' }).count()).toBe(2);
  },
  testMs,
);

test(
  'what is no web address is told so, with one that would be, where a code is made and where it is changed',
  async () => {
    await follow(page, '/codes/new');
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
  },
  testMs,
);

test(
  'a change of destination says which rules still lead elsewhere, before and after, and leads to them',
  async () => {
    const rule = (language: string, target: string) => ({
      label: language,
      if: { language: [language] },
      then: { target },
    });
    const id = await create({
      target: 'https://example.com/before',
      name: 'Table 9',
      rules: [
        rule('fr', 'https://example.com/fr'),
        rule('es', 'https://example.com/es'),
        // Leads to the new destination.
        rule('en', 'https://example.com/after'),
      ],
    });
    await follow(page, `/codes/${id}?part=details`);
    await page.locator('.code-top').getByText('3 rules still lead elsewhere').waitFor();
    await page.getByRole('button', { name: 'Change destination' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('New destination').fill('example.com/after');
    await dialog.getByText('2 rules still lead elsewhere').waitFor();
    await page.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByRole('alert').getByText('2 rules still lead elsewhere').waitFor();
    expect(await dialog.getByRole('listitem').allInnerTexts()).toEqual([
      'If the language is French → example.com/fr',
      'If the language is Spanish → example.com/es',
    ]);
    expect(await faultsOn(page, 'change of destination', 'dialog[open]')).toEqual([]);
    await page.getByRole('button', { name: 'Change it now' }).click();
    await page.getByText('Destination changed. 2 rules still lead elsewhere.').waitFor();
    await page.locator('.code-top').getByText('2 rules still lead elsewhere').waitFor();
    await page.getByRole('button', { name: 'Change destination' }).click();
    await dialog.getByRole('link', { name: 'Review where it leads' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.locator('.rules:focus').getByText('example.com/fr').waitFor();
  },
  testMs,
);

test(
  'a code is paused and resumed with one button, and its scans are shown by route and in vain',
  async () => {
    const phones = {
      label: 'phones',
      if: { device: ['mobile'] },
      then: { target: 'https://example.com/app' },
    };
    const body = { target: 'https://example.com/menu', name: 'Table 6', rules: [phones] };
    const code = (await harness.api.call('POST', '/v1/qr-codes', { body })).json;
    const [path, shortUrl] = [`/codes/${word(code.id)}`, word(code.shortUrl)];
    expect((await scan(shortUrl)).headers.get('location')).toContain('/app');
    await follow(page, `${path}?part=details`);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('This code is paused').waitFor();
    expect((await scan(shortUrl)).status).toBe(410);
    await follow(page, '/codes');
    await page.getByRole('row', { name: 'Table 6' }).getByText('Paused', { exact: true }).waitFor();
    await follow(page, `${path}?part=details`);
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByText('This code is paused').waitFor({ state: 'detached' });
    expect((await scan(shortUrl)).status).toBe(302);
    await untilCounted(harness, 2);
    // The first time that its numbers are asked for: those of a page before would be shown again.
    await follow(page, path);
    const routes = page.locator('.card', { hasText: 'By route' });
    await routes.getByText('phones').waitFor();
    const missed = page.locator('.card', { hasText: 'People who came in vain' });
    await missed.getByRole('listitem').getByText('Paused').waitFor();
  },
  testMs,
);

test(
  'long names leave space for the numbers beside them on both screens',
  async () => {
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
    await follow(page, `/campaigns/${word(id)}`);
    const table = page.locator('.table-wrap');
    await table.getByText('Value 24.9').waitFor();
    for (const { width } of screens) {
      await page.setViewportSize({ width, height: 900 });
      expect(await hiddenOf(table)).toBe(0);
    }
    await follow(page, '/codes?search=fountain');
    const link = page.getByRole('link', { name }).first();
    await link.waitFor();
    for (const { width } of screens) {
      await page.setViewportSize({ width, height: 900 });
      expect(await hiddenOf(link)).toBe(0);
    }
  },
  testMs,
);

test(
  'where scans are listed, and where data is, it is said when addresses are deleted',
  async () => {
    const body = { target: 'https://example.com/said', name: 'Said' };
    const { json } = await harness.api.call('POST', '/v1/qr-codes', { body });
    await follow(page, `/codes/${word(json.id)}?part=scans`);
    await page
      .getByText('IP addresses and user agents are deleted once a scan is counted')
      .waitFor();
    await follow(page, '/settings/data');
    const row = page.getByRole('row', { name: 'IP addresses and user agents' });
    expect(await row.innerText()).toContain('Two minutes at most');
  },
  testMs,
);

test(
  'a file of codes is imported with its bad rows named, and the list is exported',
  async () => {
    await follow(page, '/codes/import');
    const rows = Array.from({ length: 60 }, (_, at) => `https://example.com/row/${at},Row ${at}`);
    const csv = ['target,name', ...rows, 'not an address,Bad row'].join('\n');
    await page
      .getByLabel('Choose a file')
      .setInputFiles({ name: 'codes.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });
    await page.getByText('60 codes created').waitFor();
    await page.getByRole('row', { name: /61/ }).waitFor();
    await page.getByRole('link', { name: 'View codes' }).click();
    // One word: `Row 59` is two, and a random short code may have the second.
    await page.getByLabel('Search').fill('com/row/59');
    await page.waitForURL(/search=com/);
    await page.getByRole('link', { name: 'Row 59' }).waitFor();
    const download = page.waitForEvent('download', { timeout: waitMs });
    await page.getByRole('button', { name: 'Export' }).click();
    const text = await readFile(await (await download).path(), 'utf8');
    expect(text.match(/example\.com\/row\/\d+/g)).toEqual(['example.com/row/59']);
    await page.getByLabel('Search').fill('no such code');
    await page.getByRole('link', { name: 'Clear filters' }).click();
    await expect.poll(() => page.getByLabel('Search').inputValue()).toBe('');
  },
  testMs,
);

test('the browser had nothing to complain of', () => {
  expect(harness.complaints).toEqual([]);
});
