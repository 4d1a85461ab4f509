/** Every page of campaigns, team and billing (walk.ts); a campaign of 25 codes asks as much as one of 1. */
import { expect, test } from 'vitest';
import { word } from '../../support/client.ts';
import { type Address, campaignAddresses } from '../addresses.ts';
import { makeCampaign } from '../seed.ts';
import { useSeededPages, walk, walkOnPhone } from './walk.ts';

const { harness, seeded } = await useSeededPages();
const { items } = await harness.api.get('/v1/qr-codes?dynamic=true&limit=25');
const codeIds = items.map(({ id }) => word(id));
const largePath = `/campaigns/${await makeCampaign(harness, 'Posters', codeIds)}`;
await harness.setPlan('free');

test('every page by itself, and all together below the limit of a minute; none asks once per item', async () => {
  const large: Address = ['campaign-large', largePath, 'Posters', 'Scans by code'];
  const { page, counts } = await walk(harness, [...campaignAddresses(seeded), large]);
  expect(counts.get('campaign-large')).toBe(counts.get('campaign'));
  // It shows every name.
  const table = page.getByRole('table', { name: 'Scans by code' });
  await table.getByRole('link', { name: 'Table 12' }).waitFor();
  expect(await table.getByText(/^…/).count()).toBe(0);
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByRole('dialog').waitFor();
  expect(await page.locator('.chip').getByText(/^…/).count()).toBe(0);
});

test('every page, dark and 390 pixels wide', async () => {
  await walkOnPhone(harness, campaignAddresses(seeded));
});
