/**
 * The Analytics page in a browser: what it asks for and when, filters by a click and by the address, what it says when
 * there are no numbers. The tests share one page, loaded once.
 */
import type { Request } from 'playwright-core';
import { expect, test } from 'vitest';
import { follow } from '../addresses.ts';
import { noticesOf, refusal } from '../harness.ts';
import { useAnalytics } from './visitors.ts';

const { page, scansShown, row } = await useAnalytics();

const queryOf = () => Object.fromEntries(new URL(page.url()).searchParams);
const rowTexts = async (list: string): Promise<readonly string[]> =>
  (await page.getByRole('list', { name: list }).getByRole('button').allInnerTexts()).map(
    (text) => text.split('\n')[0] ?? '',
  );

/** How far its parts have moved since it was opened, as a share of the screen (Cumulative Layout Shift). */
const shiftOf = () =>
  page.evaluate<number>(`new Promise((resolve) => {
    let sum = 0;
    const observer = new PerformanceObserver((list) => {
      for (const { value } of list.getEntries()) sum += value;
    });
    observer.observe({ type: 'layout-shift', buffered: true });
    setTimeout(() => resolve(sum), 100);
  })`);

test('the numbers are asked for first and alone, then one breakdown a card; no list of codes is loaded', async () => {
  const asked: string[] = [];
  const note = (request: Request): void => {
    const { pathname, searchParams } = new URL(request.url());
    const by = searchParams.get('by');
    if (pathname.startsWith('/v1/')) asked.push(by === null ? pathname : `by ${by}`);
  };
  page.on('request', note);
  await page.goto('/analytics');
  await scansShown(7);
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
  expect(await shiftOf()).toBeLessThan(0.05);
  page.off('request', note);
});

test('a click on a row filters every card; the back button and a cross follow', async () => {
  await scansShown(7);
  await row('Countries', 'Germany').click();
  await scansShown(4);
  expect(queryOf()).toEqual({ country: 'DE' });
  await page.getByRole('button', { name: 'Systems' }).click();
  await row('Systems', 'Android').click();
  await scansShown(1);
  expect(queryOf()).toEqual({ country: 'DE', os: 'Android', technology: 'os' });
  expect(await rowTexts('Countries')).toEqual(['Germany']);
  expect(await rowTexts('Codes')).toEqual(['Table 12']);
  await page.getByText('Country: Germany').waitFor();
  await page.goBack();
  await scansShown(4);
  expect(await page.getByText('System: Android').count()).toBe(0);
  await page.getByRole('button', { name: 'Remove the filter Country: Germany' }).click();
  await scansShown(7);
  await row('Codes', 'Poster').click();
  await scansShown(1);
  await page.getByText('Code: Poster').waitFor();
  await page.getByRole('link', { name: 'Open the code' }).click();
  await page.getByRole('heading', { level: 1, name: 'Poster' }).waitFor();
});

test('a request that another range has overtaken is cancelled, and its answer is never shown', async () => {
  await follow(page, '/analytics');
  await scansShown(7);
  await page.evaluate(`{
    globalThis.cancelled = [];
    const plain = fetch;
    globalThis.fetch = (address, options) => {
      options?.signal?.addEventListener('abort', () => cancelled.push(address));
      return plain(address, options);
    };
  }`);
  const held = Promise.withResolvers<void>();
  let first: string | undefined;
  await page.route(/\/v1\/analytics\/summary/, async (route) => {
    first ??= route.request().url();
    if (route.request().url() !== first) return await route.continue();
    await held.promise;
    await route.fulfill({ json: { totalScans: 1, uniqueScanners: 1 } }).catch(() => undefined);
  });
  await page.getByRole('button', { name: '90 days' }).click();
  await expect.poll(() => first).toBeDefined();
  await page.getByRole('button', { name: 'Today' }).click();
  // The series of the same range may be on its way, too.
  const cancelled = async (): Promise<readonly string[]> => {
    const all = await page.evaluate<readonly string[]>('cancelled');
    return all.filter((address) => address.startsWith('/v1/analytics/summary'));
  };
  await expect.poll(cancelled).toHaveLength(1);
  held.resolve();
  await scansShown(7);
  await page.unrouteAll();
});

/** The days of a query, with a reason. */
function daysRefused(code: string, message: string) {
  const { status, json } = refusal(422, 'validation_failed', 'The query has one fault');
  return { status, json: { ...json, errors: [{ path: 'from', code, message }] } };
}

test('what cannot be counted is said, with what can', async () => {
  const answers = /\/v1\/analytics\//;
  await page.route(answers, (route) =>
    route.fulfill(daysRefused('raw_scans_expired', 'Expected days since 2026-08-28')),
  );
  await follow(page, '/analytics?country=DE&range=12m');
  await page.getByText('Filters are not available for days this far back').waitFor();
  await page.getByText('Expected days since 2026-08-28').waitFor();
  expect(await noticesOf(page).count()).toBe(1);
  await page.unroute(answers);
  await page.getByRole('button', { name: 'Remove the filters' }).click();
  await scansShown(7);
  expect(queryOf()).toEqual({ range: '12m' });
  await page.route(answers, async (route) => {
    const isUtc = new URL(route.request().url()).searchParams.get('timezone') === 'UTC';
    if (isUtc) await route.continue();
    else await route.fulfill(daysRefused('timezone_unavailable', 'Expected days since yesterday'));
  });
  await follow(page, '/analytics?range=7d');
  await page.getByRole('button', { name: 'Show in UTC' }).click();
  await scansShown(7);
  expect(queryOf()).toEqual({ range: '7d', zone: 'UTC' });
  await page.unroute(answers);
  let isBusy = true;
  await page.route(/\/v1\/analytics\/summary/, async (route) => {
    const busy = refusal(503, 'overloaded', 'Another query is being counted', 1);
    if (isBusy) await route.fulfill(busy);
    else await route.continue();
    isBusy = false;
  });
  await follow(page, '/analytics?range=12m&country=FR');
  await scansShown(2);
  expect(isBusy).toBe(false);
  await page.unrouteAll();
});
