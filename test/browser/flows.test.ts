/**
 * What people do in the dashboard, done by a browser against the real service: each test is one errand,
 * from the first click to what the service then says or sends.
 */
import { readFile } from 'node:fs/promises';
import { afterAll, expect, test } from 'vitest';
import { word } from '../support/client.ts';
import { openReceiver } from '../support/fakes/receiver.ts';
import { whileOneDay } from '../support/soon.ts';
import { follow } from './addresses.ts';
import { useHarness } from './harness.ts';
import { scan } from './seed.ts';

await whileOneDay();
const receiver = await openReceiver({ kind: 'answer', status: 503, body: 'not today' });
afterAll(() => receiver.close());
const harness = await useHarness();
const { api, makeCode } = harness;
/** The owner's, for all tests: they go on by links, as a person does. */
const page = await harness.openSignedIn('/');

const button = (name: string | RegExp, of = page) => of.getByRole('button', { name });

test('a first code is created from the welcome page, scanned, and counted live', async () => {
  await page.getByLabel('Web address').fill('example.com/menu');
  await button('Create code').click();
  const link = page.locator('a.short-url');
  await link.waitFor();
  // Codes of this service are for this machine alone.
  await page.getByText('Your first code is ready. Before you print it').waitFor();
  const shortUrl = (await link.getAttribute('href')) ?? '';
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.locator('.live-on').waitFor();
  const today = page.locator('.figure').first().locator('.figure-value');
  await today.getByText('0', { exact: true }).waitFor();
  expect((await scan(shortUrl)).headers.get('location')).toBe('https://example.com/menu');
  await today.getByText('1', { exact: true }).waitFor();
  await page.locator('.feed').getByText('Scan of').first().waitFor();
  await scan(shortUrl);
  await today.getByText('2', { exact: true }).waitFor();
});

test('a design that cannot be scanned is refused in view, a good one is saved and downloaded', async () => {
  const code = await makeCode({ name: 'Poster' });
  await follow(page, `${code.path}?part=design`);
  const color = page.getByLabel('Dot color, as #rrggbb');
  await color.fill('#eeeeee');
  await page.getByText('Cannot be scanned').waitFor();
  expect(await button('Save design').isDisabled()).toBe(true);
  // No picture of another design stands beside it.
  const picture = page.getByAltText('How the code will look');
  expect(await picture.count()).toBe(0);
  await color.fill('#0f3d91');
  await page.getByRole('group', { name: 'Dots' }).getByLabel('Rounded').check();
  await page.getByText('Scans well').waitFor();
  expect(await picture.count()).toBe(1);
  await button('Save design').click();
  await page.getByText('Design saved').waitFor();
  await button('Download').click();
  // What these addresses answer: test/api/images.test.ts.
  const files = [
    ['PNG 2048 px', 'png?size=2048&download=1'],
    ['WebP 512 px', 'webp?size=512&download=1'],
    ['PDF 100 mm', 'pdf?mm=100&download=1'],
    ['EPS 200 mm', 'eps?mm=200&download=1'],
  ] as const;
  for (const [name, path] of files) {
    const link = page.getByRole('link', { name });
    expect(await link.getAttribute('href')).toBe(`/i/${code.id}.${path}`);
  }
  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: 'SVG Save' }).click();
  const saved = await download;
  expect(saved.suggestedFilename()).toBe('Poster.svg');
  // The drawing reads as the short address: test/api/images.whole.test.ts. This one has the design that was saved.
  expect(await readFile(await saved.path(), 'utf8')).toContain('#0f3d91');
});

test('an invited person joins by the link and is in the team', async () => {
  await follow(page, '/team');
  await button('Invite').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('E-mail').fill('jane@example.com');
  await dialog.getByRole('button', { name: 'Invite' }).click();
  const link = (await dialog.locator('.copy-line code').textContent()) ?? '';
  expect(link).toContain('/accept-invite?token=');
  await button('I have saved it').click();
  const guest = await harness.open();
  await guest.goto(link);
  await guest.getByLabel('Name').fill('Jane');
  await guest.getByLabel('Password').fill('a password of Jane');
  await button('Join', guest).click();
  await guest.getByText('You have joined as editor').waitFor();
  expect(guest.url()).not.toContain('token');
  await follow(guest, '/sign-in');
  await guest.getByLabel('Password').waitFor();
  await follow(guest, link);
  await guest.getByRole('alert').getByText('This invite was accepted already').waitFor();
  expect(await guest.getByRole('textbox').count()).toBe(0);
  await follow(guest, '/team');
  await guest.getByLabel('E-mail').fill('jane@example.com');
  await guest.getByLabel('Password').fill('a password of Jane');
  await button('Sign in', guest).click();
  await guest.getByText('jane@example.com').first().waitFor();
  expect(await button('Invite', guest).count()).toBe(0);
  await page.reload();
  await page.locator('td').getByText('Jane', { exact: true }).waitFor();
  const role = page.getByLabel('Role of Jane');
  await role.selectOption('Admin');
  await button('Cancel').click();
  await expect.poll(() => role.inputValue()).toBe('editor');
  await role.selectOption('Viewer');
  await button('Change role').click();
  await page.getByText('Jane is now viewer').waitFor();
  const members = (await api.get('/v1/team/members')).items;
  expect(members.find(({ email }) => word(email) === 'jane@example.com')?.role).toBe('viewer');
  await guest.context().close();
});

test('a blocked endpoint is refused; the delivery of another fails, dies, and is replayed under the same event id', async () => {
  await follow(page, '/settings/webhooks');
  await button('New endpoint').first().click();
  const form = page.getByRole('dialog');
  await form.getByLabel('Endpoint address').fill('http://192.168.1.7/hooks');
  await form.getByLabel('All events, including future kinds').uncheck();
  await form.getByLabel('qr.scanned').uncheck();
  await form.getByLabel('qr.created').check();
  await button('Create endpoint').click();
  // The setting that opens it.
  await form.getByText('webhooks.allowNetworks').waitFor();
  await form.getByLabel('Endpoint address').fill(receiver.url('/hooks'));
  await button('Create endpoint').click();
  await page.getByText('Shown only once').waitFor();
  await button('I have saved it').click();
  await makeCode();
  const died = await receiver.arrived(8);
  // The page shows what is committed when it is opened: the last answer is on its way.
  const deadLetters = async () => (await api.get('/v1/webhooks/dead-letters')).items;
  await expect.poll(deadLetters, { interval: 200 }).toHaveLength(1);
  await follow(page, '/settings/webhooks/dead-letters');
  await page.getByRole('link', { name: 'qr.created' }).click();
  await page.getByText('HTTP 503').first().waitFor();
  await page.getByText('not today').first().waitFor();
  const time = page.locator('.attempt time').first();
  expect(await time.innerText()).toMatch(/\d\d:\d\d:\d\d/);
  receiver.behave({ kind: 'answer', status: 200 });
  await button('Replay').click();
  // The page of the new delivery follows it by itself.
  await page.locator('.page-lead').getByText('Delivered').waitFor();
  const all = await receiver.arrived(9);
  const [first, last] = [died[0], all.at(-1)];
  expect(last?.body.equals(first?.body ?? Buffer.alloc(0))).toBe(true);
});

test('a plan is bought, cancelled and resumed', async () => {
  await follow(page, '/settings/workspace');
  await page.getByLabel('Workspace name').fill('Second shop');
  await button('Create workspace').click();
  await page.getByText('no codes yet').waitFor();
  await page.getByRole('link', { name: 'Billing' }).click();
  await page.locator('.plan', { hasText: 'Pro' }).getByRole('button', { name: 'Upgrade' }).click();
  await button('Go to checkout').click();
  await page.locator('.bill-price').getByText('€29 a month').waitFor();
  await button('Confirm and start the plan').click();
  await page.getByText('Your plan is active').waitFor();
  await page.getByRole('link', { name: 'Go to billing' }).click();
  await button('Cancel plan').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Keep Pro' }).waitFor();
  expect(await page.getByText('You cannot come back').count()).toBe(0);
  await page.getByRole('dialog').getByLabel('Reason').fill('The season is over');
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel plan' }).click();
  await page.getByText('Ends', { exact: true }).waitFor();
  await button('Resume plan').click();
  await page.getByText('Renews').waitFor();
});
