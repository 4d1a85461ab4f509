/** Long names and large numbers on a narrow phone: nothing is wider than the screen. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { word } from '../../support/client.ts';
import { faultsOn } from '../accessibility.ts';
import { follow } from '../addresses.ts';
import { openHarness, type Harness } from '../harness.ts';

const allPagesMs = 240_000;

let harness: Harness;
let page: Page;

beforeAll(async () => {
  harness = await openHarness();
  page = await harness.openSignedIn('/settings/data', { scheme: 'dark', width: 390 });
}, allPagesMs);
afterAll(() => harness.close());

test(
  'the longest names, other scripts and millions of scans fit 320 pixels',
  async () => {
    const { api } = harness;
    const name =
      'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft 42';
    const target = `https://example.com/${'a-very-long-path/'.repeat(60)}`;
    const tags = ['Straßenbahnhaltestellenbeschilderung', 'قائمة الطعام', 'x'.repeat(40)];
    const code = (await api.call('POST', '/v1/qr-codes', { body: { name, target, tags } })).json;
    await api.call('POST', '/v1/api-keys', { body: { name, role: 'viewer' } });
    await page.setViewportSize({ width: 320, height: 900 });
    await page.route(/\/v1\/(qr-codes|analytics)[^?]*\?|\/qr-codes\/qr_\w+$/, async (route) => {
      const response = await route.fetch();
      const text = await response.text();
      const number = /"(scans|totalScans|uniqueScanners|ios|android)":\d+/g;
      await route.fulfill({ response, body: text.replace(number, '"$1":28483694') });
    });
    // Loaded again: the tests before have lists without them.
    await page.goto('/settings/data');
    const faults: string[] = [];
    const walk = [
      ['/', 'Activity'],
      ['/codes', '28.5'],
      [`/codes/${word(code.id)}`, '28,483,694'],
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
  },
  allPagesMs,
);

test('the browser reported no errors', () => {
  expect(harness.complaints).toEqual([]);
});
