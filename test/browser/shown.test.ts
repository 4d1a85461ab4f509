/**
 * What pages say, and how: names that are not cut, bars of one scale, times to the second, numbers that are
 * compared with whole periods only. One service for all; each test reads pages of its own.
 */
import type { Locator, Page } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Json, word } from '../support/client.ts';
import { openReceiver, type Receiver } from '../support/fakes/receiver.ts';
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
let receiver: Receiver;
let codeId: string;
let campaignId: string;

beforeAll(async () => {
  receiver = await openReceiver({ kind: 'answer', status: 500, body: 'not today' });
  harness = await openHarness({
    QZ_WEBHOOKS_RETRY_DELAYS_MS: '50,50,50,50,50,50,50',
    QZ_WEBHOOKS_ALLOW_NETWORKS: '127.0.0.1/32',
  });
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
  await post('/conversions', { qrCodeId: codeId, value: 19.9 });
  await post('/conversions', { qrCodeId: codeId, value: 5 });
}, testMs);
afterAll(async () => {
  await harness.close();
  await receiver.close();
});

async function post(path: string, body: unknown) {
  return (await harness.api.call('POST', `/v1${path}`, { body })).json;
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

/** Colour of one point of the screen. */
async function colourAt(page: Page, x: number, y: number): Promise<readonly number[]> {
  const picture = await page.screenshot({ clip: { x, y, width: 1, height: 1 } });
  return [...(await sharp(picture).removeAlpha().raw().toBuffer())];
}

test(
  'the overview shows whole names, and bars of the named alone',
  async () => {
    const page = await harness.openSignedIn('/');
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
    await page.context().close();
  },
  testMs,
);

test(
  'a breakdown shows its first ten rows, all after a click, and the numbers of conversions beside it',
  async () => {
    const page = await harness.openSignedIn(`/codes/${codeId}`);
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
    await page.goto(`/campaigns/${campaignId}`);
    await page.getByText('Total value 24.9').waitFor();
    await page.getByRole('cell', { name: 'Value 24.9' }).waitFor();
    await page.context().close();
  },
  testMs,
);

test(
  'the filter by campaign names it, inside its frame, and is taken away',
  async () => {
    const page = await harness.openSignedIn(`/codes?campaign=${campaignId}`);
    const filter = page.locator('.chip', { hasText: 'Summer in the beer gardens' });
    await filter.waitFor();
    expect(await hiddenOf(filter)).toEqual([0, 0]);
    await expect.poll(() => page.locator('.code-cell').count()).toBe(1);
    await filter.getByRole('button').click();
    await page.getByText('Table 11', { exact: true }).waitFor();
    await page.context().close();
  },
  testMs,
);

test.each(['light', 'dark'] as const)(
  'behind a dialog the place of the scrollbar is as dark as the page (%s)',
  async (scheme) => {
    const page = await harness.openSignedIn('/team', { scheme });
    await page.getByRole('button', { name: 'Invite' }).click();
    await page.getByRole('dialog').waitFor();
    expect(await widthOf(page.locator('body'))).toBeLessThan(1_440);
    const [edge, beside] = [await colourAt(page, 1_438, 450), await colourAt(page, 1_410, 450)];
    for (const [at, value] of edge.entries()) {
      expect(Math.abs(value - (beside[at] ?? Number.NaN))).toBeLessThanOrEqual(2);
    }
    await page.context().close();
  },
  testMs,
);

test(
  'a design that cannot be scanned has no picture of another design beside it',
  async () => {
    const page = await harness.openSignedIn(`/codes/${codeId}?part=design`);
    const picture = page.getByAltText('How the code will look');
    await page.getByText('Scans well').waitFor();
    expect(await picture.count()).toBe(1);
    const colour = page.getByLabel('Dot colour, as #rrggbb');
    await colour.fill('#eeeeee');
    await page.getByText('Cannot be scanned').waitFor();
    expect(await picture.count()).toBe(0);
    await colour.fill('#0f3d91');
    await page.getByText('Scans well').waitFor();
    expect(await picture.count()).toBe(1);
    await page.context().close();
  },
  testMs,
);

test(
  'an invite of seven days says seven, and its page who invites whom',
  async () => {
    const page = await harness.openSignedIn('/team');
    await page.getByRole('button', { name: 'Invite' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('E-mail').fill('jane@example.com');
    await dialog.getByRole('button', { name: 'Invite' }).click();
    await dialog.getByText('It expires in 7 days').waitFor();
    const link = (await dialog.locator('.copy-line code').textContent()) ?? '';
    await page.getByRole('button', { name: 'I have saved it' }).click();
    await page.getByRole('row', { name: 'jane@example.com' }).getByText('in 7 days').waitFor();
    await page.goto(link);
    await page.getByText('Owner invites you to My workspace as editor.').waitFor();
    // Nobody but Jane joins by it. It stays while they sign out.
    await page.getByText('owner@example.com. The invite is for jane@example.com').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await expect.poll(() => page.getByLabel('E-mail').inputValue()).toBe('jane@example.com');
    expect(await page.getByLabel('Password').count()).toBe(1);
    await page.context().close();
  },
  testMs,
);

test(
  'attempts are told to the second, and a blocked address names the setting that opens it',
  async () => {
    await post('/webhooks', { url: receiver.url('/hooks'), events: ['qr.created'] });
    await post('/qr-codes', { target: 'https://example.com/hooked' });
    await receiver.arrived(2, waitMs);
    const page = await harness.openSignedIn('/settings/webhooks');
    await page.getByRole('link', { name: '/hooks' }).click();
    await page.getByRole('link', { name: 'qr.created' }).click();
    const times = page.locator('.attempt time');
    await times.first().waitFor();
    expect(await times.first().innerText()).toMatch(/\d\d:\d\d:\d\d/);
    await page.goto('/settings/webhooks');
    await page.getByRole('button', { name: 'New endpoint' }).first().click();
    const form = page.getByRole('dialog');
    await form.getByLabel('Endpoint address').fill('http://192.168.1.7/hooks');
    await form.getByRole('button', { name: 'Create endpoint' }).click();
    await form.getByText('webhooks.allowNetworks').waitFor();
    await page.context().close();
  },
  testMs,
);

test(
  'a table that becomes wider than its place can be scrolled by keyboard',
  async () => {
    const page = await harness.openSignedIn(`/codes/${codeId}?part=scans`);
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
    await page.context().close();
  },
  testMs,
);

test(
  'a period that was counted in part is compared with nothing',
  async () => {
    const page = await harness.openSignedIn('/settings/data');
    let complete = false;
    await page.route(/\/v1\/analytics\/summary/, async (route) => {
      const response = await route.fetch();
      const answer = await response.json();
      // As after 45 days: the month before was counted for half of its days.
      const previous = { ...answer.previous, complete };
      const change = { totalScans: 0.5, uniqueScanners: 0.5 };
      await route.fulfill({ response, json: { ...answer, previous, change } });
    });
    const month = page.locator('.figure', { hasText: 'Last 30 days' }).first();
    await page.goto('/');
    await month.getByText('Too early to compare with').waitFor();
    complete = true;
    await page.goto('/');
    await month.getByText('+50% against').waitFor();
    await page.context().close();
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
    const page = await harness.openSignedIn('/codes');
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
    await page.context().close();
  },
  testMs,
);

test(
  'a code is put into a campaign when it is made, into another from its page, and taken out of both',
  async () => {
    const startDate = new Date().toISOString().slice(0, 10);
    const first = await post('/campaigns', { name: 'Fair', startDate, qrCodeIds: [] });
    const second = await post('/campaigns', { name: 'Market', startDate, qrCodeIds: [codeId] });
    const codesOf = async ({ id }: Json) =>
      (await harness.api.call('GET', `/v1/campaigns/${word(id)}`)).json.qrCodeIds;
    const page = await harness.openSignedIn('/codes/new');
    await page.getByLabel('Web address', { exact: true }).fill('example.com/stand');
    await page.getByLabel('Campaign').selectOption('Fair');
    await page.getByRole('button', { name: 'Create code' }).click();
    const fact = page.locator('.fact', { hasText: 'Campaigns' });
    await fact.getByRole('link', { name: 'Fair' }).waitFor();
    const made = new URL(page.url()).pathname.split('/').at(-1);
    expect(await codesOf(first)).toEqual([made]);
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
    expect([await codesOf(first), await codesOf(second)]).toEqual([[made], [codeId, made]]);
    await change.click();
    await dialog.getByLabel('Fair').uncheck();
    await dialog.getByLabel('Market').uncheck();
    await save();
    await fact.getByRole('button', { name: 'Put into a campaign' }).waitFor();
    expect([await codesOf(first), await codesOf(second)]).toEqual([[], [codeId]]);
    await page.context().close();
  },
  testMs,
);

test(
  'campaigns that cannot be loaded say why, and are tried again',
  async () => {
    const page = await harness.openSignedIn('/settings/data');
    const problem = { status: 503, code: 'overloaded', detail: 'Too many requests are waiting.' };
    const refused = /\/v1\/campaigns\?/;
    await page.route(refused, (route) => route.fulfill({ status: 503, json: problem }));
    await page.goto(`/codes/${codeId}`);
    await page.getByRole('button', { name: 'Change campaigns' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Too many requests are waiting.').waitFor();
    await page.unroute(refused);
    await dialog.getByRole('button', { name: 'Try again' }).click();
    await dialog.getByLabel('Summer in the beer gardens').waitFor();
    await page.context().close();
  },
  testMs,
);

test(
  'codes for this machine alone come with what to do, on every page and before a download',
  async () => {
    const page = await harness.openSignedIn('/codes/new');
    const notice = page.locator('.local-notice');
    await notice.getByText(new URL(harness.service.redirectUrl).host).waitFor();
    await notice.getByText('What to do').click();
    await notice.getByText('QZ_SHORT_URL_BASE=http://192.168.').waitFor();
    await page.getByLabel('Web address', { exact: true }).fill('example.com/local');
    await page.getByRole('button', { name: 'Create code' }).click();
    await page.getByText('Code created. Before you print it').waitFor();
    await page.getByRole('button', { name: 'Download' }).click();
    await page.getByText('no phone can open its address').waitFor();
    await page.route(/\/v1\/session$/, async (route) => {
      const response = await route.fetch();
      const shortLinks = { base: 'https://go.example.com', local: false };
      await route.fulfill({ response, json: { ...(await response.json()), shortLinks } });
    });
    await page.goto('/codes/new');
    await page.getByLabel('Web address', { exact: true }).fill('example.com/far');
    await page.getByRole('button', { name: 'Create code' }).click();
    await page.getByText('It already works').waitFor();
    await page.getByRole('button', { name: 'Download' }).click();
    await page.getByRole('link', { name: 'SVG' }).waitFor();
    expect(await page.getByText('no phone can open').count()).toBe(0);
    await page.context().close();
  },
  testMs,
);

test('the browser had nothing to complain of', () => {
  expect(harness.complaints).toEqual([]);
});
