/**
 * Every page, light on a wide screen and dark on a phone: it loads within its weight, shows its data, breaks
 * no rule of WCAG 2.2 AA that axe can see, and is never wider than the screen.
 */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { word } from '../support/client.ts';
import { openReceiver, type Receiver } from '../support/fakes/receiver.ts';
import { faultsOn } from './accessibility.ts';
import { addresses } from './addresses.ts';
import { openHarness, type Harness, waitMs } from './harness.ts';
import { type Seeded, seed } from './seed.ts';

const allPagesMs = 240_000;
/** Compressed, the sign-in page and all that it loads. */
const firstPageBytesMax = 150_000;

let harness: Harness;
let receiver: Receiver;
let seeded: Seeded;

beforeAll(async () => {
  receiver = await openReceiver({ kind: 'answer', status: 500, body: 'not today' });
  harness = await openHarness({ QZ_WEBHOOKS_RETRY_DELAYS_MS: '50,50,50,50,50,50,50' });
  seeded = await seed(harness, receiver.origin);
}, allPagesMs);
afterAll(async () => {
  await harness.close();
  await receiver.close();
});

/** As a link of the dashboard does: the next page in the same document. */
async function follow(page: Page, path: string): Promise<void> {
  await page.evaluate(
    `history.pushState(null, '', ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent('popstate'))`,
  );
}

// Each loaded by its address on the wide screen, reached from another one on the phone.
test.each([
  { scheme: 'light', width: 1_440, go: (page: Page, path: string) => page.goto(path) },
  { scheme: 'dark', width: 390, go: follow },
] as const)(
  'the pages in $scheme, $width pixels wide',
  async ({ go, ...options }) => {
    const page = await harness.open(options);
    const faults: string[] = [];
    const invite = `/accept-invite?token=${seeded.inviteToken}`;
    for (const path of ['/sign-in', invite, '/accept-invite?token=x']) {
      await page.goto(path);
      const shown = page.getByLabel('Password').or(page.getByText('This link does not work'));
      await shown.waitFor();
      faults.push(...(await faultsOn(page, path)));
    }
    await page.context().close();
    const inside = await harness.openSignedIn('/settings/data', options);
    for (const { name, path, heading, shows } of addresses(seeded)) {
      await go(inside, path);
      await inside.getByRole('heading', { level: 1, name: heading }).waitFor();
      await inside.getByText(shows).first().waitFor({ state: 'attached' });
      await inside.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
      faults.push(...(await faultsOn(inside, name)));
    }
    await inside.context().close();
    expect(faults).toEqual([]);
  },
  allPagesMs,
);

test(
  'dialogs and menus are accessible too, and Esc closes them',
  async () => {
    const page = await harness.openSignedIn(`/codes/${seeded.codeId}`, { scheme: 'dark' });
    const faults: string[] = [];
    const actions = ['Change destination', 'Change campaigns', 'Delete this code'];
    for (const action of actions) {
      await page.getByRole('button', { name: action }).click();
      await page.getByRole('dialog').waitFor();
      faults.push(...(await faultsOn(page, action)));
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
    await page.locator('.local-notice summary').click();
    await page.getByText('QZ_SHORT_URL_BASE').waitFor();
    faults.push(...(await faultsOn(page, 'local notice')));
    await page.getByRole('button', { name: 'Download' }).click();
    await page.getByRole('link', { name: 'SVG Save' }).waitFor();
    faults.push(...(await faultsOn(page, 'download')));
    await page.keyboard.press('Escape');
    await page.keyboard.type('gh');
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
    faults.push(...(await faultsOn(page, 'keyboard')));
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.type('gs');
    await page.getByRole('heading', { level: 1, name: 'Codes' }).waitFor();
    await page.locator('#code-search:focus').waitFor();
    await page.context().close();
    expect(faults).toEqual([]);
  },
  waitMs * 6,
);

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
    const page = await harness.openSignedIn('/settings/data', { width: 320 });
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
      [`/codes/${word(code.id)}`, '28,483,694'],
      ['/settings/api-keys', name],
    ] as const;
    for (const [path, shows] of walk) {
      await page.goto(path);
      await page.getByText(shows).first().waitFor();
      await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
      faults.push(...(await faultsOn(page, path)));
    }
    // What a page asks late needs no other answer.
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.context().close();
    expect(faults).toEqual([]);
  },
  allPagesMs,
);

test(
  'slow and failed requests stay accessible, say why, and offer a retry',
  async () => {
    const page = await harness.openSignedIn('/settings/data');
    const faults: string[] = [];
    let isAnswered = false;
    const problem = {
      status: 503,
      code: 'overloaded',
      title: 'Overloaded',
      detail: 'Too many requests are waiting.',
      requestId: 'req_1',
    };
    const held = Promise.withResolvers<void>();
    await page.route(/\/v1\/qr-codes\?/, async (route) => {
      await held.promise;
      if (isAnswered) return await route.continue();
      await route.fulfill({ status: 503, json: problem });
    });
    await page.goto('/codes');
    await page.locator('.skeleton-row').first().waitFor();
    faults.push(...(await faultsOn(page, 'loading')));
    held.resolve();
    await page.getByRole('alert').getByText('Too many requests are waiting.').waitFor();
    faults.push(...(await faultsOn(page, 'failed')));
    isAnswered = true;
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('link', { name: 'Table 12' }).waitFor();
    await page.context().close();
    expect(faults).toEqual([]);
  },
  waitMs * 6,
);

test('the first page weighs little, and comes with a policy that allows only this origin', async () => {
  const page = await harness.open();
  const sizes: Array<Promise<number>> = [];
  page.on('requestfinished', (request) => {
    sizes.push(request.sizes().then((size) => size.responseBodySize + size.responseHeadersSize));
  });
  const response = await page.goto('/');
  await page.getByLabel('Password').waitFor();
  const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  expect(bytes).toBeLessThan(firstPageBytesMax);
  expect(bytes).toBeGreaterThan(10_000);
  expect(response?.headers()['content-security-policy']).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
      "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  );
  await page.context().close();
});

test('the browser reported no errors', () => {
  expect(harness.complaints).toEqual([]);
});
