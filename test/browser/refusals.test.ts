/** What pages show when requests are slow, fail, or are refused: one part less, a reason, and all of it again later. */
import type { Locator } from 'playwright-core';
import { expect, test } from 'vitest';
import { faultsOn } from './accessibility.ts';
import { addresses, follow } from './addresses.ts';
import { noticesOf, refusal, useHarness } from './harness.ts';
import { makeCampaign, noIds, scan, untilCounted } from './seed.ts';

const harness = await useHarness();
const code = await harness.makeCode({ name: 'Table 12' });
const campaignPath = `/campaigns/${await makeCampaign(harness, 'Summer menu', [code.id])}`;
await scan(code.shortUrl);
await untilCounted(harness, 1);

const limited = (seconds: number) =>
  refusal(429, 'rate_limited', 'The requests of this minute are used up', seconds);

test('one refused request takes one part of the page, counts down and comes back by itself', async () => {
  const page = await harness.openSignedIn();
  await page.clock.install();
  let refused = 0;
  await page.route(/\/campaigns\/cmp_\w+\/analytics\?/, async (route) => {
    refused += 1;
    if (refused === 1) await route.fulfill(limited(10));
    else await route.continue();
  });
  await page.goto(campaignPath);
  await page.getByText('Rate limit reached').waitFor();
  await page.getByRole('heading', { level: 1, name: 'Summer menu' }).waitFor();
  await page.getByRole('navigation', { name: 'Main' }).waitFor();
  await page.getByText('Running').waitFor();
  expect(await noticesOf(page).count()).toBe(1);
  await page.clock.runFor(3_000);
  await page
    .getByRole('timer')
    .getByText(/Retrying in [1-7] seconds?\./)
    .waitFor();
  expect(refused).toBe(1);
  await page.clock.runFor(8_000);
  await page.getByText('Conversion rate').waitFor();
  expect([refused, await noticesOf(page).count()]).toEqual([2, 0]);
  await page.close();
});

test('the overview without its numbers keeps its activity, and without that its numbers', async () => {
  const page = await harness.openSignedIn();
  await page.route(/\/v1\/analytics\/summary/, async (route) => await route.fulfill(limited(60)));
  await page.goto('/');
  await page.getByText('Rate limit reached').waitFor();
  await page.locator('.feed-row', { hasText: 'Scan of Table 12' }).first().waitFor();
  expect(await noticesOf(page).count()).toBe(1);
  await page.unrouteAll();
  await page.route(/\/v1\/events\?/, async (route) => await route.fulfill(limited(60)));
  await page.goto('/');
  await page.getByText('Rate limit reached').waitFor();
  await page.getByText('Most scanned').waitFor();
  expect(await page.getByText('No activity yet').count()).toBe(0);
  await page.close();
});

test('a refused session keeps the frame, and the page comes by itself; with all else refused, every page keeps navigation, title and a notice', async () => {
  const page = await harness.openSignedIn();
  await page.clock.install();
  let refused = 0;
  await page.route(/\/v1\/session$/, async (route) => {
    refused += 1;
    if (refused === 1) await route.fulfill(limited(8));
    else await route.continue();
  });
  let asked = 0;
  await page.route(/\/v1\/(?!session$)/, async (route) => {
    asked += 1;
    await route.fulfill(limited(60));
  });
  await page.goto('/codes');
  await page.getByText('Rate limit reached').waitFor();
  await page.getByRole('heading', { level: 1, name: 'Codes' }).waitFor();
  const navigation = page.getByRole('navigation', { name: 'Main' });
  await navigation.waitFor();
  expect(asked).toBe(0);
  await page.clock.runFor(9_000);
  await navigation.getByRole('link', { name: 'Team' }).waitFor();
  await expect.poll(() => refused).toBe(2);
  const faults: string[] = [];
  const notice = page.locator('.notice', { hasText: 'Rate limit reached' }).first();
  for (const [name, path] of addresses(noIds)) {
    asked = 0;
    await follow(page, path);
    await navigation.waitFor();
    const heading = page.getByRole('heading', { level: 1 });
    await heading.waitFor();
    await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
    // A form stands before the answers to what it asks have come.
    const isSaid = asked === 0 || (await appears(notice));
    const title = await heading.innerText();
    if (title === '' || !isSaid) faults.push(`${name}: ${title}`);
  }
  expect(faults).toEqual([]);
  await page.close();
});

const appears = async (shown: Locator): Promise<boolean> =>
  await shown.waitFor().then(
    () => true,
    () => false,
  );

test('slow and failed requests stay accessible, say why, and offer a retry', async () => {
  const page = await harness.openSignedIn();
  const faults: string[] = [];
  let isAnswered = false;
  const held = Promise.withResolvers<void>();
  await page.route(/\/v1\/qr-codes\?/, async (route) => {
    await held.promise;
    if (isAnswered) return await route.continue();
    await route.fulfill(refusal(503, 'overloaded', 'Too many requests are waiting.'));
  });
  await page.goto('/codes');
  await page.locator('.skeleton-row').first().waitFor();
  faults.push(...(await faultsOn(page, 'loading')));
  held.resolve();
  await page.getByRole('alert').getByText('Too many requests are waiting.').waitFor();
  faults.push(...(await faultsOn(page, 'failed')));
  isAnswered = true;
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('link', { name: 'Table 12' }).waitFor();
  await page.close();
  expect(faults).toEqual([]);
});
