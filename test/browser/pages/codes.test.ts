/** The overview and every page of codes (walk.ts). */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openReceiver, type Receiver } from '../../support/fakes/receiver.ts';
import { codeAddresses } from '../addresses.ts';
import { openHarness, type Harness } from '../harness.ts';
import { type Seeded, seed } from '../seed.ts';
import { walk } from './walk.ts';

const allPagesMs = 240_000;

let harness: Harness;
let receiver: Receiver;
let seeded: Seeded;

beforeAll(async () => {
  receiver = await openReceiver({ kind: 'answer', status: 500, body: 'not today' });
  harness = await openHarness();
  seeded = await seed(harness, receiver.origin);
  await harness.setPlan('free');
}, allPagesMs);
afterAll(async () => {
  await harness.close();
  await receiver.close();
});

test(
  'every page by itself, and all together below the limit of a minute; none asks once per item',
  async () => {
    const { page } = await walk(harness, codeAddresses(seeded));
    await page.close();
  },
  allPagesMs,
);

test('the browser reported no errors', () => {
  expect(harness.complaints).toEqual([]);
});
