/** Where a code leads, in a browser: rules are written, ordered, refused, saved and tried. */
import { expect, test } from 'vitest';
import { faultsOn } from './accessibility.ts';
import { follow } from './addresses.ts';
import { changeAnswers, type MadeCode, useHarness } from './harness.ts';

const harness = await useHarness();
const { api, makeCode } = harness;
/** One for all tests: each goes to a code of its own, by a link. */
const page = await harness.openSignedIn();

const button = (name: string | RegExp) => page.getByRole('button', { name });
/** Makes a code of this name and opens this part of its page. */
async function openCode(name: string, part: string, fields: object = {}): Promise<MadeCode> {
  const code = await makeCode({ name, ...fields });
  await follow(page, `${code.path}?part=${part}`);
  await page.getByRole('heading', { level: 1, name }).waitFor();
  return code;
}
const read = async ({ id }: MadeCode) => (await api.get(`/v1/qr-codes/${id}`)).json;
const sentences = async (): Promise<string[]> =>
  (await page.locator('.rule-if').allInnerTexts()).map((text) => text.replace(/^Rule \d:\s+/, ''));

const ios = 'If the device is an iPhone or iPad';
const android = 'If the device runs Android';
const spanish = 'If the language is Spanish';
const open = 'If it is Monday to Friday, 11:00 to 22:00 (Berlin time)';

test('the three recipes are filled in, refused at their fields, put in order by keys and pointer, and saved', async () => {
  const code = await openCode('Table 3', 'details');
  await button('Where it leads').click();
  await button(/^App stores/).click();
  // A recipe wants an address next.
  await page.keyboard.type('apps.example.com/ios');
  for (const recipe of ['Languages', 'Opening hours']) {
    await button('Add rule').click();
    await button(recipe).click();
  }
  expect(await sentences()).toEqual([ios, android, spanish, open, 'Everyone else']);
  const targets = page.getByLabel('Destination', { exact: true });
  expect(await targets.nth(0).inputValue()).toBe('apps.example.com/ios');
  await targets.nth(1).fill('javascript:alert(1)');
  await page.getByText('Parameters', { exact: true }).click();
  await page.getByLabel('UTM source').fill('{nobody}');
  await button('Save changes').click();
  await page.getByText('Not saved: correct the marked fields').waitFor();
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
  expect(await sentences()).toEqual([android, spanish, ios, open, 'Everyone else']);
  await button('Save changes').click();
  await page.getByText('Saved. The new rules').waitFor();
  await drag(4, 1);
  await expect
    .poll(async () => await sentences())
    .toEqual([open, android, spanish, ios, 'Everyone else']);
  await button('Save changes').click();
  await button('Save changes').waitFor({ state: 'detached' });
  const { rules, utm } = await read(code);
  expect(rules).toMatchObject([
    { label: 'hours', then: { target: 'https://example.com/order' } },
    { label: 'android' },
    { label: 'spanish', if: { language: ['es'] } },
    { label: 'ios', then: { target: 'https://example.com/ios' } },
  ]);
  expect(utm).toEqual({ source: 'qr' });
});

/** Drags a rule onto the upper half of another one. @param from counted from 1 */
async function drag(from: number, to: number): Promise<void> {
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

test('a rule is written from nothing: countries by name, a split by weight; it is tried, and the shares sum to 100', async () => {
  await openCode('Table 4', 'routes');
  await button('Your own rule').click();
  await page.getByText('Add condition').click();
  await button('Country').click();
  for (const name of ['germ', 'austria']) {
    await page.getByLabel('Countries').and(page.getByRole('searchbox')).fill(name);
    await page.keyboard.press('Enter');
  }
  expect(await sentences()).toEqual(['If the country is Germany or Austria', 'Everyone else']);
  await page.getByLabel('Several, by weight').check();
  await page.getByRole('textbox', { name: 'Destination 1' }).fill('example.com/a');
  await page.getByRole('textbox', { name: 'Destination 2' }).fill('example.com/b');
  await page.getByLabel('Weight', { exact: true }).first().fill('20');
  await page.getByText('29 % of visitors').waitFor();
  await page.getByText('71 % of visitors').waitFor();
  await button('Save changes').click();
  await button('Save changes').waitFor({ state: 'detached' });
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
  await card.getByText('No rule matches.').waitFor();
});

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

test('every field of rules is accessible and fits a phone; a warning stays at its rule', async () => {
  await openCode('Table 5', 'routes', routed);
  for (const rule of ['rule 1', 'rule 2', 'everyone else']) {
    await button(`Edit ${rule}`).click();
  }
  await page.getByLabel('UTM medium').fill('print');
  await button('Save changes').click();
  await page.getByText('It never wins: rule phones').waitFor();
  await page.setViewportSize({ width: 390, height: 900 });
  expect(await faultsOn(page, 'fields and warning', '.routing')).toEqual([]);
  await page.setViewportSize({ width: 1_440, height: 900 });
});

test('what somebody else saves meanwhile is said, and neither change is lost', async () => {
  const code = await openCode('Table 8', 'routes', routed);
  await page.getByLabel('Fallback').fill('example.com/closed');
  await api.patch(`/v1/qr-codes/${code.id}`, { rules: routed.rules.slice(0, 1) });
  await button('Pause').click();
  await page.getByText('Someone else changed these rules').waitFor();
  expect(await sentences()).toHaveLength(3);
  await button('Save changes').click();
  await button('Save changes').waitFor({ state: 'detached' });
  await expect.poll(async () => await sentences()).toHaveLength(2);
  expect(await read(code)).toMatchObject({
    rules: routed.rules.slice(0, 1),
    fallbackUrl: 'https://example.com/closed',
    paused: true,
  });
});

test('a viewer reads the rules and tries them, and a static code has none', async () => {
  const code = await makeCode({ ...routed, name: 'Table 7' });
  await page.setViewportSize({ width: 390, height: 900 });
  await changeAnswers(page, /\/v1\/session$/, ({ workspace }) => ({
    workspace: { ...workspace, role: 'viewer' },
  }));
  await page.goto(`${code.path}?part=routes`);
  await page.getByText('If the device is a phone').waitFor();
  for (const name of [/^Move rule/, /^Edit/, 'Add rule', 'Pause', 'Save changes']) {
    expect(await button(name).count()).toBe(0);
  }
  expect(await page.getByLabel('UTM source').isEditable()).toBe(false);
  await button('Try it').click();
  await page.locator('.found').getByText('Rule 1').waitFor();
  const faults = await faultsOn(page, 'viewer', 'main');
  await openCode('Sign', 'details', { type: 'text', target: 'Hello', dynamic: false });
  await button('Design').waitFor();
  expect(await button('Where it leads').count()).toBe(0);
  expect(faults).toEqual([]);
});
