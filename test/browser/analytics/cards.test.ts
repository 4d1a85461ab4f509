/**
 * The analytics of a code and a campaign in a browser: the same cards as on the analytics page, weeks and zones, on a
 * phone, on paper. The tests share one page.
 */
import { expect, test } from 'vitest';
import { faultsOn, showOn } from '../accessibility.ts';
import { follow } from '../addresses.ts';
import { useAnalytics } from './visitors.ts';

const { harness, page, code, campaignId, scansShown, row } = await useAnalytics();
const campaignPath = `/campaigns/${campaignId}`;

test('where weeks begin is in numbers that were shown before; the zone of the workspace is set in one click and named beside every range', async () => {
  await follow(page, code.path);
  await scansShown(6);
  await follow(page, campaignPath);
  await page.getByRole('heading', { level: 1, name: 'Summer menu' }).waitFor();
  await scansShown(6);
  await follow(page, '/settings/workspace');
  const save = page.getByRole('button', { name: 'Save days and weeks' });
  await page.getByLabel('Weeks begin on').selectOption('Sunday');
  await save.click();
  await page.getByText('Days and weeks changed.').waitFor();
  for (const subject of [`campaigns/${campaignId}`, `qr-codes/${code.id}`]) {
    const asked = page.waitForRequest((request) =>
      request.url().includes(`/v1/${subject}/analytics`),
    );
    await page.goBack();
    await asked;
  }
  await follow(page, '/settings/workspace');
  await page.getByRole('button', { name: 'Use Berlin time' }).click();
  await page.getByText('days follow Berlin time').waitFor();
  await save.click();
  for (const path of [code.path, campaignPath, '/analytics']) {
    await follow(page, path);
    await page.locator('.range-zone', { hasText: 'Berlin time' }).waitFor();
  }
  const { json } = await harness.api.get('/v1/session');
  expect(json.workspace).toMatchObject({ timezone: 'Europe/Berlin', weekStart: 'sun' });
  const days = page.getByRole('table', { name: 'Scans by hour of the week' }).locator('tbody th');
  await days.first().waitFor();
  expect(await days.first().innerText()).toBe('Sun');
});

test('a code and a campaign have the same cards, in their own addresses', async () => {
  await follow(page, `${code.path}?range=7d&country=DE`);
  await scansShown(3);
  await row('Countries', 'Germany').click();
  await scansShown(6);
  await follow(page, campaignPath);
  await scansShown(6);
  await row('Countries', 'France').click();
  await scansShown(2);
  await page.getByRole('table', { name: 'Scans by code' }).getByText('Table 12').waitFor();
});

const everything = '/analytics?country=DE&locations=map&live=1&range=custom&compare=2026-01-01..';
test('with all that can be opened, dark and on a phone, it breaks no rule and fits', async () => {
  await showOn(page, { scheme: 'dark', width: 390 });
  await follow(page, everything);
  await scansShown(4);
  await page.locator('.map path').first().waitFor();
  await page.locator('.live-rows li').first().waitFor();
  expect(await faultsOn(page, 'analytics', 'main')).toEqual([]);
  await page.setViewportSize({ width: 320, height: 900 });
  expect(await faultsOn(page, '320 pixels', 'main', 'look')).toEqual([]);
});

test('on paper there are the numbers, their days and filters, and nothing to click', async () => {
  await page.setViewportSize({ width: 1_440, height: 900 });
  await follow(page, '/analytics?country=DE');
  await scansShown(4);
  await page.locator('.chart canvas').first().waitFor();
  await page.emulateMedia({ media: 'print' });
  for (const shown of ['.range-days', '.range-zone', '.chip', '.figures', '.chart canvas']) {
    expect([shown, await page.locator(shown).first().isVisible()]).toEqual([shown, true]);
  }
  for (const hidden of ['.side', '.tabs', '.range select', '.chip button', '.card-actions']) {
    expect([hidden, await page.locator(hidden).first().isVisible()]).toEqual([hidden, false]);
  }
});
