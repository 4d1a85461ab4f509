/**
 * Pages for those who are not signed in, or will not be: sign-in and invites; numbers that are shared, made in the dashboard, opened by a
 * stranger, on every screen and on paper.
 */
import { expect, test } from 'vitest';
import { word } from '../support/client.ts';
import { faultsOn, faultsOnScreens } from './accessibility.ts';
import { follow } from './addresses.ts';
import { type MadeCode, useHarness } from './harness.ts';
import { scan } from './seed.ts';

const harness = await useHarness();
const { api, makeCode, post } = harness;

/** A code that was scanned by three phones. */
async function scannedCode(): Promise<MadeCode> {
  const code = await makeCode({ target: 'https://secret.example/offer', name: 'Summer menu' });
  for (const from of ['84.44.128.1', '84.44.128.2', '77.116.0.1']) await scan(code.shortUrl, from);
  const scans = async () => (await api.get(`/v1/qr-codes/${code.id}`)).json.scans;
  await expect.poll(scans).toBe(3);
  return code;
}

test('a link is made beside the numbers, shows them to a stranger, and ends when it is revoked', async () => {
  const page = await harness.openSignedIn((await scannedCode()).path);
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
  const figure = stranger.locator('.figures div', { hasText: 'Unique scanners' });
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
  await stranger.getByRole('heading', { name: 'This link does not work' }).waitFor();
});

test('its page is read on every screen, by every reader, and on paper', async () => {
  const { items } = await api.get('/v1/workspaces');
  await api.patch(`/v1/workspaces/${word(items[0]?.id)}`, { timezone: 'Asia/Tokyo' });
  const { url } = await post('/reports', { qrCodeId: (await scannedCode()).id });
  const { pathname } = new URL(word(url));
  const page = await harness.open();
  await page.goto(pathname);
  await page.getByRole('img', { name: /^Scans by day from .*: 3, most:/ }).waitFor();
  await page.getByText('(Tokyo time)').first().waitFor();
  expect(await faultsOnScreens(page, 'report')).toEqual([]);
  await page.emulateMedia({ media: 'print' });
  expect(await page.getByRole('navigation').isVisible()).toBe(false);
  const color = await page.evaluate('getComputedStyle(document.body).backgroundColor');
  expect(color).toBe('rgb(255, 255, 255)');
  await page.context().close();
});

/** Compressed, the sign-in page and all that it loads. */
const firstPageBytesMax = 150_000;
test('pages for those who are not signed in; the first weighs little, and its policy allows only this origin', async () => {
  const invite = await post('/team/invites', { email: 'grace@example.com', role: 'editor' });
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
  await follow(page, `/accept-invite?token=${word(invite.token)}`);
  await page.getByRole('button', { name: 'Join' }).waitFor();
  faults.push(...(await faultsOnScreens(page, 'invite')));
  await follow(page, '/sign-in');
  await page.getByLabel('E-mail').waitFor();
  await follow(page, '/accept-invite?token=x');
  await page.getByText('This link does not work').waitFor();
  faults.push(...(await faultsOnScreens(page, 'invite that is over')));
  await page.context().close();
  expect(faults).toEqual([]);
});

test('the page of an invite says who invites whom, and stays while another person signs out', async () => {
  const invite = { email: 'jane@example.com', role: 'editor' };
  const { token } = await post('/team/invites', invite);
  const page = await harness.openSignedIn();
  await follow(page, `/accept-invite?token=${word(token)}`);
  await page.getByText('Owner invites you to My workspace as editor.').waitFor();
  // Nobody but Jane joins by it. It stays while they sign out.
  await page.getByText(`${harness.owner.email}. The invite is for jane@example.com`).waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await expect.poll(() => page.getByLabel('E-mail').inputValue()).toBe('jane@example.com');
  expect(await page.getByLabel('Password').count()).toBe(1);
});
