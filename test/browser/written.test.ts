/** What people write into the dashboard, by hand and by file, and what it offers, warns of and explains meanwhile. */
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { whileOneDay } from '../support/soon.ts';
import { faultsOn } from './accessibility.ts';
import { follow } from './addresses.ts';
import { changeAnswers, useHarness } from './harness.ts';
import { scan } from './seed.ts';

await whileOneDay();
const harness = await useHarness();
const { api, makeCode } = harness;
/** One for all tests, which go on by links. */
const page = await harness.openSignedIn();

test('tags in use are offered where one is written, and found however they are written', async () => {
  for (const tags of [['Café'], ['Café', 'Terrace']]) await makeCode({ name: 'Tagged', tags });
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
});

test('what is no web address is told so, with one that would be, where a code is made and where it is changed', async () => {
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
});

test('a change of destination is confirmed, says which rules still lead elsewhere, leads to them, and is in the history', async () => {
  const rule = (language: string, target: string) => ({
    label: language,
    if: { language: [language] },
    then: { target },
  });
  const code = await makeCode({
    target: 'https://example.com/before',
    name: 'Table 9',
    rules: [
      rule('fr', 'https://example.com/fr'),
      rule('es', 'https://example.com/es'),
      // Leads to the new destination.
      rule('en', 'https://example.com/after'),
    ],
  });
  await follow(page, `${code.path}?part=details`);
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
  await dialog.getByText('https://example.com/before').waitFor();
  const place = async () => (await scan(code.shortUrl)).headers.get('location');
  expect(await place()).toBe('https://example.com/before');
  await page.getByRole('button', { name: 'Change it now' }).click();
  await page.getByText('Destination changed. 2 rules still lead elsewhere.').waitFor();
  await page.locator('.code-top').getByText('2 rules still lead elsewhere').waitFor();
  await page.getByRole('button', { name: 'Change destination' }).click();
  await dialog.getByRole('link', { name: 'Review where it leads' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.locator('.rules:focus').getByText('example.com/fr').waitFor();
  expect(await place()).toBe('https://example.com/after');
  await follow(page, code.path);
  const today = page.getByRole('slider', { name: /^Scans by/ });
  await expect.poll(() => today.getAttribute('aria-valuetext')).toMatch(/; Destination changed$/);
  await page.getByRole('button', { name: 'History' }).click();
  await page.locator('.attempt').getByText('https://example.com/before').waitFor();
});

test('a code is paused and resumed with one button, and its scans are shown by route and in vain', async () => {
  const phones = {
    label: 'phones',
    if: { device: ['mobile'] },
    then: { target: 'https://example.com/app' },
  };
  const { id, path, shortUrl } = await makeCode({ name: 'Table 6', rules: [phones] });
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
  await expect.poll(async () => (await api.get(`/v1/qr-codes/${id}`)).json.scans).toBe(2);
  // The first time that its numbers are asked for: those of a page before would be shown again.
  await follow(page, path);
  const routes = page.locator('.card', { hasText: 'By route' });
  await routes.getByText('phones').waitFor();
  const missed = page.locator('.card', { hasText: 'Visits while inactive' });
  await missed.getByRole('listitem').getByText('Paused').waitFor();
});

test('where scans are listed, and where data is, it is said when addresses are deleted', async () => {
  await follow(page, `${(await makeCode()).path}?part=scans`);
  await page
    .getByText('IP addresses and user agents are deleted after a scan is counted')
    .waitFor();
  await follow(page, '/settings/data');
  const row = page.getByRole('row', { name: 'IP addresses and user agents' });
  expect(await row.innerText()).toContain('Usually two minutes at most');
});

test('a file of codes is imported with its bad rows named, and the list is exported', async () => {
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
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export' }).click();
  const text = await readFile(await (await download).path(), 'utf8');
  expect(text.match(/example\.com\/row\/\d+/g)).toEqual(['example.com/row/59']);
  await page.getByLabel('Search').fill('no such code');
  await page.getByRole('link', { name: 'Clear filters' }).click();
  await expect.poll(() => page.getByLabel('Search').inputValue()).toBe('');
});

const session = /\/v1\/session$/;

test('codes for this machine alone come with what to do, on every page and before a download', async () => {
  await follow(page, `${(await makeCode()).path}?part=details`);
  const notice = page.locator('.local-notice');
  await notice.getByText(new URL(harness.service.redirectUrl).host).waitFor();
  await notice.getByText('What to do').click();
  await notice.getByText('QZ_SHORT_URL_BASE=http://192.168.').waitFor();
  await page.getByRole('button', { name: 'Download' }).click();
  await page.getByText('phones cannot open its address').waitFor();
  const shortLinks = { base: 'https://go.example.com', local: false };
  await changeAnswers(page, session, () => ({ shortLinks }));
  await page.goto('/codes/new');
  await page.getByLabel('Web address', { exact: true }).fill('example.com/far');
  await page.getByRole('button', { name: 'Create code' }).click();
  await page.getByText('It already works').waitFor();
  await page.getByRole('button', { name: 'Download' }).click();
  await page.getByRole('link', { name: 'SVG' }).waitFor();
  expect(await page.getByText('no phone can open').count()).toBe(0);
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});

test('settings and analytics name the date of the geo data, and warn of old data', async () => {
  let geoDate = new Date().toISOString().slice(0, 10);
  await changeAnswers(page, session, () => ({ geoDate }));
  const warning = page.getByText('Geo data of 2020-01-05 is over 180 days old: update Quietzone');
  for (const path of ['/settings/workspace', '/analytics']) {
    geoDate = new Date().toISOString().slice(0, 10);
    await page.goto(path);
    await page.getByText(/data of .*20\d\d/i).waitFor();
    expect(await warning.count()).toBe(0);
    geoDate = '2020-01-05';
    await page.goto(path);
    await page.getByText(/data of .*2020$|, data of .*2020\./i).waitFor();
    await warning.waitFor();
  }
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});
