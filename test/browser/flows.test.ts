/**
 * What people do in the dashboard, done by a browser against the real service: each test is one errand,
 * from the first click to what the service then says or sends.
 */
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readAny, scanBoth } from '../images/read-image.ts';
import { Client, word } from '../support/client.ts';
import { openReceiver, type Receiver } from '../support/fakes/receiver.ts';
import { oneDayMs, whileOneDay } from '../support/soon.ts';
import { openHarness, owner, type Harness, signIn, waitMs } from './harness.ts';
import { scan } from './seed.ts';

/** A test is an errand of several waits. */
const errandMs = 180_000;

let harness: Harness;
let receiver: Receiver;

beforeAll(async () => {
  await whileOneDay();
  receiver = await openReceiver({ kind: 'answer', status: 503, body: 'not today' });
  harness = await openHarness({ QZ_WEBHOOKS_RETRY_DELAYS_MS: '50,50,50,50,50,50,50' });
}, oneDayMs);
afterAll(async () => {
  await harness.close();
  await receiver.close();
});

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });

/** Makes a code through the form, and ends on its page. */
async function createCode(page: Page, target: string, name: string): Promise<string> {
  await page.goto('/codes/new');
  await page.getByLabel('Web address', { exact: true }).fill(target);
  await page.getByLabel('Name').fill(name);
  await button(page, 'Create code').click();
  await page.getByRole('heading', { level: 1, name }).waitFor();
  return new URL(page.url()).pathname.split('/').at(-1) ?? '';
}

test(
  'a first code is created from the welcome page, scanned, and counted live',
  async () => {
    const page = await harness.openSignedIn('/');
    await page.getByLabel('Web address').fill('example.com/menu');
    await button(page, 'Create code').click();
    const link = page.locator('a.short-url');
    await link.waitFor();
    // Codes of this service are for this machine alone.
    await page.getByText('Your first code is ready. Before you print it').waitFor();
    const shortUrl = (await link.getAttribute('href')) ?? '';
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.locator('.live-on').waitFor();
    const today = page.locator('.figure').first().locator('.figure-value');
    await today.getByText('0', { exact: true }).waitFor();
    const answer = await scan(shortUrl);
    expect([answer.status, answer.headers.get('location')]).toEqual([
      302,
      'https://example.com/menu',
    ]);
    await today.getByText('1', { exact: true }).waitFor();
    await page.locator('.feed').getByText('Scan of').first().waitFor();
    await scan(shortUrl);
    await today.getByText('2', { exact: true }).waitFor();
    await page.context().close();
  },
  errandMs,
);

test(
  'a code gets another destination after a confirmation, and its history shows it',
  async () => {
    const page = await harness.openSignedIn('/');
    const id = await createCode(page, 'https://example.com/before', 'Table 7');
    const code = (await harness.api.call('GET', `/v1/qr-codes/${id}`)).json;
    await button(page, 'Change destination').click();
    await page.getByLabel('New destination').fill('https://example.com/after');
    await button(page, 'Continue').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('https://example.com/before').waitFor();
    const place = async () => (await scan(word(code.shortUrl))).headers.get('location');
    expect(await place()).toBe('https://example.com/before');
    await button(page, 'Change it now').click();
    await dialog.waitFor({ state: 'detached' });
    expect(await place()).toBe('https://example.com/after');
    const today = page.getByRole('slider', { name: /^Scans by/ });
    await expect.poll(() => today.getAttribute('aria-valuetext')).toMatch(/; Destination changed$/);
    await button(page, 'History').click();
    await page.locator('.attempt').getByText('https://example.com/before').waitFor();
    await page.context().close();
  },
  errandMs,
);

test(
  'a design that cannot be scanned is refused in view, a good one is saved, downloaded and decoded',
  async () => {
    const page = await harness.openSignedIn('/');
    const id = await createCode(page, 'https://example.com/design', 'Poster');
    await button(page, 'Design').click();
    const colour = page.getByLabel('Dot colour, as #rrggbb');
    await colour.fill('#eeeeee');
    await page.getByText('Cannot be scanned').waitFor();
    expect(await button(page, 'Save design').isDisabled()).toBe(true);
    await colour.fill('#0f3d91');
    await page.getByRole('group', { name: 'Dots' }).getByLabel('Rounded').check();
    await page.getByText('Scans well').waitFor();
    await button(page, 'Save design').click();
    await page.getByText('Design saved').waitFor();
    const code = (await harness.api.call('GET', `/v1/qr-codes/${id}`)).json;
    const text = word(code.shortUrl).toUpperCase();
    const files = [
      ['png', 'PNG 2048 px', 2_048],
      ['webp', 'WebP 512 px', 512],
      ['svg', 'SVG Save', 512],
      ['pdf', 'PDF 100 mm', 283],
      ['eps', 'EPS 200 mm', 567],
    ] as const;
    for (const [format, link, edge] of files) {
      await button(page, 'Download').click();
      const download = page.waitForEvent('download', { timeout: waitMs });
      await page.getByRole('link', { name: link }).click();
      const saved = await download;
      expect(saved.suggestedFilename()).toBe(`Poster.${format}`);
      const picture = await readAny(await readFile(await saved.path()), format);
      expect([format, Math.abs(picture.width - edge) <= 1]).toEqual([format, true]);
      expect(await scanBoth(picture), format).toEqual([text, text]);
    }
    await page.context().close();
  },
  errandMs,
);

test(
  'an invited person joins by the link and is in the team',
  async () => {
    const page = await harness.openSignedIn('/team');
    await button(page, 'Invite').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('E-mail').fill('jane@example.com');
    await dialog.getByRole('button', { name: 'Invite' }).click();
    const link = (await dialog.locator('.copy-line code').textContent()) ?? '';
    expect(link).toContain('/accept-invite?token=');
    await button(page, 'I have saved it').click();
    const guest = await harness.open();
    await guest.goto(link);
    await guest.getByLabel('Name').fill('Jane');
    await guest.getByLabel('Password').fill('a password of Jane');
    await button(guest, 'Join').click();
    await guest.getByText('You have joined as editor').waitFor();
    expect(guest.url()).not.toContain('token');
    await guest.goto(link);
    await guest.getByRole('alert').getByText('This invite was accepted already').waitFor();
    expect(await guest.getByRole('textbox').count()).toBe(0);
    await signIn(guest, '/team', { email: 'jane@example.com', password: 'a password of Jane' });
    await guest.getByText('jane@example.com').first().waitFor();
    expect(await button(guest, 'Invite').count()).toBe(0);
    await page.reload();
    await page.locator('td').getByText('Jane', { exact: true }).waitFor();
    const role = page.getByLabel('Role of Jane');
    await role.selectOption('Admin');
    await button(page, 'Cancel').click();
    await expect.poll(() => role.inputValue()).toBe('editor');
    await role.selectOption('Viewer');
    await button(page, 'Change role').click();
    await page.getByText('Jane is now viewer').waitFor();
    const members = (await harness.api.call('GET', '/v1/team/members')).items;
    expect(members.find(({ email }) => word(email) === 'jane@example.com')?.role).toBe('viewer');
    await guest.context().close();
    await page.context().close();
  },
  errandMs,
);

/** Neither Esc, nor a click beside the dialog, nor going back or reloading takes a secret away that is not saved. */
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

test(
  'an API key is made, shown until it is saved, used, and revoked by typing its name',
  async () => {
    const page = await harness.openSignedIn('/');
    await page.getByRole('link', { name: 'API keys' }).click();
    await button(page, 'New key').first().click();
    await page.getByLabel('Name').fill('Till');
    await button(page, 'Create key').click();
    const made = page.getByRole('dialog', { name: 'Your new key' });
    const key = (await made.locator('.copy-line code').textContent()) ?? '';
    await keepsSecret(page, '/settings/api-keys');
    await button(page, 'Copy the API key').click();
    await button(page, 'Copied').waitFor();
    await page.keyboard.press('Escape');
    await made.waitFor({ state: 'detached' });
    expect(await page.content()).not.toContain(key);
    await button(page, 'Rotate Till').click();
    await page.getByLabel('Keep the old key valid for').selectOption('Not at all');
    await page.getByRole('status').getByText('The old key ends at once').waitFor();
    await button(page, 'Cancel').click();
    const program = new Client(harness.service.apiUrl, key);
    expect((await program.call('GET', '/v1/qr-codes')).status).toBe(200);
    await button(page, 'Revoke Till').click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByRole('button', { name: 'Revoke' }).isDisabled()).toBe(true);
    await dialog.getByLabel(/Type/).fill('Till');
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('Revoked', { exact: true }).waitFor();
    expect((await program.call('GET', '/v1/qr-codes')).status).toBe(401);
    await program.close();
    await page.context().close();
  },
  errandMs,
);

test(
  'a webhook’s delivery fails, dies, and is replayed under the same event id',
  async () => {
    const page = await harness.openSignedIn('/settings/webhooks');
    await button(page, 'New endpoint').first().click();
    const form = page.getByRole('dialog');
    await form.getByLabel('Endpoint address').fill(receiver.url('/hooks'));
    await form.getByLabel('All events, including future kinds').uncheck();
    await form.getByLabel('qr.scanned').uncheck();
    await form.getByLabel('qr.created').check();
    await button(page, 'Create endpoint').click();
    await page.getByText('Shown only once').waitFor();
    await button(page, 'I have saved it').click();
    const body = { target: 'https://example.com/hooked' };
    await harness.api.call('POST', '/v1/qr-codes', { body });
    const died = await receiver.arrived(8, waitMs);
    // The page shows what is committed when it is opened: the last answer is on its way.
    const deadLetters = async () =>
      (await harness.api.call('GET', '/v1/webhooks/dead-letters')).items;
    await expect.poll(deadLetters, { timeout: waitMs, interval: 200 }).toHaveLength(1);
    await page.goto('/settings/webhooks/dead-letters');
    await page.getByRole('link', { name: 'qr.created' }).click();
    await page.getByText('HTTP 503').first().waitFor();
    await page.getByText('not today').first().waitFor();
    receiver.behave({ kind: 'answer', status: 200 });
    await button(page, 'Replay').click();
    // The page of the new delivery follows it by itself.
    await page.locator('.page-lead').getByText('Delivered').waitFor();
    const all = await receiver.arrived(9, waitMs);
    const [first, last] = [died[0], all.at(-1)];
    expect(last?.body.equals(first?.body ?? Buffer.alloc(0))).toBe(true);
    await page.goBack();
    await page.context().close();
  },
  errandMs,
);

test(
  'a file of codes is imported with its bad rows named, and the list is exported',
  async () => {
    const page = await harness.openSignedIn('/codes/import');
    const rows = Array.from(
      { length: 300 },
      (_, index) => `https://example.com/row/${index},Row ${index}`,
    );
    const csv = ['target,name', ...rows, 'not an address,Bad row'].join('\n');
    await page
      .getByLabel('Choose a file')
      .setInputFiles({ name: 'codes.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });
    await page.getByText('300 codes created').waitFor();
    await page.getByRole('row', { name: /301/ }).waitFor();
    await page.getByRole('link', { name: 'View codes' }).click();
    // One word: `Row 299` is two, and a random short code may have the second.
    await page.getByLabel('Search').fill('com/row/299');
    await page.waitForURL(/search=com/);
    await page.getByRole('link', { name: 'Row 299' }).waitFor();
    const download = page.waitForEvent('download', { timeout: waitMs });
    await button(page, 'Export').click();
    const text = await readFile(await (await download).path(), 'utf8');
    expect(text.match(/example\.com\/row\/\d+/g)).toEqual(['example.com/row/299']);
    await page.getByLabel('Search').fill('no such code');
    await page.getByRole('link', { name: 'Clear filters' }).click();
    await page.getByRole('link', { name: 'Row 299' }).waitFor();
    await expect.poll(() => page.getByLabel('Search').inputValue()).toBe('');
    await page.context().close();
  },
  errandMs,
);

test(
  'a plan is bought, cancelled and resumed',
  async () => {
    const page = await harness.openSignedIn('/settings/workspace');
    await page.getByLabel('Workspace name').fill('Second shop');
    await button(page, 'Create workspace').click();
    await page.getByText('no codes yet').waitFor();
    await page.getByRole('link', { name: 'Billing' }).click();
    await page
      .locator('.plan', { hasText: 'Pro' })
      .getByRole('button', { name: 'Upgrade' })
      .click();
    await button(page, 'Go to checkout').click();
    await page.locator('.bill-price').getByText('€29 a month').waitFor();
    await button(page, 'Confirm and start the plan').click();
    await page.getByText('Your plan is active').waitFor();
    await page.getByRole('link', { name: 'Go to billing' }).click();
    await button(page, 'Cancel plan').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Keep Pro' }).waitFor();
    expect(await page.getByText('You cannot come back').count()).toBe(0);
    await page.getByRole('dialog').getByLabel('Reason').fill('The season is over');
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel plan' }).click();
    await page.getByText('Ends', { exact: true }).waitFor();
    await button(page, 'Resume plan').click();
    await page.getByText('Renews').waitFor();
    await page.context().close();
  },
  errandMs,
);

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

test(
  'keyboard only: sign in, create a code, change its destination, see its scan, sign out; the focus is never lost',
  async () => {
    const page = await harness.open();
    const { keyboard } = page;
    await page.goto('/team');
    await page.locator('input[name=email]:focus').waitFor();
    await keyboard.type(owner.email);
    await keyboard.press('Tab');
    await keyboard.type(owner.password);
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
    await page.context().close();
  },
  errandMs,
);

test('the browser had nothing to complain of', () => {
  expect(harness.complaints).toEqual([]);
});
