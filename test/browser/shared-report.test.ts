/**
 * Pages for those who are not signed in: sign-in and invites; numbers that are shared, made in the dashboard, opened by a
 * stranger, on every screen and on paper.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { word } from '../support/client.ts';
import { faultsOn, faultsOnScreens, screens } from './accessibility.ts';
import { follow } from './addresses.ts';
import { type Harness, openHarness, waitMs } from './harness.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
}, waitMs * 4);
afterAll(() => harness.close());

const phone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1';

/** A code that was scanned by three phones; its path in the dashboard. */
async function scannedCode(): Promise<string> {
  const { api, service } = harness;
  const body = { target: 'https://secret.example/offer', name: 'Summer menu' };
  const { json } = await api.call('POST', '/v1/qr-codes', { body });
  const path = new URL(word(json.shortUrl)).pathname;
  for (const from of ['84.44.128.1', '84.44.128.2', '77.116.0.1']) {
    const headers = { 'user-agent': phone, 'x-forwarded-for': from };
    await fetch(`${service.redirectUrl}${path}`, { headers, redirect: 'manual' });
  }
  const scans = async () => (await api.call('GET', `/v1/qr-codes/${word(json.id)}`)).json.scans;
  await expect.poll(scans).toBe(3);
  return `/codes/${word(json.id)}`;
}

test(
  'a link is made beside the numbers, shows them to a stranger, and ends when it is revoked',
  async () => {
    const page = await harness.openSignedIn(await scannedCode());
    await page.getByRole('button', { name: 'Share' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Title of the page').fill('Menu <b>of</b> the summer');
    await dialog.getByRole('button', { name: 'Create link' }).click();
    const link = dialog.getByLabel('the link', { exact: true });
    await link.waitFor();
    expect(await faultsOn(page, 'share', 'dialog[open]')).toEqual([]);
    const url = (await link.textContent()) ?? '';
    const stranger = await harness.open();
    await stranger.goto(new URL(url).pathname);
    await stranger.getByRole('heading', { name: 'Menu <b>of</b> the summer' }).waitFor();
    const figure = stranger.locator('.figures div', { hasText: 'Different people' });
    expect(await figure.locator('dd').first().textContent()).toBe('3');
    await stranger.getByText('Show as a table').click();
    await stranger.getByRole('rowheader').last().waitFor();
    expect(await stranger.content()).not.toContain('secret.example');
    await stranger.getByRole('link', { name: '7 days' }).click();
    await stranger.waitForURL(/range=7d$/);
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('Link revoked.').waitFor();
    await stranger.reload();
    await stranger.getByRole('heading', { name: 'This link shows nothing' }).waitFor();
    expect(harness.complaints).toEqual([]);
  },
  waitMs * 6,
);

test(
  'its page is read on every screen, by every reader, and on paper',
  async () => {
    const { json: session } = await harness.api.call('GET', '/v1/workspaces');
    const zoned = { timezone: 'Asia/Tokyo' };
    await harness.api.call('PATCH', `/v1/workspaces/${word(session.data?.[0]?.id)}`, {
      body: zoned,
    });
    const id = (await scannedCode()).split('/').at(-1);
    const { json } = await harness.api.call('POST', '/v1/reports', { body: { qrCodeId: id } });
    const { pathname } = new URL(word(json.url));
    const page = await harness.open();
    await page.goto(pathname);
    await page.getByRole('img', { name: /^Scans by day from .*: 3, most:/ }).waitFor();
    await page.getByText('(Tokyo time)').first().waitFor();
    for (const { scheme, width } of screens) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize({ width, height: 900 });
      expect(await faultsOn(page, scheme)).toEqual([]);
    }
    await page.emulateMedia({ media: 'print' });
    expect(await page.getByRole('navigation').isVisible()).toBe(false);
    const color = await page.evaluate('getComputedStyle(document.body).backgroundColor');
    expect(color).toBe('rgb(255, 255, 255)');
    await page.context().close();
    expect(harness.complaints).toEqual([]);
  },
  waitMs * 6,
);

/** Compressed, the sign-in page and all that it loads. */
const firstPageBytesMax = 150_000;
test(
  'pages for those who are not signed in; the first weighs little, and its policy allows only this origin',
  async () => {
    const { json } = await harness.api.call('POST', '/v1/team/invites', {
      body: { email: 'grace@example.com', role: 'editor' },
    });
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
    const faults = await faultsOnScreens(page, 'sign in');
    await follow(page, `/accept-invite?token=${word(json.token)}`);
    await page.getByRole('button', { name: 'Join' }).waitFor();
    faults.push(...(await faultsOnScreens(page, 'invite')));
    await follow(page, '/sign-in');
    await page.getByLabel('E-mail').waitFor();
    await follow(page, '/accept-invite?token=x');
    await page.getByText('This link does not work').waitFor();
    faults.push(...(await faultsOnScreens(page, 'invite that is over')));
    await page.context().close();
    expect(faults).toEqual([]);
  },
  waitMs * 6,
);
