/** What pages warn of and explain: failed attempts, codes for this machine alone, old geo data, an invite for another person. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { word } from '../support/client.ts';
import { openReceiver, type Receiver } from '../support/fakes/receiver.ts';
import { follow } from './addresses.ts';
import { openHarness, type Harness, waitMs } from './harness.ts';

const testMs = 180_000;

let harness: Harness;
let receiver: Receiver;
let codeId: string;
let page: Page;

beforeAll(async () => {
  receiver = await openReceiver({ kind: 'answer', status: 500, body: 'not today' });
  harness = await openHarness();
  codeId = word((await post('/qr-codes', { target: 'https://example.com/menu' })).id);
  page = await harness.openSignedIn('/settings/data');
}, testMs);
afterAll(async () => {
  await harness.close();
  await receiver.close();
});

async function post(path: string, body: unknown) {
  return (await harness.api.call('POST', `/v1${path}`, { body })).json;
}

test(
  'attempts are told to the second, and a blocked address names the setting that opens it',
  async () => {
    await post('/webhooks', { url: receiver.url('/hooks'), events: ['qr.created'] });
    await post('/qr-codes', { target: 'https://example.com/hooked' });
    await receiver.arrived(2, waitMs);
    await follow(page, '/settings/webhooks');
    await page.getByRole('link', { name: '/hooks' }).click();
    await page.getByRole('link', { name: 'qr.created' }).click();
    const times = page.locator('.attempt time');
    await times.first().waitFor();
    expect(await times.first().innerText()).toMatch(/\d\d:\d\d:\d\d/);
    await follow(page, '/settings/webhooks');
    await page.getByRole('button', { name: 'New endpoint' }).first().click();
    const form = page.getByRole('dialog');
    await form.getByLabel('Endpoint address').fill('http://192.168.1.7/hooks');
    await form.getByRole('button', { name: 'Create endpoint' }).click();
    await form.getByText('webhooks.allowNetworks').waitFor();
    await page.keyboard.press('Escape');
    await form.waitFor({ state: 'detached' });
  },
  testMs,
);

test(
  'codes for this machine alone come with what to do, on every page and before a download',
  async () => {
    await follow(page, `/codes/${codeId}?part=details`);
    const notice = page.locator('.local-notice');
    await notice.getByText(new URL(harness.service.redirectUrl).host).waitFor();
    await notice.getByText('What to do').click();
    await notice.getByText('QZ_SHORT_URL_BASE=http://192.168.').waitFor();
    await page.getByRole('button', { name: 'Download' }).click();
    await page.getByText('no phone can open its address').waitFor();
    await page.route(/\/v1\/session$/, async (route) => {
      const response = await route.fetch();
      const shortLinks = { base: 'https://go.example.com', local: false };
      await route.fulfill({ response, json: { ...(await response.json()), shortLinks } });
    });
    await page.goto('/codes/new');
    await page.getByLabel('Web address', { exact: true }).fill('example.com/far');
    await page.getByRole('button', { name: 'Create code' }).click();
    await page.getByText('It already works').waitFor();
    await page.getByRole('button', { name: 'Download' }).click();
    await page.getByRole('link', { name: 'SVG' }).waitFor();
    expect(await page.getByText('no phone can open').count()).toBe(0);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  },
  testMs,
);

test(
  'settings and analytics name the date of the geo data, and warn of old data',
  async () => {
    let geoDate = new Date().toISOString().slice(0, 10);
    await page.route(/\/v1\/session$/, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), geoDate } });
    });
    const warning = page.getByText('Geo data of 2020-01-05 is over 180 days old: update Quietzone');
    for (const path of ['/settings/workspace', '/analytics']) {
      geoDate = new Date().toISOString().slice(0, 10);
      await page.goto(path);
      await page.getByText(/data of .*20\d\d/i).waitFor();
      expect(await warning.count()).toBe(0);
      geoDate = '2020-01-05';
      await page.goto(path);
      await page.getByText(/data of .*2020$|, data of .*2020\./i).waitFor();
      await warning.waitFor();
    }
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  },
  testMs,
);

test(
  'the page of an invite says who invites whom, and stays while another person signs out',
  async () => {
    const { token } = await post('/team/invites', { email: 'jane@example.com', role: 'editor' });
    await follow(page, `/accept-invite?token=${word(token)}`);
    await page.getByText('Owner invites you to My workspace as editor.').waitFor();
    // Nobody but Jane joins by it. It stays while they sign out.
    await page.getByText(`${harness.owner.email}. The invite is for jane@example.com`).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await expect.poll(() => page.getByLabel('E-mail').inputValue()).toBe('jane@example.com');
    expect(await page.getByLabel('Password').count()).toBe(1);
  },
  testMs,
);

test('the browser had nothing to complain of', () => {
  expect(harness.complaints).toEqual([]);
});
