/** The dashboard by keyboard alone, from the sign-in form on; and a secret, which no key takes away before it is saved. */
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { Client } from '../support/client.ts';
import { faultsOn } from './accessibility.ts';
import { useHarness } from './harness.ts';
import { makeCampaign, scan } from './seed.ts';

const harness = await useHarness();

/** Presses Tab until the control of this name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let pressed = 0; pressed < tabsMax; pressed += 1) {
    await page.keyboard.press('Tab');
    const here: unknown = await page.evaluate(
      `(({ ariaLabel, textContent }) => ariaLabel ?? textContent)(document.querySelector(':is(a, button):focus') ?? document.createElement('a'))`,
    );
    if (typeof here === 'string' && here.includes(name)) return;
  }
  throw new Error(`Cannot come to ${name}: expected it within ${tabsMax} presses of Tab`);
}
const tabsMax = 60;

test('keyboard only: sign in, create a code, change its destination, see its scan, sign out; the focus is never lost', async () => {
  const page = await harness.open();
  const { keyboard } = page;
  await page.goto('/team');
  await page.locator('input[name=email]:focus').waitFor();
  await keyboard.type(harness.owner.email);
  await keyboard.press('Tab');
  await keyboard.type(harness.owner.password);
  await keyboard.press('Enter');
  await page.locator('h1:focus', { hasText: 'Team' }).waitFor();
  await keyboard.type('gn');
  await page.locator('input[type=url]:focus, input:focus').waitFor();
  await keyboard.press('Enter');
  await page.locator('input[aria-invalid=true]:focus').waitFor();
  await keyboard.type('example.com/keys');
  await keyboard.press('Enter');
  await page.locator('h1:focus', { hasText: 'example.com/keys' }).waitFor();
  await tabTo(page, 'Change destination');
  await keyboard.press('Enter');
  // The old address is selected: what is typed takes its place.
  await page.locator('dialog input:focus').waitFor();
  await keyboard.type('example.com/other');
  await keyboard.press('Enter');
  await page.locator('button:focus', { hasText: 'Change it now' }).waitFor();
  await keyboard.press('Enter');
  await page.locator('button:focus', { hasText: 'Change destination' }).waitFor();
  const shortUrl = (await page.locator('a.short-url').getAttribute('href')) ?? '';
  expect((await scan(shortUrl)).headers.get('location')).toBe('https://example.com/other');
  await page.locator('.code-top .number').getByText('1', { exact: true }).waitFor();
  const otherTab = await page.context().newPage();
  await otherTab.goto('/');
  await otherTab.locator('.live-on').waitFor();
  await page.bringToFront();
  await tabTo(page, 'Account of');
  await keyboard.press('Enter');
  await page.locator('a:focus', { hasText: 'Profile and password' }).waitFor();
  await keyboard.press('Escape');
  await page.locator('.account:focus').waitFor();
  await keyboard.press('Enter');
  await page.locator('a:focus', { hasText: 'Profile and password' }).waitFor();
  await keyboard.press('End');
  await page.locator('button:focus', { hasText: 'Sign out' }).waitFor();
  await keyboard.press('Enter');
  await page.locator('input[name=email]:focus').waitFor();
  expect(new URL(page.url()).pathname).toBe('/sign-in');
  // Its stream has ended with the session, and nothing is shown there any longer.
  await otherTab.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.close();
});

/** Esc, a click outside the dialog, going back and reloading leave a secret that is not saved. */
async function keepsSecret(page: Page, path: string): Promise<void> {
  const asked: string[] = [];
  page.on('dialog', (dialog) => {
    asked.push(dialog.type());
    void dialog.dismiss();
  });
  await page.locator('dialog .copy-line button:focus').waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await page.mouse.click(4, 4);
  await page.evaluate('history.back()');
  await expect.poll(() => asked).toEqual(['confirm']);
  await page.evaluate('location.reload()');
  await expect.poll(() => asked).toEqual(['confirm', 'beforeunload']);
  expect(new URL(page.url()).pathname).toBe(path);
  expect(await page.locator('dialog[open] .copy-line').count()).toBe(1);
}

test('an API key is made, shown until it is saved, used, and revoked by typing its name', async () => {
  const page = await harness.openSignedIn();
  const button = (name: string) => page.getByRole('button', { name });
  await page.getByRole('link', { name: 'API keys' }).click();
  await button('New key').first().click();
  await page.getByLabel('Name').fill('Till');
  await button('Create key').click();
  const made = page.getByRole('dialog', { name: 'Your new key' });
  const key = (await made.locator('.copy-line code').textContent()) ?? '';
  await keepsSecret(page, '/settings/api-keys');
  await button('Copy the API key').click();
  await button('Copied').waitFor();
  await page.keyboard.press('Escape');
  await made.waitFor({ state: 'detached' });
  expect(await page.content()).not.toContain(key);
  await button('Rotate Till').click();
  await page.getByLabel('Keep the old key valid for').selectOption('Not at all');
  await page.getByRole('status').getByText('The old key stops working at once').waitFor();
  await button('Cancel').click();
  const program = new Client(harness.service.apiUrl, key);
  expect((await program.get('/v1/qr-codes')).status).toBe(200);
  await button('Revoke Till').click();
  const dialog = page.getByRole('dialog');
  expect(await dialog.getByRole('button', { name: 'Revoke' }).isDisabled()).toBe(true);
  await dialog.getByLabel(/Type/).fill('Till');
  await dialog.getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('Revoked', { exact: true }).waitFor();
  expect((await program.get('/v1/qr-codes')).status).toBe(401);
  await program.close();
  await page.close();
});

test('dialogs and menus are accessible too, and Esc closes them', async () => {
  const code = await harness.makeCode();
  await makeCampaign(harness, 'Summer menu', [code.id]);
  const page = await harness.openSignedIn(code.path, { scheme: 'dark' });
  const faults: string[] = [];
  for (const action of ['Change destination', 'Change campaigns', 'Delete this code']) {
    await page.getByRole('button', { name: action }).click();
    await page.getByRole('dialog').waitFor();
    faults.push(...(await faultsOn(page, action, 'dialog[open]')));
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  }
  await page.locator('.local-notice summary').click();
  await page.getByText('QZ_SHORT_URL_BASE').waitFor();
  faults.push(...(await faultsOn(page, 'local notice', '.local-notice')));
  await page.getByRole('button', { name: 'Download' }).click();
  await page.getByRole('link', { name: 'SVG Save' }).waitFor();
  faults.push(...(await faultsOn(page, 'download', '.menu')));
  await page.keyboard.press('Escape');
  await page.keyboard.type('gh');
  await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
  faults.push(...(await faultsOn(page, 'keyboard', 'dialog[open]')));
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.keyboard.type('gs');
  await page.getByRole('heading', { level: 1, name: 'Codes' }).waitFor();
  await page.locator('#code-search:focus').waitFor();
  expect(faults).toEqual([]);
});
