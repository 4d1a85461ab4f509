/** Every page of campaigns, team and billing (walk.ts); a campaign of 25 codes asks as much as one of 1. */
import { expect, test } from 'vitest';
import { word } from '../../support/client.ts';
import { campaignAddresses } from '../addresses.ts';
import { allPagesMs, useSeededPages, walk, walkOnPhone } from './walk.ts';

let largeCampaignId: string;

const pages = useSeededPages(async ({ harness }) => {
  const { items } = await harness.api.call('GET', '/v1/qr-codes?dynamic=true&limit=25');
  const qrCodeIds = items.map(({ id }) => word(id));
  const today = new Date().toISOString().slice(0, 10);
  const body = { name: 'Posters', startDate: today, qrCodeIds };
  largeCampaignId = word((await harness.api.call('POST', '/v1/campaigns', { body })).json.id);
  await harness.setPlan('free');
});

test(
  'every page by itself, and all together below the limit of a minute; none asks once per item',
  async () => {
    const large = {
      name: 'campaign-large',
      path: `/campaigns/${largeCampaignId}`,
      heading: 'Posters',
      shows: 'Scans by code',
    };
    const { harness, seeded } = pages();
    const { page, counts } = await walk(harness, [...campaignAddresses(seeded), large]);
    // It shows every name.
    expect(counts.get('campaign-large')).toBe(counts.get('campaign'));
    const table = page.getByRole('table', { name: 'Scans by code' });
    await table.getByRole('link', { name: 'Table 12' }).waitFor();
    expect(await table.getByText(/^…/).count()).toBe(0);
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('dialog').waitFor();
    expect(await page.locator('.chip').getByText(/^…/).count()).toBe(0);
    await page.close();
  },
  allPagesMs,
);

test(
  'every page, dark and 390 pixels wide',
  async () => {
    const { harness, seeded } = pages();
    await walkOnPhone(harness, campaignAddresses(seeded));
  },
  allPagesMs,
);

test('the browser reported no errors', () => {
  expect(pages().harness.complaints).toEqual([]);
});
