/** Every page of the settings (walk.ts). */
import { expect, test } from 'vitest';
import { settingsAddresses } from '../addresses.ts';
import { allPagesMs, useSeededPages, walk, walkOnPhone } from './walk.ts';

const pages = useSeededPages(async ({ harness, receiver }) => {
  for (const name of ['a', 'b']) {
    const body = { url: `${receiver.origin}/${name}`, events: ['member.joined'] };
    await harness.api.call('POST', '/v1/webhooks', { body });
  }
  await harness.setPlan('free');
});

test(
  'every page by itself, and all together below the limit of a minute; none asks once per item',
  async () => {
    const { harness, seeded } = pages();
    const { page } = await walk(harness, settingsAddresses(seeded));
    await page.close();
  },
  allPagesMs,
);

test(
  'every page, dark and 390 pixels wide',
  async () => {
    const { harness, seeded } = pages();
    await walkOnPhone(harness, settingsAddresses(seeded));
  },
  allPagesMs,
);

test('the browser reported no errors', () => {
  expect(pages().harness.complaints).toEqual([]);
});
