/**
 * The dashboard and limits: on the Free plan every page can be used, asks a number of requests that does not grow with
 * what it shows, and a refusal of one request takes away one part of a page, for as long as it says.
 */
import type { Locator, Page, Request } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sessionLimits } from '../../src/workspaces/memory-quota.ts';
import { word } from '../support/client.ts';
import { openReceiver, type Receiver } from '../support/fakes/receiver.ts';
import { runCommand } from '../support/process.ts';
import { addresses } from './addresses.ts';
import { openHarness, type Harness, waitMs } from './harness.ts';
import { type Seeded, seed } from './seed.ts';

const allPagesMs = 240_000;
/** A code: session, code, stream, watches, conversions, changes, sums, series, four breakdowns. */
const requestsMax = 12;

let harness: Harness;
let receiver: Receiver;
let seeded: Seeded;
let largeCampaignId: string;

beforeAll(async () => {
  receiver = await openReceiver({ kind: 'answer', status: 500, body: 'not today' });
  harness = await openHarness({ QZ_WEBHOOKS_RETRY_DELAYS_MS: '50,50,50,50,50,50,50' });
  seeded = await seed(harness, receiver.origin);
  const post = async (path: string, body: unknown) =>
    (await harness.api.call('POST', `/v1${path}`, { body })).json;
  for (const name of ['a', 'b']) {
    await post('/webhooks', { url: `${receiver.origin}/${name}`, events: ['member.joined'] });
  }
  const { items } = await harness.api.call('GET', '/v1/qr-codes?dynamic=true&limit=25');
  const qrCodeIds = items.map(({ id }) => word(id));
  const today = new Date().toISOString().slice(0, 10);
  const large = { name: 'Posters', startDate: today, qrCodeIds };
  largeCampaignId = word((await post('/campaigns', large)).id);
  const workspace = word((await harness.api.call('GET', '/v1/workspaces')).items[0]?.id);
  const plan = await runCommand(['workspaces', 'set-plan', workspace, 'free'], {
    QZ_DATA_DIR: harness.service.dataDir,
  });
  expect(plan.code).toBe(0);
}, allPagesMs);
afterAll(async () => {
  await harness.close();
  await receiver.close();
});

/** What a page asks of the API: its document, until it is left for another one. */
function record(page: Page): Request[] {
  const asked: Request[] = [];
  let isLeft = false;
  page.on('request', (request) => {
    // Until the next document is there, the one before may ask.
    if (request.isNavigationRequest()) isLeft = true;
    else if (new URL(request.url()).pathname.startsWith('/v1/')) asked.push(request);
  });
  page.on('framenavigated', () => {
    if (isLeft) asked.length = 0;
    isLeft = false;
  });
  return asked;
}

async function settled(page: Page): Promise<void> {
  await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
}

const appears = async (shown: Locator): Promise<boolean> =>
  await shown.waitFor().then(
    () => true,
    () => false,
  );

/** Paths that are asked for more than one id, as `GET /v1/qr-codes/:id`. */
function repeatedOf(asked: readonly Request[]): string[] {
  const addressesOf = new Map<string, Set<string>>();
  for (const request of asked) {
    const path = `${request.method()} ${new URL(request.url()).pathname}`;
    const kind = path.replaceAll(/[a-z]{2,4}_[0-9a-z]{20}/g, ':id');
    addressesOf.set(kind, (addressesOf.get(kind) ?? new Set()).add(path));
  }
  return [...addressesOf].filter(([, paths]) => paths.size > 1).map(([kind]) => kind);
}

test(
  'all pages together stay below a minute’s limit on the Free plan; none asks once per item',
  async () => {
    const page = await harness.openSignedIn('/settings/data');
    const statuses: number[] = [];
    page.on('response', (response) => {
      if (new URL(response.url()).pathname.startsWith('/v1/')) statuses.push(response.status());
    });
    const asked = record(page);
    const faults: string[] = [];
    let total = 0;
    const large = {
      path: `/campaigns/${largeCampaignId}`,
      heading: 'Posters',
      shows: 'Scans by code',
    };
    const walk = [...addresses(seeded), { name: 'campaign-large', ...large }];
    for (const { name, path, heading, shows } of walk) {
      await page.goto(path);
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
      await page.getByText(shows).first().waitFor({ state: 'attached' });
      await settled(page);
      total += asked.length;
      if (asked.length > requestsMax) faults.push(`${name}: ${asked.length} requests`);
      faults.push(...repeatedOf(asked).map((kind) => `${name}: ${kind} for several ids`));
    }
    expect(faults).toEqual([]);
    expect(statuses.filter((status) => status === 429)).toEqual([]);
    // However fast a person is: the walk is less than what one minute allows.
    expect(total).toBeLessThan(sessionLimits.perMinute);
    await page.context().close();
  },
  allPagesMs,
);

test(
  'a campaign of 25 codes asks as much as one of 1, and shows every name',
  async () => {
    const page = await harness.openSignedIn('/settings/data');
    const asked = record(page);
    const counts: number[] = [];
    for (const id of [seeded.campaignId, largeCampaignId]) {
      await page.goto(`/campaigns/${id}`);
      await page.getByRole('table', { name: 'Scans by code' }).waitFor();
      await settled(page);
      counts.push(asked.length);
    }
    expect(new Set(counts).size).toBe(1);
    const table = page.getByRole('table', { name: 'Scans by code' });
    await table.getByRole('link', { name: 'Table 12' }).waitFor();
    expect(await table.getByText(/^…/).count()).toBe(0);
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('dialog').waitFor();
    expect(await page.locator('.chip').getByText(/^…/).count()).toBe(0);
    await page.context().close();
  },
  allPagesMs,
);

const refusal = (seconds: number) => ({
  status: 429,
  headers: { 'Retry-After': String(seconds) },
  json: {
    status: 429,
    code: 'rate_limited',
    title: 'Rate limited',
    detail: `The minute’s 600 requests are used up, the next minute starts in ${seconds} s`,
    requestId: 'req_1',
  },
});

// Side by side, each on a page of its own: two of them wait until a refusal has lasted.
test.concurrent(
  'one refused request takes one part of the page, counts down and comes back by itself',
  async () => {
    const page = await harness.openSignedIn('/settings/data');
    let refused = 0;
    await page.route(/\/campaigns\/cmp_\w+\/analytics\?/, async (route) => {
      refused += 1;
      if (refused === 1) await route.fulfill(refusal(10));
      else await route.continue();
    });
    // Looked for from the start: it goes away by itself.
    await Promise.all([
      page.getByText('Rate limit reached').waitFor(),
      page.goto(`/campaigns/${seeded.campaignId}`),
    ]);
    await page.getByRole('heading', { level: 1, name: 'Summer menu' }).waitFor();
    await page.getByRole('navigation', { name: 'Main' }).waitFor();
    await page.getByText('Running').waitFor();
    expect(await page.locator('.notice').count()).toBe(1);
    await page
      .getByRole('timer')
      .getByText(/Retrying in [1-9] seconds?\./)
      .waitFor();
    await page.getByText('Conversion rate').waitFor();
    expect([refused, await page.locator('.notice').count()]).toEqual([2, 0]);
    await page.context().close();
  },
  allPagesMs,
);

test.concurrent(
  'the overview without its numbers keeps its activity, and without that its numbers',
  async () => {
    const page = await harness.openSignedIn('/settings/data');
    await page.route(/\/v1\/analytics\/summary/, async (route) => await route.fulfill(refusal(60)));
    await page.goto('/');
    await page.getByText('Rate limit reached').waitFor();
    await page.locator('.feed-row', { hasText: 'Scan of Table 12' }).first().waitFor();
    expect(await page.locator('.notice-warn').count()).toBe(1);
    await page.unrouteAll();
    await page.route(/\/v1\/events\?/, async (route) => await route.fulfill(refusal(60)));
    await page.goto('/');
    await page.getByText('Rate limit reached').waitFor();
    await page.getByText('Most scanned').waitFor();
    expect(await page.getByText('No activity yet').count()).toBe(0);
    await page.context().close();
  },
  allPagesMs,
);

test.concurrent(
  'a refused session keeps the frame, and the page comes by itself',
  async () => {
    const page = await harness.openSignedIn('/settings/data');
    let refused = 0;
    await page.route(/\/v1\/session$/, async (route) => {
      refused += 1;
      if (refused === 1) await route.fulfill(refusal(8));
      else await route.continue();
    });
    // Looked for from the start: it goes away by itself.
    await Promise.all([page.getByText('Rate limit reached').waitFor(), page.goto('/codes')]);
    await page.getByRole('heading', { level: 1, name: 'Codes' }).waitFor();
    await page
      .getByRole('navigation', { name: 'Main' })
      .getByRole('link', { name: 'Team' })
      .waitFor();
    await page.getByRole('link', { name: 'Table 12' }).waitFor();
    expect(refused).toBe(2);
    await page.context().close();
  },
  allPagesMs,
);

test(
  'with everything refused, every page keeps navigation, title and a notice',
  async () => {
    const page = await harness.openSignedIn('/settings/data');
    const asked = record(page);
    await page.route(/\/v1\/(?!session$)/, async (route) => await route.fulfill(refusal(60)));
    const faults: string[] = [];
    for (const { name, path } of addresses(seeded)) {
      await page.goto(path);
      await page.getByRole('navigation', { name: 'Main' }).waitFor();
      await page.getByRole('heading', { level: 1 }).waitFor();
      const title = await page.getByRole('heading', { level: 1 }).innerText();
      await settled(page);
      const notice = page.locator('.notice', { hasText: 'Rate limit reached' }).first();
      // A form stands before the answers to what it asks have come.
      const isRefused = asked.some((request) => !request.url().endsWith('/v1/session'));
      const isSaid = !isRefused || (await appears(notice));
      if (title === '' || !isSaid) faults.push(`${name}: ${title}`);
    }
    expect(faults).toEqual([]);
    await page.context().close();
  },
  allPagesMs,
);

test(
  'the browser reported no errors',
  () => {
    expect(harness.complaints).toEqual([]);
  },
  waitMs,
);
