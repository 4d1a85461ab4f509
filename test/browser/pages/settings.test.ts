/** Every page of the settings (walk.ts). */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openReceiver, type Receiver } from '../../support/fakes/receiver.ts';
import { settingsAddresses } from '../addresses.ts';
import { openHarness, type Harness } from '../harness.ts';
import { type Seeded, seed } from '../seed.ts';
import { walk, walkOnPhone } from './walk.ts';

const allPagesMs = 240_000;

let harness: Harness;
let receiver: Receiver;
let seeded: Seeded;

beforeAll(async () => {
  receiver = await openReceiver({ kind: 'answer', status: 500, body: 'not today' });
  harness = await openHarness();
  seeded = await seed(harness, receiver.origin);
  for (const name of ['a', 'b']) {
    const body = { url: `${receiver.origin}/${name}`, events: ['member.joined'] };
    await harness.api.call('POST', '/v1/webhooks', { body });
  }
  await harness.setPlan('free');
}, allPagesMs);
afterAll(async () => {
  await harness.close();
  await receiver.close();
});

test(
  'every page by itself, and all together below the limit of a minute; none asks once per item',
  async () => {
    const { page } = await walk(harness, settingsAddresses(seeded));
    await page.close();
  },
  allPagesMs,
);

test(
  'every page, dark and 390 pixels wide',
  async () => {
    const page = await harness.openSignedIn('/settings/data', { scheme: 'dark', width: 390 });
    await walkOnPhone(page, settingsAddresses(seeded));
    await page.close();
  },
  allPagesMs,
);

test('the browser reported no errors', () => {
  expect(harness.complaints).toEqual([]);
});
