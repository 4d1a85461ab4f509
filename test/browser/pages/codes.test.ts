/** The overview and every page of codes (walk.ts). */
import { expect, test } from 'vitest';
import { codeAddresses } from '../addresses.ts';
import { allPagesMs, useSeededPages, walk } from './walk.ts';

const pages = useSeededPages(({ harness }) => harness.setPlan('free'));

test(
  'every page by itself, and all together below the limit of a minute; none asks once per item',
  async () => {
    const { harness, seeded } = pages();
    const { page } = await walk(harness, codeAddresses(seeded));
    await page.close();
  },
  allPagesMs,
);

test('the browser reported no errors', () => {
  expect(pages().harness.complaints).toEqual([]);
});
