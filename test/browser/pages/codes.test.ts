/** The overview and every page of codes (walk.ts). */
import { test } from 'vitest';
import { codeAddresses } from '../addresses.ts';
import { useSeededPages, walk } from './walk.ts';

const { harness, seeded } = await useSeededPages();
await harness.setPlan('free');

test('every page by itself, and all together below the limit of a minute; none asks once per item', async () => {
  await walk(harness, codeAddresses(seeded));
});
