/** The overview and every page of codes, dark and on a phone (walk.ts). */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openReceiver, type Receiver } from '../../support/fakes/receiver.ts';
import { codeAddresses } from '../addresses.ts';
import { openHarness, type Harness } from '../harness.ts';
import { type Seeded, seed } from '../seed.ts';
import { walkOnPhone } from './walk.ts';

const allPagesMs = 240_000;

let harness: Harness;
let receiver: Receiver;
let seeded: Seeded;
let page: Page;

beforeAll(async () => {
  receiver = await openReceiver({ kind: 'answer', status: 500, body: 'not today' });
  harness = await openHarness();
  seeded = await seed(harness, receiver.origin);
  page = await harness.openSignedIn('/settings/data', { scheme: 'dark', width: 390 });
}, allPagesMs);
afterAll(async () => {
  await harness.close();
  await receiver.close();
});

test(
  'every page, dark and 390 pixels wide',
  async () => {
    await walkOnPhone(page, codeAddresses(seeded));
  },
  allPagesMs,
);

test('the browser reported no errors', () => {
  expect(harness.complaints).toEqual([]);
});
