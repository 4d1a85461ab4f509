/**
 * The Analytics page in a browser: what it asks for and when, filters by a click, by keyboard and by the address, other
 * zones, what it says when there are no numbers. One service with scans of six visitors; each test has a page of its own.
 */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { word } from '../../support/client.ts';
import { oneDayMs, whileOneDay } from '../../support/soon.ts';
import { faultsOn } from '../accessibility.ts';
import { openHarness, type Harness, waitMs } from '../harness.ts';
import { scan, untilCounted } from '../seed.ts';

const testMs = 120_000;
const agents = {
  iphone:
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1',
  pixel:
    'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Mobile Safari/537.36',
} as const;
/** Three in Germany, of whom one has an Android phone; two in France; one in Switzerland. */
const visitors: ReadonlyArray<readonly [address: string, agent: string]> = [
  ['193.99.144.80', agents.iphone],
  ['193.99.144.81', agents.iphone],
  ['194.25.0.60', agents.pixel],
  ['80.67.169.12', agents.iphone],
  ['80.67.169.13', agents.pixel],
  ['62.2.24.162', agents.iphone],
];

let harness: Harness;
let codeId: string;
let campaignId: string;

async function post(path: string, body: unknown) {
  return (await harness.api.call('POST', `/v1${path}`, { body })).json;
}

beforeAll(async () => {
  await whileOneDay();
  harness = await openHarness();
  const table = await post('/qr-codes', {
    target: 'https://example.com/menu',
    name: 'Table 12',
    tags: ['menu'],
  });
  const poster = await post('/qr-codes', {
    target: 'https://example.com/poster',
    name: 'Poster',
    tags: ['poster'],
  });
  codeId = word(table.id);
  const startDate = new Date().toISOString().slice(0, 10);
  const campaign = { name: 'Summer menu', startDate, qrCodeIds: [codeId] };
  campaignId = word((await post('/campaigns', campaign)).id);
  for (const [address, agent] of visitors) await scan(word(table.shortUrl), address, agent);
  await scan(word(poster.shortUrl), ...visitors[0]!);
  await untilCounted(harness, visitors.length + 1);
}, oneDayMs);
afterAll(async () => {
  await harness.close();
});

const figure = (page: Page, label: string) =>
  page
    .locator('.figure', { has: page.getByText(label, { exact: true }) })
    .first()
    .locator('.figure-value');

async function scansShown(page: Page, scans: number): Promise<void> {
  const shown = async () => await figure(page, 'Scans').innerText();
  await expect.poll(shown, { timeout: waitMs }).toBe(String(scans));
  await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
}

const queryOf = (page: Page) => Object.fromEntries(new URL(page.url()).searchParams);
const row = (page: Page, list: string, name: string) =>
  page.getByRole('list', { name: list }).getByRole('button', { name });
const rowTexts = async (page: Page, list: string): Promise<readonly string[]> =>
  (await page.getByRole('list', { name: list }).getByRole('button').allInnerTexts()).map(
    (text) => text.split('\n')[0] ?? '',
  );

test(
  'a click on a row filters every card; the back button, a reload and a cross follow',
  async () => {
    const page = await harness.openSignedIn('/analytics');
    await scansShown(page, 7);
    await row(page, 'Countries', 'Germany').click();
    await scansShown(page, 4);
    expect(queryOf(page)).toEqual({ country: 'DE' });
    await page.getByRole('button', { name: 'Systems' }).click();
    await row(page, 'Systems', 'Android').click();
    await scansShown(page, 1);
    expect(queryOf(page)).toEqual({ country: 'DE', os: 'Android', technology: 'os' });
    expect(await rowTexts(page, 'Countries')).toEqual(['Germany']);
    expect(await rowTexts(page, 'Codes')).toEqual(['Table 12']);
    await page.reload();
    await scansShown(page, 1);
    await page.getByText('Country: Germany').waitFor();
    await page.goBack();
    await scansShown(page, 4);
    expect(await page.getByText('System: Android').count()).toBe(0);
    await page.getByRole('button', { name: 'Remove the filter Country: Germany' }).click();
    await scansShown(page, 7);
    await row(page, 'Codes', 'Poster').click();
    await scansShown(page, 1);
    await page.getByText('Code: Poster').waitFor();
    await page.getByRole('link', { name: 'Open the code' }).click();
    await page.getByRole('heading', { level: 1, name: 'Poster' }).waitFor();
    await page.context().close();
  },
  testMs,
);

test(
  'by keyboard alone: to the page, to another range, to a filter and away from it',
  async () => {
    const page = await harness.openSignedIn('/settings/data');
    await page.keyboard.type('ga');
    await page.getByRole('heading', { level: 1, name: 'Analytics' }).waitFor();
    await scansShown(page, 7);
    const tabTo = async (name: string): Promise<void> => {
      for (let presses = 0; presses < 60; presses++) {
        await page.keyboard.press('Tab');
        const focused = await page.evaluate(
          `document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.innerText ?? ''`,
        );
        if (String(focused).startsWith(name)) return;
      }
      throw new Error(`Cannot reach ${name} by Tab`);
    };
    await tabTo('7 days');
    await page.keyboard.press('Enter');
    await tabTo('France');
    await page.keyboard.press('Enter');
    await scansShown(page, 2);
    expect(queryOf(page)).toEqual({ range: '7d', country: 'FR' });
    await page.keyboard.press('Enter');
    await scansShown(page, 7);
    expect(queryOf(page)).toEqual({ range: '7d' });
    await page.context().close();
  },
  testMs,
);

/** How far its parts have moved since it was opened, as a share of the screen (Cumulative Layout Shift). */
const shiftOf = (page: Page) =>
  page.evaluate<number>(`new Promise((resolve) => {
    let sum = 0;
    const observer = new PerformanceObserver((list) => {
      for (const { value } of list.getEntries()) sum += value;
    });
    observer.observe({ type: 'layout-shift', buffered: true });
    setTimeout(() => resolve(sum), 100);
  })`);

test(
  'the numbers are asked for first and alone, then one breakdown a card; no list of codes is loaded',
  async () => {
    const page = await harness.openSignedIn('/settings/data');
    const asked: string[] = [];
    page.on('request', (request) => {
      const { pathname, searchParams } = new URL(request.url());
      const by = searchParams.get('by');
      if (pathname.startsWith('/v1/')) asked.push(by === null ? pathname : `by ${by}`);
    });
    await page.goto('/analytics');
    await scansShown(page, 7);
    await page.getByRole('table', { name: 'Scans by hour of the week' }).waitFor();
    expect(asked.slice(0, 3)).toEqual([
      '/v1/session',
      '/v1/analytics/summary',
      '/v1/analytics/timeseries',
    ]);
    expect(asked.slice(3).toSorted()).toEqual([
      'by code',
      'by country',
      'by device',
      'by hour_of_week',
    ]);
    // What comes takes the place that was kept for it. From 0.1 on people notice.
    expect(await shiftOf(page)).toBeLessThan(0.05);
    await page.context().close();
  },
  testMs,
);

test(
  'a request that another range has overtaken is cancelled, and its answer is never shown',
  async () => {
    const page = await harness.openSignedIn('/settings/data');
    await page.addInitScript(`
      globalThis.cancelled = [];
      const plain = fetch;
      globalThis.fetch = (address, options) => {
        options?.signal?.addEventListener('abort', () => cancelled.push(address));
        return plain(address, options);
      };`);
    await page.goto('/analytics');
    await scansShown(page, 7);
    const held = Promise.withResolvers<void>();
    let first: string | undefined;
    await page.route(/\/v1\/analytics\/summary/, async (route) => {
      first ??= route.request().url();
      if (route.request().url() !== first) return await route.continue();
      await held.promise;
      await route.fulfill({ json: { totalScans: 1, uniqueScanners: 1 } }).catch(() => undefined);
    });
    await page.getByRole('button', { name: '90 days' }).click();
    await expect.poll(() => first, { timeout: waitMs }).toBeDefined();
    await page.getByRole('button', { name: 'Today' }).click();
    // The series of the same range may be on its way, too.
    const cancelled = async (): Promise<readonly string[]> => {
      const all = await page.evaluate<readonly string[]>('cancelled');
      return all.filter((address) => address.startsWith('/v1/analytics/summary'));
    };
    await expect.poll(cancelled, { timeout: waitMs }).toHaveLength(1);
    held.resolve();
    await scansShown(page, 7);
    await page.context().close();
  },
  testMs,
);

const refused = (code: string, message: string) => ({
  status: 422,
  json: {
    status: 422,
    code: 'validation_failed',
    detail: 'The query has one fault',
    errors: [{ path: 'from', code, message }],
  },
});

test(
  'what cannot be counted is said, with what can',
  async () => {
    const page = await harness.openSignedIn('/settings/data');
    const answers = /\/v1\/analytics\//;
    await page.route(answers, (route) =>
      route.fulfill(refused('raw_scans_expired', 'Expected days since 2026-08-28')),
    );
    await page.goto('/analytics?country=DE&range=12m');
    await page.getByText('Filters do not reach back this far').waitFor();
    await page.getByText('Expected days since 2026-08-28').waitFor();
    expect(await page.locator('.notice').count()).toBe(1);
    await page.unroute(answers);
    await page.getByRole('button', { name: 'Remove the filters' }).click();
    await scansShown(page, 7);
    expect(queryOf(page)).toEqual({ range: '12m' });
    await page.route(answers, async (route) => {
      const isUtc = new URL(route.request().url()).searchParams.get('timezone') === 'UTC';
      if (isUtc) await route.continue();
      else await route.fulfill(refused('timezone_unavailable', 'Expected days since yesterday'));
    });
    await page.goto('/analytics?range=7d');
    await page.getByRole('button', { name: 'Show in UTC' }).click();
    await scansShown(page, 7);
    expect(queryOf(page)).toEqual({ range: '7d', zone: 'UTC' });
    await page.unroute(answers);
    let isBusy = true;
    await page.route(/\/v1\/analytics\/summary/, async (route) => {
      const json = { status: 503, code: 'overloaded', detail: 'Another query is being counted' };
      if (isBusy) await route.fulfill({ status: 503, headers: { 'Retry-After': '1' }, json });
      else await route.continue();
      isBusy = false;
    });
    await page.goto('/analytics?range=today');
    await scansShown(page, 7);
    expect(isBusy).toBe(false);
    await page.context().close();
  },
  testMs,
);

test(
  'the zone of the workspace is set in one click, named beside every range, and asked for',
  async () => {
    const page = await harness.openSignedIn('/settings/workspace');
    await page.getByRole('button', { name: 'Use Berlin time' }).click();
    await page.getByText('Days are cut in Berlin time from').waitFor();
    await page.getByLabel('Weeks begin on').selectOption('Sunday');
    await page.getByRole('button', { name: 'Save days and weeks' }).click();
    await page.getByText('Days and weeks changed.').waitFor();
    const { json } = await harness.api.call('GET', '/v1/session');
    expect(json.workspace).toMatchObject({ timezone: 'Europe/Berlin', weekStart: 'sun' });
    for (const path of ['/analytics', `/codes/${codeId}`, `/campaigns/${campaignId}`]) {
      await page.goto(path);
      await page.locator('.range-zone', { hasText: 'Berlin time' }).waitFor();
    }
    await page.goto('/analytics');
    const days = page.getByRole('table', { name: 'Scans by hour of the week' }).locator('tbody th');
    await days.first().waitFor();
    expect(await days.first().innerText()).toBe('Sun');
    await page.context().close();
  },
  testMs,
);

test(
  'where weeks begin is in numbers of a code and a campaign that were shown before',
  async () => {
    for (const [shown, path] of [
      [`/codes/${codeId}`, `/v1/qr-codes/${codeId}/analytics`],
      [`/campaigns/${campaignId}`, `/v1/campaigns/${campaignId}/analytics`],
    ] as const) {
      const page = await harness.openSignedIn(shown);
      await scansShown(page, 6);
      // As by a link: without loading the dashboard anew, which has none of them.
      await page.evaluate(`{
        const link = document.createElement('a');
        link.href = '/settings/workspace';
        document.body.append(link);
        link.click();
      }`);
      const weeks = page.getByLabel('Weeks begin on');
      const before = await weeks.inputValue();
      await weeks.selectOption(before === 'mon' ? 'Sunday' : 'Monday');
      await page.getByRole('button', { name: 'Save days and weeks' }).click();
      await page.getByText('Days and weeks changed.').waitFor();
      const asked = page.waitForRequest((request) => request.url().includes(path));
      await page.goBack();
      await asked;
      await page.context().close();
    }
  },
  testMs,
);

test(
  'a code and a campaign have the same cards, in their own addresses',
  async () => {
    const page = await harness.openSignedIn(`/codes/${codeId}?range=7d&country=DE`);
    await scansShown(page, 3);
    await row(page, 'Countries', 'Germany').click();
    await scansShown(page, 6);
    await page.goto(`/campaigns/${campaignId}`);
    await scansShown(page, 6);
    await row(page, 'Countries', 'France').click();
    await scansShown(page, 2);
    await page.getByRole('table', { name: 'Scans by code' }).getByText('Table 12').waitFor();
    await page.context().close();
  },
  testMs,
);

const everything = '/analytics?country=DE&locations=map&live=1&range=custom&compare=2026-01-01..';
test.each([
  { scheme: 'dark', width: 390 },
  { scheme: 'light', width: 320 },
] as const)(
  'with all that can be opened, $scheme and $width pixels wide, it breaks no rule and fits',
  async (options) => {
    const page = await harness.openSignedIn(everything, options);
    await scansShown(page, 4);
    await page.locator('.map path').first().waitFor();
    await page.locator('.live-rows li').first().waitFor();
    expect(await faultsOn(page, 'analytics')).toEqual([]);
    await page.context().close();
  },
  testMs,
);

test(
  'on paper there are the numbers, their days and filters, and nothing to click',
  async () => {
    const page = await harness.openSignedIn('/analytics?country=DE', { scheme: 'dark' });
    await scansShown(page, 4);
    await page.locator('.chart canvas').first().waitFor();
    await page.emulateMedia({ media: 'print' });
    for (const shown of ['.range-days', '.range-zone', '.chip', '.figures', '.chart canvas']) {
      expect([shown, await page.locator(shown).first().isVisible()]).toEqual([shown, true]);
    }
    for (const hidden of ['.side', '.tabs', '.range select', '.chip button', '.card-actions']) {
      expect([hidden, await page.locator(hidden).first().isVisible()]).toEqual([hidden, false]);
    }
    expect((await page.pdf({ format: 'A4' })).byteLength).toBeGreaterThan(10_000);
    await page.context().close();
  },
  testMs,
);

test('the browser reported no errors', () => {
  expect(harness.complaints).toEqual([]);
});
