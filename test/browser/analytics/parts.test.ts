/** The parts of the analytics in a real browser, with made-up numbers: by keyboard and by mouse. screens.test.ts has how they look. */
import { expect, test } from 'vitest';
import { faultsOn, hiddenOf } from '../accessibility.ts';
import { cardOn, useGallery } from './gallery.ts';

const gallery = await useGallery();
const page = await gallery.open();

const cardOf = (title: string) => cardOn(page, title);
const filter = () => page.getByRole('heading', { level: 1 }).innerText();
const tipOf = (card: ReturnType<typeof cardOf>) => card.locator('.tip').innerText();
const focusedName = () =>
  page.evaluate(
    'document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent',
  );

test('the bundle of every page is as before: map and atlas are files of their own', () => {
  const sizeOf = (name: string) =>
    [...gallery.bundle].find(([path]) => path.startsWith(`/assets/${name}-`))?.[1].br.length ?? 0;
  expect(sizeOf('world-drawing')).toBeGreaterThan(5_000);
  expect(sizeOf('world-drawing')).toBeLessThan(16_000);
  expect(sizeOf('countries-110m')).toBeGreaterThan(30_000);
  expect(sizeOf('countries-110m')).toBeLessThan(40_000);
  for (const [path, { identity }] of gallery.bundle) {
    const isMap = /world-drawing|countries-110m/.test(path);
    if (!isMap) expect(Buffer.from(identity).includes('Equal')).toBe(false);
  }
});

test('the arrow keys go over the points, each with that of the period before', async () => {
  const card = cardOf('Trend');
  const chart = card.getByRole('slider', { name: /^Scans by day from Thu.*1 Oct 2026/ });
  await chart.focus();
  await page.keyboard.press('Home');
  const text = () => chart.getAttribute('aria-valuetext');
  await expect
    .poll(text)
    .toMatch(/^Thu.* 1 Oct 2026: 120 scans; Before, Thu.* 27 Aug 2026: 96 scans$/);
  expect(await card.locator('.chart-tip').innerText()).toBe((await text())?.replace('; ', '\n'));
  await page.keyboard.press('ArrowRight');
  await expect.poll(text).toMatch(/2 Oct 2026.*; Paused, Destination changed$/);
  await card.locator('.chart-tip', { hasText: 'Paused, Destination changed' }).waitFor();
  await page.keyboard.press('End');
  await page.keyboard.press('ArrowRight');
  await expect.poll(text).toMatch(/30 Oct 2026, so far: /);
  await card.getByText(/^\+12% against 27 Aug.*2026, both until 01:45$/).waitFor();
  const changes = cardOf('Changes');
  await changes.getByText(/^No scans in 27 Aug.*, until 01:45$/).waitFor();
  await changes.getByText(/^-3.4% against 27 Aug.*, both until 01:45$/).waitFor();
  await page.getByRole('heading', { level: 1 }).focus();
  await card.locator('.chart-tip').waitFor({ state: 'hidden' });
});

test('a table has the same numbers, and both hours of the night that the clock goes back', async () => {
  const trend = cardOf('Trend');
  await trend.getByText('Show as a table').click();
  const rows = trend.getByRole('row');
  await expect.poll(() => rows.count()).toBe(31);
  expect(await rows.nth(2).innerText()).toMatch(/2 Oct 2026\s+Paused, Destination changed/);
  expect(await rows.nth(1).innerText()).toMatch(/1 Oct 2026\s+120\s+Thu.* 27 Aug 2026\s+96/);
  const day = cardOf('One day');
  await day.getByText('Show as a table').click();
  await day.getByRole('rowheader', { name: '01:00 (UTC-04:00)' }).waitFor();
  expect(await day.getByRole('rowheader', { name: '01:00 (UTC' }).count()).toBe(2);
  expect(await day.getByRole('row').count()).toBe(26);
});

test('countries are filtered by from the keyboard: one stop, then by rank', async () => {
  const card = cardOf('Countries');
  const germany = card.locator('.map').getByRole('button', { name: 'Germany' });
  await germany.focus();
  expect(await tipOf(card)).toMatch(/^Germany: 9,000 scans, 52%$/);
  await page.keyboard.press('ArrowRight');
  expect(await focusedName()).toMatch(/^France: /);
  for (const key of ['ArrowLeft', 'ArrowLeft']) await page.keyboard.press(key);
  // The last country with scans: `ZZ` is on no map.
  expect(await focusedName()).toMatch(/^Taiwan: /);
  for (const key of ['Home', 'ArrowDown', 'ArrowDown', 'ArrowDown']) await page.keyboard.press(key);
  expect(await focusedName()).toMatch(/^Singapore: /);
  await page.keyboard.press('Enter');
  await expect.poll(filter).toBe('Filter: SG');
  // On the map, and in the table.
  expect(await card.getByRole('button', { name: 'Singapore', pressed: true }).count()).toBe(2);
  await page.keyboard.press('Enter');
  await expect.poll(filter).toBe('Filter: none');
  await page.keyboard.press('Escape');
  await card.locator('.tip').waitFor({ state: 'detached' });
  expect(await card.locator('.map [tabindex="0"]').count()).toBe(1);
});

test('the table beside the map has every country, and filters too', async () => {
  const card = cardOf('Countries');
  await card.getByRole('row', { name: /^Malta \d+ 0\.\d%$/ }).waitFor();
  await card.getByRole('row', { name: /^Unknown 40/ }).waitFor();
  expect(await card.getByRole('row').count()).toBe(34);
  await card.getByRole('row').getByRole('button', { name: 'Malta' }).click();
  await expect.poll(filter).toBe('Filter: MT');
  await card.getByRole('row').getByRole('button', { name: 'Malta' }).click();
  await expect.poll(filter).toBe('Filter: none');
  await card.locator('.map [aria-label^="Brazil"]').hover();
  expect(await tipOf(card)).toMatch(/^Brazil: /);
});

test('the hours of the week are a table from its first day, walked by the arrow keys', async () => {
  const card = cardOf('Hours of the week');
  await card.getByText('Most on Friday 18:00: 200 scans').waitFor();
  const days = await card.getByRole('rowheader').allInnerTexts();
  expect(days.join(' ')).toBe('Sun Mon Tue Wed Thu Fri Sat');
  expect(await card.getByRole('columnheader').count()).toBe(24);
  await card.getByRole('cell', { name: 'Sunday 00:00, 0 scans' }).focus();
  for (const key of ['ArrowDown', 'ArrowDown', 'End', 'ArrowLeft']) await page.keyboard.press(key);
  expect(await focusedName()).toBe('Tuesday 22:00, 0 scans');
  await card.getByRole('cell', { name: 'Friday 18:00, 200 scans' }).hover();
  expect(await tipOf(card)).toBe('Friday 18:00, 200 scans');
  expect(await card.locator('td[tabindex="0"]').count()).toBe(1);
});

test('a name stands whole on its bar, a click filters by it, another takes that away', async () => {
  const list = cardOf('Towns').getByRole('list', { name: 'Towns' });
  const name = list.locator('.bar-list-name').first();
  expect(await hiddenOf(name)).toEqual([0, 0]);
  expect(await list.getByRole('listitem').count()).toBe(10);
  const row = list.getByRole('button', { name: /^Zürich, CH 12,345 scans, 0%$/ });
  await row.click();
  await expect.poll(filter).toBe('Filter: Zürich, CH');
  expect([await row.getAttribute('aria-pressed'), await row.getAttribute('title')]).toEqual([
    'true',
    'Remove this filter',
  ]);
  await row.click();
  await expect.poll(filter).toBe('Filter: none');
  await cardOf('Devices').getByText('Other').waitFor();
});

test('10,000 names are searched in a dialog that draws some of them', async () => {
  await cardOf('Towns').getByRole('button', { name: 'Show all (10,000)' }).click();
  const dialog = page.getByRole('dialog', { name: 'Towns' });
  await dialog.getByText('10,000 in total').waitFor();
  const rows = dialog.getByRole('listitem');
  expect(await rows.count()).toBe(200);
  await dialog.getByRole('button', { name: 'Show 200 more' }).click();
  await expect.poll(() => rows.count()).toBe(400);
  await dialog.getByLabel('Search towns').fill('zurich');
  await dialog.getByText('1 of 10,000').waitFor();
  await dialog.getByRole('button', { name: 'CSV of Towns' }).waitFor();
  expect(await faultsOn(page, 'all rows', 'dialog[open]')).toEqual([]);
  await dialog.getByRole('button', { name: 'Zürich, CH' }).click();
  await dialog.waitFor({ state: 'detached' });
  await expect.poll(filter).toBe('Filter: Zürich, CH');
});

test('live scans stand still while paused, and are not read out one by one', async () => {
  const card = cardOf('Live');
  const rows = card.getByRole('listitem');
  expect(await rows.count()).toBe(20);
  await rows.first().getByText('Chicago, United States · Mobile · iOS').waitFor();
  await card.getByRole('button', { name: 'Pause' }).click();
  const first = () => rows.first().locator('time').getAttribute('datetime');
  const before = await first();
  await card.getByRole('button', { name: 'Scan a code' }).click();
  await card.getByText('Paused, 1 new scan').waitFor();
  expect(await first()).toBe(before);
  await card.getByRole('button', { name: 'Resume' }).click();
  await expect.poll(first).not.toBe(before);
  expect(await card.getByRole('status').innerText()).toBe('');
});
