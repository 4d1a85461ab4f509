/** What a person says on the pages of codes: written, previewed, saved, and read by a phone. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { roundLogo } from '../images/sample-designs.ts';
import { word } from '../support/client.ts';
import { soon } from '../support/soon.ts';
import { faultsOn } from './accessibility.ts';
import { type Harness, openHarness, waitMs } from './harness.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
}, waitMs * 4);
afterAll(() => harness.close());

test(
  'a brand and a German text reach the phone, as the preview shows them',
  async () => {
    const { api, service } = harness;
    const body = { target: 'https://example.com/', expiresAt: '2020-01-01T00:00:00Z' };
    const past = (await api.call('POST', '/v1/qr-codes', { body: { ...body, expiresAt: null } }))
      .json;
    await api.call('DELETE', `/v1/qr-codes/${word(past.id)}`);
    const page = await harness.openSignedIn('/settings/pages', { scheme: 'dark', width: 390 });
    const preview = page.frameLocator('iframe');
    await preview.getByRole('heading', { name: 'This code has expired' }).waitFor();
    await page.getByLabel('Name').fill('Old Town Bakery');
    await page.getByLabel('Where people can ask').fill('javascript:alert(1)');
    await page.getByRole('button', { name: 'Choose a color' }).click();
    await page.getByLabel('Color, as #rrggbb').fill('#ffd400');
    await page.getByLabel('The code is').selectOption('Deleted');
    await page.getByLabel('Language').selectOption('German');
    await page.getByLabel('Heading').fill('Das war einmal');
    await page.getByLabel('Text').fill('Die Aktion ist vorbei. <b>Bis bald!</b>');
    await page.getByRole('button', { name: 'Save pages' }).click();
    await page.getByText('Expected an address with https:').first().waitFor();
    await page.getByLabel('Where people can ask').fill('mailto:hello@bakery.example');
    await preview.getByRole('heading', { name: 'Das war einmal' }).waitFor();
    await preview.getByRole('link', { name: 'Kontakt aufnehmen' }).waitFor();
    const background = preview.locator('body');
    const color = async () =>
      await background.evaluate(
        (body) => body.ownerDocument.defaultView?.getComputedStyle(body).backgroundColor,
      );
    await expect.poll(color, soon).toBe('rgb(246, 246, 243)');
    await page.getByRole('radio', { name: 'Dark' }).check();
    await expect.poll(color, soon).toBe('rgb(19, 20, 22)');
    const logo = { name: 'logo.svg', mimeType: 'image/svg+xml', buffer: Buffer.from(roundLogo) };
    await page.getByLabel('Logo').setInputFiles(logo);
    await preview.getByRole('img', { name: 'Old Town Bakery' }).waitFor();
    expect(await faultsOn(page, 'pages')).toEqual([]);
    await page.getByRole('button', { name: 'Save pages' }).click();
    await page.getByText('Pages saved.').waitFor();
    await page.reload();
    await page.getByLabel('The code is').selectOption('Deleted');
    await page.getByLabel('Language').selectOption('German · your text');
    expect(await page.getByLabel('Heading').inputValue()).toBe('Das war einmal');
    const path = new URL(word(past.shortUrl)).pathname;
    const read = async () => {
      const headers = { 'accept-language': 'de-AT,de;q=0.9' };
      return await (await fetch(`${service.redirectUrl}${path}`, { headers })).text();
    };
    await expect.poll(read, soon).toMatch(/alt="Old Town Bakery".*Das war einmal/);
    expect(await read()).toContain('&lt;b&gt;Bis bald!');
    await page.close();
    expect(harness.complaints).toEqual([]);
  },
  waitMs * 4,
);
