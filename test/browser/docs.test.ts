/**
 * The reference and the guides as a reader meets them: legible on a phone, searched by keyboard, samples copied,
 * each field at an address of its own; and all of it there without a script.
 */
import { expect, test } from 'vitest';
import { faultsOn, faultsOnScreens, screens, showOn, tooWide } from './accessibility.ts';
import { useHarness } from './harness.ts';

/** About two words of this page's text. */
const cellWidthMin = 150;

const harness = await useHarness();
/** One for all tests: each goes to an address of its own. */
const page = await harness.open();

/** What a script in the page finds, as lines. */
async function linesOf(script: string): Promise<string[]> {
  const found: unknown = await page.evaluate(script);
  return Array.isArray(found) ? found.map(String) : [`no list: ${String(found)}`];
}

const openAll = `document.querySelectorAll('main details').forEach((one) => (one.open = true))`;
const narrowCells = `[...document.querySelectorAll('main td, main .fields > div > div')]
  .filter((cell) => cell.clientWidth < ${cellWidthMin} && cell.textContent.trim().length > 24)
  .map((cell) => cell.clientWidth + ' px: ' + cell.textContent.slice(0, 60))`;

/** Operations share one markup: axe reads one with a body and one with parameters, and all that is around them. */
const keepTwoOperations = `document.querySelectorAll('article.operation:not(#createQrCode, #listQrCodes)')
  .forEach((one) => one.remove())`;

/** The end of a row is over the samples of the page, and nothing of it may be in front. */
const coveredRows = `(() => {
  const { bottom } = document.querySelector('#found').getBoundingClientRect();
  const rows = [...document.querySelectorAll('#found [role=option]')]
    .map((row) => ({ row, box: row.getBoundingClientRect() }))
    .filter(({ box }) => box.bottom <= bottom);
  const covered = rows.filter(
    ({ row, box }) => !row.contains(document.elementFromPoint(box.right - 4, box.top + box.height / 2)));
  return [rows.length > 3, ...covered.map(({ row }) => row.innerText)];
})()`;

test('on a phone and on a wide screen no cell is a word wide, what a search finds lies over the page, and axe finds no fault', async () => {
  for (const path of ['/docs/settings', '/docs/webhooks', '/docs']) {
    await page.goto(path);
    await page.evaluate(openAll);
    for (const screen of screens) {
      await showOn(page, screen);
      expect([path, await linesOf(narrowCells)]).toEqual([path, []]);
      expect(await tooWide(page, path)).toEqual([]);
      if (path !== '/docs') continue;
      if (screen.scheme === 'dark') await expectWholeSample();
      await page.getByRole('combobox').fill('secret');
      await page.getByRole('option').first().waitFor();
      expect(await linesOf(coveredRows)).toEqual(['true']);
    }
    if (path === '/docs/settings') continue;
    await page.getByRole('combobox').fill('');
    await page.getByRole('listbox').waitFor({ state: 'hidden' });
    await page.evaluate(keepTwoOperations);
    // The reference has all the styles of a guide.
    const isGuide = path !== '/docs';
    const faults = isGuide
      ? faultsOn(page, path, 'html', 'every')
      : faultsOnScreens(page, path, 'every');
    expect(await faults).toEqual([]);
  }
});

/** A copy button hides nothing of its sample. */
async function expectWholeSample(): Promise<void> {
  const sample = page.locator('.sample').first();
  const button = await sample.getByRole('button', { name: 'Copy' }).boundingBox();
  const text = await sample.locator('code').boundingBox();
  if (button === null || text === null) throw new Error('Expected a sample with its button');
  expect(text.y).toBeGreaterThanOrEqual(button.y + button.height);
}

test('Ctrl+K leads to the search, which finds operations, fields and guides', async () => {
  // An address that is not valid UTF-8 stops nothing.
  await page.goto('/docs#%E0%A4%A');
  const found = page.getByRole('option');
  const search = async (text: string): Promise<string> => {
    await page.getByRole('combobox').blur();
    await page.keyboard.press('Control+k');
    await page.keyboard.type(text);
    await found.first().waitFor();
    return await found.first().innerText();
  };
  expect(await search('create a qr')).toContain('POST /v1/qr-codes');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/docs#createQrCode');
  // Accents and case are folded, and words may come in any order.
  expect(await search('CODÉ a cŕeate qr')).toContain('POST /v1/qr-codes');
  expect(await search('logoscale')).toContain('logoScale');
  await page.keyboard.press('Enter');
  await page.waitForURL('**.design.logoScale');
  await page.locator('.fields > div:target').waitFor();
  expect(await search('verify webhooks')).toContain('Verify webhooks');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/docs/verify-webhooks#verify-webhooks');
  await page.getByRole('combobox').fill('nothing is called so');
  await page.getByText('Nothing is called that here.').waitFor();
});

test('every field says its type and what it is, those in objects too; a sample is copied', async () => {
  await page.goto('/docs#createQrCode.body.design.logo');
  const logo = page.locator('[id="createQrCode.body.design.logo"]');
  // Opened by its address.
  expect(await logo.isVisible()).toBe(true);
  expect(await logo.innerText()).toMatch(
    /logo\s+string, at most [\d,]+ characters\s+A stored logo/,
  );
  const bare = await linesOf(
    `[...document.querySelectorAll('.fields > div')]
      .filter((field) => [...field.children].some((part) => part.textContent.trim() === '') ||
        field.querySelector('span:last-child').textContent.trim() === '')
      .map((field) => field.id)`,
  );
  expect(bare).toEqual([]);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto('/docs#createCampaign');
  const operation = page.locator('#createCampaign');
  await operation.getByText('As curl').click();
  const sample = operation.locator('.sample').last();
  await sample.getByRole('button', { name: 'Copy' }).click();
  await sample.getByRole('button', { name: 'Copied' }).waitFor();
  const copied: unknown = await page.evaluate('navigator.clipboard.readText()');
  expect(copied).toBe(await sample.locator('code').innerText());
  expect(copied).toMatch(/^curl ".*\/v1\/campaigns" \\\n/);
});

test('without a script everything is there but search and copying', async () => {
  const protocol = await page.context().newCDPSession(page);
  await protocol.send('Emulation.setScriptExecutionDisabled', { value: true });
  await page.goto('/docs');
  expect(await page.getByRole('heading', { name: 'Create a QR code' }).isVisible()).toBe(true);
  expect(await page.getByRole('link', { name: 'Webhooks', exact: true }).isVisible()).toBe(true);
  expect(await page.getByRole('combobox').count()).toBe(0);
  expect(await page.getByRole('button').count()).toBe(0);
});
