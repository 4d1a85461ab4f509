/** Where a code leads, in a browser: rules are written, ordered, refused, saved and tried, and a code is paused. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Json, word } from '../support/client.ts';
import { faultsOn } from './accessibility.ts';
import { openHarness, type Harness, waitMs } from './harness.ts';
import { scan, untilCounted } from './seed.ts';

const errandMs = waitMs * 6;

let harness: Harness;

beforeAll(async () => {
  harness = await openHarness();
}, errandMs);
afterAll(async () => {
  await harness.close();
});

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
const create = async (body: object): Promise<Json> =>
  (await harness.api.call('POST', '/v1/qr-codes', { body })).json;
const read = async (code: Json): Promise<Json> =>
  (await harness.api.call('GET', `/v1/qr-codes/${word(code.id)}`)).json;
const sentences = async (page: Page): Promise<string[]> =>
  (await page.locator('.rule-if').allInnerTexts()).map((text) => text.replace(/^Rule \d:\s+/, ''));

const ios = 'If the device is an iPhone or iPad';
const android = 'If the device runs Android';
const spanish = 'If the language is Spanish';
const open = 'If it is Monday to Friday, 11:00 to 22:00 (Berlin time)';

test(
  'the three recipes are filled in, refused at their fields, put in order by keys and pointer, and saved',
  async () => {
    const code = await create({ target: 'https://example.com/menu', name: 'Table 3' });
    const page = await harness.openSignedIn(`/codes/${word(code.id)}`);
    await button(page, 'Where it leads').click();
    await button(page, /^App stores/).click();
    // A recipe wants an address next.
    await page.keyboard.type('apps.example.com/ios');
    for (const recipe of ['Languages', 'Opening hours']) {
      await button(page, 'Add rule').click();
      await button(page, recipe).click();
    }
    expect(await sentences(page)).toEqual([ios, android, spanish, open, 'Everyone else']);
    const targets = page.getByLabel('Destination', { exact: true });
    expect(await targets.nth(0).inputValue()).toBe('apps.example.com/ios');
    await targets.nth(1).fill('javascript:alert(1)');
    await page.getByText('Parameters', { exact: true }).click();
    await page.getByLabel('UTM source').fill('{nobody}');
    await button(page, 'Save changes').click();
    await page.getByText('Not saved: some fields').waitFor();
    expect(await page.getByText('Enter a web address').count()).toBe(2);
    expect(await page.locator('[aria-invalid=true]').count()).toBe(4);
    expect(
      await targets.nth(1).evaluate((field) => field === field.ownerDocument.activeElement),
    ).toBe(true);
    await page.getByLabel('UTM source').fill('qr');
    for (const [at, path] of ['ios', 'android', 'es', 'order'].entries()) {
      await targets.nth(at).fill(`https://example.com/${path}`);
    }
    await page.getByRole('button', { name: 'Move rule 1' }).press('ArrowDown');
    await page.getByRole('status').getByText('It is now rule 2 of 4').waitFor();
    // The same rule goes on, with the focus on its handle.
    await page.keyboard.press('ArrowDown');
    await page.getByRole('status').getByText('It is now rule 3 of 4').waitFor();
    expect(await sentences(page)).toEqual([android, spanish, ios, open, 'Everyone else']);
    await button(page, 'Save changes').click();
    await page.getByText('Saved. Every print').waitFor();
    await drag(page, 4, 1);
    await expect
      .poll(async () => await sentences(page))
      .toEqual([open, android, spanish, ios, 'Everyone else']);
    await button(page, 'Save changes').click();
    await button(page, 'Save changes').waitFor({ state: 'detached' });
    const { rules, utm } = await read(code);
    expect(rules).toMatchObject([
      { label: 'hours', then: { target: 'https://example.com/order' } },
      { label: 'android' },
      { label: 'spanish', if: { language: ['es'] } },
      { label: 'ios', then: { target: 'https://example.com/ios' } },
    ]);
    expect(utm).toEqual({ source: 'qr' });
    await page.context().close();
  },
  errandMs,
);

/** Drags a rule onto the upper half of another one. @param from counted from 1 */
async function drag(page: Page, from: number, to: number): Promise<void> {
  const handle = await page.getByRole('button', { name: `Move rule ${from}` }).boundingBox();
  const row = await page
    .locator('.rule')
    .nth(to - 1)
    .boundingBox();
  if (handle === null || row === null) throw new Error('Cannot drag: there is no such rule');
  await page.mouse.move(handle.x + 10, handle.y + 10);
  await page.mouse.down();
  await page.mouse.move(row.x + 40, row.y + 5, { steps: 4 });
  await page.locator('.rule-before').waitFor({ state: 'attached' });
  await page.mouse.up();
}

test(
  'a rule is written from nothing: countries by name, a split by weight; it is tried, and the shares sum to 100',
  async () => {
    const code = await create({ target: 'https://example.com/menu', name: 'Table 4' });
    const page = await harness.openSignedIn(`/codes/${word(code.id)}?part=routes`);
    await button(page, 'A rule of your own').click();
    await page.getByText('Add condition').click();
    await button(page, 'Country').click();
    for (const name of ['germ', 'austria']) {
      await page.getByLabel('Countries').and(page.getByRole('searchbox')).fill(name);
      await page.keyboard.press('Enter');
    }
    expect(await sentences(page)).toEqual([
      'If the country is Germany or Austria',
      'Everyone else',
    ]);
    await page.getByLabel('Several, by weight').check();
    await page.getByRole('textbox', { name: 'Destination 1' }).fill('example.com/a');
    await page.getByRole('textbox', { name: 'Destination 2' }).fill('example.com/b');
    await page.getByLabel('Weight', { exact: true }).first().fill('20');
    await page.getByText('29 % of visitors').waitFor();
    await page.getByText('71 % of visitors').waitFor();
    await button(page, 'Save changes').click();
    await page.getByText('Saved. Every print').waitFor();
    const card = page.locator('.try-it');
    await card.getByLabel('Country').selectOption('Austria');
    await card.getByRole('button', { name: 'Try it' }).click();
    await card.getByText('Rule 1: If the country is Germany or Austria.').waitFor();
    expect(await card.locator('.found li').allInnerTexts()).toEqual([
      '29 % example.com/a',
      '71 % example.com/b',
    ]);
    await card.getByLabel('Country').selectOption('France');
    await card.getByRole('button', { name: 'Try it' }).click();
    await card.getByText('No rule holds.').waitFor();
    await page.context().close();
  },
  errandMs,
);

const routed = {
  target: 'https://example.com/menu',
  rules: [
    { label: 'phones', if: { device: ['mobile'] }, then: { target: 'https://example.com/app' } },
    {
      label: 'lunch',
      if: {
        os: ['iOS'],
        device: ['mobile'],
        browser: ['Safari'],
        language: ['de', 'pt-BR'],
        time: { days: ['mon', 'sun'], from: '22:00', to: '02:00', timezone: 'Europe/Berlin' },
        query: { table: '5' },
      },
      then: { target: 'https://example.com/lunch' },
    },
  ],
  split: [
    { label: 'a', target: 'https://example.com/a', weight: 1 },
    { label: 'b', target: 'https://example.com/b', weight: 2 },
  ],
  utm: { source: 'qr' },
};

test.each([
  { scheme: 'light', width: 1_440 },
  { scheme: 'dark', width: 390 },
] as const)(
  'every field of rules is accessible in $scheme, $width pixels wide; a warning stays at its rule',
  async (options) => {
    const code = await create({ ...routed, name: 'Table 5' });
    const page = await harness.openSignedIn(`/codes/${word(code.id)}?part=routes`, options);
    for (const rule of ['rule 1', 'rule 2', 'everyone else']) {
      await button(page, `Edit ${rule}`).click();
    }
    const faults = await faultsOn(page, 'fields');
    await page.getByLabel('UTM medium').fill('print');
    await button(page, 'Save changes').click();
    await page.getByText('It never wins: rule phones').waitFor();
    faults.push(...(await faultsOn(page, 'warning')));
    await page.context().close();
    expect(faults).toEqual([]);
  },
  errandMs,
);

test(
  'a code is paused and resumed with one button, and its scans are shown by route and in vain',
  async () => {
    const code = await create({ ...routed, name: 'Table 6' });
    const shortUrl = word(code.shortUrl);
    expect((await scan(shortUrl)).headers.get('location')).toContain('/app');
    const page = await harness.openSignedIn(`/codes/${word(code.id)}`);
    await button(page, 'Pause').click();
    await page.getByText('This code is paused').waitFor();
    expect((await scan(shortUrl)).status).toBe(410);
    await page.goto('/codes');
    await page.getByRole('row', { name: 'Table 6' }).getByText('Paused', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Table 6' }).click();
    await button(page, 'Resume').click();
    await page.getByText('This code is paused').waitFor({ state: 'detached' });
    expect((await scan(shortUrl)).status).toBe(302);
    await untilCounted(harness, 2);
    await page.reload();
    const routes = page.locator('.card', { hasText: 'By route' });
    await routes.getByText('phones').waitFor();
    const missed = page.locator('.card', { hasText: 'People who came in vain' });
    await missed.getByRole('listitem').getByText('Paused').waitFor();
    await page.context().close();
  },
  errandMs,
);

test(
  'what somebody else saves meanwhile is said, and neither change is lost',
  async () => {
    const code = await create({ ...routed, name: 'Table 8' });
    const path = `/v1/qr-codes/${word(code.id)}`;
    const page = await harness.openSignedIn(`/codes/${word(code.id)}?part=routes`);
    await page.getByLabel('When the code does not work').fill('example.com/closed');
    await harness.api.call('PATCH', path, { body: { rules: routed.rules.slice(0, 1) } });
    await button(page, 'Pause').click();
    await page.getByText('Somebody else has changed this meanwhile').waitFor();
    expect(await sentences(page)).toHaveLength(3);
    await button(page, 'Save changes').click();
    await page.getByText('Saved. Every print').waitFor();
    await expect.poll(async () => await sentences(page)).toHaveLength(2);
    expect(await read(code)).toMatchObject({
      rules: routed.rules.slice(0, 1),
      fallbackUrl: 'https://example.com/closed',
      paused: true,
    });
    await page.context().close();
  },
  errandMs,
);

test(
  'a change of destination says which rules still lead elsewhere, before and after, and leads to them',
  async () => {
    const rule = (language: string, target: string) => ({
      label: language,
      if: { language: [language] },
      then: { target },
    });
    const code = await create({
      target: 'https://example.com/before',
      name: 'Table 9',
      rules: [
        rule('fr', 'https://example.com/fr'),
        rule('es', 'https://example.com/es'),
        // Leads to the new destination.
        rule('en', 'https://example.com/after'),
      ],
    });
    const page = await harness.openSignedIn(`/codes/${word(code.id)}`);
    await page.locator('.code-top').getByText('3 rules still lead elsewhere').waitFor();
    await button(page, 'Change destination').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('New destination').fill('example.com/after');
    await dialog.getByText('2 rules still lead elsewhere').waitFor();
    await button(page, 'Continue').click();
    await dialog.getByRole('alert').getByText('2 rules still lead elsewhere').waitFor();
    expect(await dialog.getByRole('listitem').allInnerTexts()).toEqual([
      'If the language is French → example.com/fr',
      'If the language is Spanish → example.com/es',
    ]);
    expect(await faultsOn(page, 'change of destination')).toEqual([]);
    await button(page, 'Change it now').click();
    await page.getByText('Destination changed. 2 rules still lead elsewhere.').waitFor();
    await page.locator('.code-top').getByText('2 rules still lead elsewhere').waitFor();
    await button(page, 'Change destination').click();
    await dialog.getByRole('link', { name: 'Review where it leads' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.locator('.rules:focus').getByText('example.com/fr').waitFor();
    await page.context().close();
  },
  errandMs,
);

test(
  'a viewer reads the rules and tries them, and a static code has none',
  async () => {
    const code = await create({ ...routed, name: 'Table 7' });
    const text = await create({ type: 'text', target: 'Hello', dynamic: false, name: 'Sign' });
    const page = await harness.openSignedIn('/settings/data', { width: 390 });
    await page.route('**/v1/session', async (route) => {
      const response = await route.fetch();
      const body = (await response.text()).replace('"role":"owner"', '"role":"viewer"');
      await route.fulfill({ response, body });
    });
    await page.goto(`/codes/${word(code.id)}?part=routes`);
    await page.getByText('If the device is a phone').waitFor();
    for (const name of [/^Move rule/, /^Edit/, 'Add rule', 'Pause', 'Save changes']) {
      expect(await button(page, name).count()).toBe(0);
    }
    expect(await page.getByLabel('UTM source').isEditable()).toBe(false);
    await button(page, 'Try it').click();
    await page.locator('.found').getByText('Rule 1').waitFor();
    const faults = await faultsOn(page, 'viewer');
    await page.goto(`/codes/${word(text.id)}`);
    await button(page, 'Design').waitFor();
    expect(await button(page, 'Where it leads').count()).toBe(0);
    await page.context().close();
    expect(faults).toEqual([]);
  },
  errandMs,
);

test('the browser had nothing to complain of', () => {
  expect(harness.complaints).toEqual([]);
});
