/** The overview and every page of codes, dark and on a phone (walk.ts); long names and large numbers on a narrow one. */
import { expect, test } from 'vitest';
import { faultsOn } from '../accessibility.ts';
import { codeAddresses, follow } from '../addresses.ts';
import { useSeededPages, walkOnPhone } from './walk.ts';

const { harness, seeded } = await useSeededPages();

test('every page, dark and 390 pixels wide', async () => {
  await walkOnPhone(harness, codeAddresses(seeded));
});

test('the longest names, other scripts and millions of scans fit 320 pixels', async () => {
  const name =
    'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft 42';
  const target = `https://example.com/${'a-very-long-path/'.repeat(60)}`;
  const tags = ['Straßenbahnhaltestellenbeschilderung', 'قائمة الطعام', 'x'.repeat(40)];
  const code = await harness.makeCode({ name, target, tags });
  await harness.post('/api-keys', { name, role: 'viewer' });
  const page = await harness.openSignedIn('/settings/data', { scheme: 'dark', width: 390 });
  await page.setViewportSize({ width: 320, height: 900 });
  await page.route(/\/v1\/(qr-codes|analytics)[^?]*\?|\/qr-codes\/qr_\w+$/, async (route) => {
    const response = await route.fetch();
    const text = await response.text();
    const number = /"(scans|totalScans|uniqueScanners|ios|android)":\d+/g;
    await route.fulfill({ response, body: text.replace(number, '"$1":28483694') });
  });
  const faults: string[] = [];
  const walk = [
    ['/', 'Activity'],
    ['/codes', '28.5'],
    [code.path, '28,483,694'],
    ['/settings/api-keys', name],
  ] as const;
  for (const [path, shows] of walk) {
    await follow(page, path);
    await page.getByText(shows).first().waitFor();
    await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
    faults.push(...(await faultsOn(page, path, 'html', 'look')));
  }
  // What a page asks late needs no other answer.
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  expect(faults).toEqual([]);
});
