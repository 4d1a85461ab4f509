/** The overview and every page of codes, dark and on a phone (walk.ts). */
import { expect, test } from 'vitest';
import { codeAddresses } from '../addresses.ts';
import { allPagesMs, useSeededPages, walkOnPhone } from './walk.ts';

const pages = useSeededPages(() => Promise.resolve());

test(
  'every page, dark and 390 pixels wide',
  async () => {
    const { harness, seeded } = pages();
    await walkOnPhone(harness, codeAddresses(seeded));
  },
  allPagesMs,
);

test('the browser reported no errors', () => {
  expect(pages().harness.complaints).toEqual([]);
});
