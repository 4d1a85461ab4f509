/**
 * What people do in the dashboard, done by a browser against the real service: each test is one errand,
 * from the first click to what the service then says or sends.
 */
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readAny, scanBoth } from '../images/read-image.ts';
import { Client, word } from '../support/client.ts';
import { openReceiver, type Receiver } from '../support/receiver.ts';
import { openRig, type Rig, signIn, waitMs } from './rig.ts';
import { scan } from './seed.ts';

/** A test is an errand of several waits. */
const errandMs = 90_000;

let rig: Rig;
let receiver: Receiver;

beforeAll(async () => {
  receiver = await openReceiver({ kind: 'answer', status: 503, body: 'not today' });
  rig = await openRig({ QZ_WEBHOOKS_RETRY_DELAYS_MS: '50,50,50,50,50,50,50' });
}, errandMs);
afterAll(async () => {
  await rig.close();
  await receiver.close();
});

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });

/** Makes a code through the form, and ends on its page. */
async function createCode(page: Page, target: string, name: string): Promise<string> {
  await page.goto('/codes/new');
  await page.getByLabel('Web address', { exact: true }).fill(target);
  await page.getByLabel('Name').fill(name);
  await button(page, 'Make the code').click();
  await page.getByRole('heading', { level: 1, name }).waitFor();
  return new URL(page.url()).pathname.split('/').at(-1) ?? '';
}

test(
  'a first code is made from the welcome, scanned, and counted before one’s eyes',
  async () => {
    const page = await rig.openSignedIn('/');
    await page.getByLabel('Web address').fill('example.com/menu');
    await button(page, 'Make the code').click();
    const link = page.locator('a.short-url');
    await link.waitFor();
    const shortUrl = (await link.getAttribute('href')) ?? '';
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByText('As it happens').waitFor();
    const today = page.locator('.figure').first().locator('.figure-value');
    expect(await today.textContent()).toBe('0');
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
  'a code is sent elsewhere after a confirmation, and remembers it',
  async () => {
    const page = await rig.openSignedIn('/');
    const id = await createCode(page, 'https://example.com/before', 'Table 7');
    const code = (await rig.api.call('GET', `/v1/qr-codes/${id}`)).json;
    await button(page, 'Change where it leads').click();
    await page.getByLabel('New address').fill('https://example.com/after');
    await button(page, 'Go on').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('https://example.com/before').waitFor();
    expect((await scan(word(code.shortUrl))).headers.get('location')).toBe(
      'https://example.com/before',
    );
    await button(page, 'Change it now').click();
    await dialog.waitFor({ state: 'detached' });
    expect((await scan(word(code.shortUrl))).headers.get('location')).toBe(
      'https://example.com/after',
    );
    await button(page, 'History').click();
    await page.locator('.attempt').getByText('https://example.com/before').waitFor();
    await page.context().close();
  },
  errandMs,
);

test(
  'a design that cannot be scanned is refused in view, a good one is saved, downloaded and decoded',
  async () => {
    const page = await rig.openSignedIn('/');
    const id = await createCode(page, 'https://example.com/design', 'Poster');
    await button(page, 'Design').click();
    const colour = page.getByLabel('Dots’ colour, as #rrggbb');
    await colour.fill('#eeeeee');
    await page.getByText('Cannot be scanned').waitFor();
    expect(await button(page, 'Save the design').isDisabled()).toBe(true);
    await colour.fill('#0f3d91');
    await page.getByRole('group', { name: 'Dots' }).getByLabel('Rounded').check();
    await page.getByText('Scans well').waitFor();
    await button(page, 'Save the design').click();
    await page.getByText('The design is saved').waitFor();
    await button(page, 'Download').click();
    const download = page.waitForEvent('download', { timeout: waitMs });
    await page.getByRole('link', { name: /PNG/ }).click();
    const file = await (await download).path();
    const code = (await rig.api.call('GET', `/v1/qr-codes/${id}`)).json;
    const text = word(code.shortUrl).toUpperCase();
    expect(await scanBoth(await readAny(await readFile(file), 'png'))).toEqual([text, text]);
    await page.context().close();
  },
  errandMs,
);

test(
  'somebody is invited, joins by the link, and is in the team',
  async () => {
    const page = await rig.openSignedIn('/team');
    await button(page, 'Invite').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('E-mail').fill('jane@example.com');
    await dialog.getByRole('button', { name: 'Invite' }).click();
    const link = (await dialog.locator('.copy-line code').textContent()) ?? '';
    expect(link).toContain('/accept-invite?token=');
    await button(page, 'Done').click();
    const guest = await rig.open();
    await guest.goto(link);
    await guest.getByLabel('Name').fill('Jane');
    await guest.getByLabel('Password').fill('a password of Jane');
    await button(guest, 'Join').click();
    await guest.getByText('You have joined as editor').waitFor();
    expect(guest.url()).not.toContain('token');
    await signIn(guest, '/team', { email: 'jane@example.com', password: 'a password of Jane' });
    await guest.getByText('jane@example.com').first().waitFor();
    expect(await button(guest, 'Invite').count()).toBe(0);
    await page.reload();
    await page.locator('td').getByText('Jane', { exact: true }).waitFor();
    await guest.context().close();
    await page.context().close();
  },
  errandMs,
);

test(
  'an API key is made, shown once, used, and revoked by typing its name',
  async () => {
    const page = await rig.openSignedIn('/settings/api-keys');
    await button(page, 'New key').click();
    await page.getByLabel('Name').fill('Till');
    await button(page, 'Make the key').click();
    const key = (await page.locator('.copy-line code').textContent()) ?? '';
    await button(page, 'I have it').click();
    expect(await page.content()).not.toContain(key);
    const program = new Client(rig.service.apiUrl, key);
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
    const page = await rig.openSignedIn('/settings/webhooks');
    await button(page, 'New endpoint').click();
    const form = page.getByRole('dialog');
    await form.getByLabel('Address').fill(receiver.url('/hooks'));
    await form.getByLabel('All, also those to come').uncheck();
    await form.getByLabel('qr.scanned').uncheck();
    await form.getByLabel('qr.created').check();
    await button(page, 'Make the endpoint').click();
    await page.getByText('It is shown this once').waitFor();
    await button(page, 'I have it').click();
    const body = { target: 'https://example.com/hooked' };
    await rig.api.call('POST', '/v1/qr-codes', { body });
    const died = await receiver.arrived(8, waitMs);
    await page.goto('/settings/webhooks/dead-letters');
    await page.getByRole('link', { name: 'qr.created' }).click();
    await page.getByText('It answered with 503').first().waitFor();
    await page.getByText('not today').first().waitFor();
    receiver.behave({ kind: 'answer', status: 200 });
    await button(page, 'Replay').click();
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
    const page = await rig.openSignedIn('/codes/import');
    const rows = Array.from(
      { length: 300 },
      (_, index) => `https://example.com/row/${index},Row ${index}`,
    );
    const csv = ['target,name', ...rows, 'not an address,Bad row'].join('\n');
    await page
      .getByLabel('Choose a file')
      .setInputFiles({ name: 'codes.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });
    await page.getByText('300 codes made').waitFor();
    await page.getByRole('row', { name: /301/ }).waitFor();
    await page.getByRole('link', { name: 'Show the codes' }).click();
    await page.getByLabel('Search').fill('Row 299');
    await page.waitForURL(/search=Row/);
    await page.getByRole('link', { name: 'Row 299' }).waitFor();
    const download = page.waitForEvent('download', { timeout: waitMs });
    await button(page, 'Export').click();
    const text = await readFile(await (await download).path(), 'utf8');
    expect(text.match(/example\.com\/row\/\d+/g)).toEqual(['example.com/row/299']);
    await page.getByLabel('Search').fill('no such code');
    await page.getByRole('link', { name: 'Clear the filters' }).click();
    await page.getByRole('link', { name: 'Row 299' }).waitFor();
    expect(await page.getByLabel('Search').inputValue()).toBe('');
    await page.context().close();
  },
  errandMs,
);

test(
  'a plan is bought, cancelled and gone on with',
  async () => {
    const page = await rig.openSignedIn('/settings/workspace');
    await page.getByLabel('Its name').fill('Second shop');
    await button(page, 'Make it, and go there').click();
    await page.getByText('no codes yet').waitFor();
    await page.getByRole('link', { name: 'Billing' }).click();
    await page
      .locator('.plan', { hasText: 'Pro' })
      .getByRole('button', { name: 'Upgrade' })
      .click();
    await button(page, 'Go to checkout').click();
    await button(page, 'Confirm as an owner').click();
    await page.getByText('The plan has started').waitFor();
    await page.getByRole('link', { name: 'To billing' }).click();
    await button(page, 'Cancel the plan').click();
    await page.getByRole('dialog').getByLabel('Why').fill('The season is over');
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the plan' }).click();
    await page.getByText('Free from').waitFor();
    await button(page, 'Go on with it').click();
    await page.getByText('Renews').waitFor();
    await page.context().close();
  },
  errandMs,
);

test('the browser had nothing to complain of', () => {
  expect(rig.complaints).toEqual([]);
});
