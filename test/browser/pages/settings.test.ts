/** Every page of the settings (walk.ts). */
import { test } from 'vitest';
import { settingsAddresses } from '../addresses.ts';
import { useSeededPages, walk, walkOnPhone } from './walk.ts';

const { harness, receiver, seeded } = await useSeededPages();
for (const name of ['a', 'b']) {
  await harness.post('/webhooks', { url: receiver.url(`/${name}`), events: ['member.joined'] });
}
await harness.setPlan('free');

test('every page by itself, and all together below the limit of a minute; none asks once per item', async () => {
  await walk(harness, settingsAddresses(seeded));
});

test('every page, dark and 390 pixels wide', async () => {
  await walkOnPhone(harness, settingsAddresses(seeded));
});
