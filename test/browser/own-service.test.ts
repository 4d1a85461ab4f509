/** The dashboard of services with other settings: the operator confirms plans, nothing is sold, TLS of its own. */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { testPrices } from '../support/fakes/prices.ts';
import { freePorts, runCommand } from '../support/process.ts';
import { signIn, useOwnService } from './harness.ts';

const billing = await useOwnService({ QZ_BILLING_CONFIRMED_BY: 'operator' });

async function run(...args: string[]): Promise<string> {
  const { code, stdout } = await runCommand(args, {
    QZ_DATA_DIR: billing.service.dataDir,
    QZ_BILLING_CONFIRMED_BY: 'operator',
  });
  expect([args, code]).toEqual([args, 0]);
  return stdout;
}

/** The checkout that waits, as the operator finds it. */
async function confirmWaiting(): Promise<void> {
  const [{ id }]: [{ id: string }] = JSON.parse(await run('billing', 'list', '--json'));
  await run('billing', 'confirm', id);
}

test('a plan and a dearer one wait for the operator in view, and start by themselves', async () => {
  const page = await billing.openSignedIn('/billing');
  // The dialog before it says that a plan waits for the operator, too.
  const waitsForOperator = page.getByText('Waiting for the operator', { exact: true });
  await page.getByRole('button', { name: 'Downgrade' }).first().waitFor();
  const choose = async (plan: string, action: string): Promise<void> => {
    await page.locator('.plan', { hasText: plan }).getByRole('button').click();
    await page
      .getByRole('dialog')
      .getByText(/operator of this installation/)
      .waitFor();
    await page.getByRole('dialog').getByRole('button', { name: action }).click();
  };
  await page.locator('.plan', { hasText: 'Starter' }).getByRole('button').click();
  await page.getByRole('dialog').getByText('You cannot come back to Enterprise').waitFor();
  await page.keyboard.press('Escape');
  await choose('Starter', 'Go to checkout');
  await waitsForOperator.waitFor();
  await page.getByText(/^quietzone billing confirm chk_/).waitFor();
  expect(await page.getByRole('button', { name: 'Confirm' }).count()).toBe(0);
  await page.getByRole('link', { name: 'Billing' }).first().click();
  await page.getByText('Waiting for the operator of this installation.').waitFor();
  await page.getByRole('link', { name: 'Open checkout' }).click();
  await waitsForOperator.waitFor();
  await confirmWaiting();
  // Another process confirmed it: the stream looks for that every 15 s.
  await page.getByText('Your plan is active').waitFor();
  await page.getByText('Starter · owner').first().waitFor();

  await page.getByRole('link', { name: 'Go to billing' }).click();
  await choose('Pro', 'Change plan');
  await waitsForOperator.waitFor();
  await page.getByText('Starter · owner').first().waitFor();
  await confirmWaiting();
  await page.goto('/billing');
  await page.getByText('Pro · owner').first().waitFor();
  await choose('Starter', 'Change plan');
  await page.getByText('You are now on Starter.').waitFor();
});

const noPrices = Object.fromEntries(Object.keys(testPrices).map((name) => [name, '0']));
const free = await useOwnService(noPrices);

test('without prices the page shows usage alone, and how plans change', async () => {
  const page = await free.openSignedIn('/billing');
  await page.getByText('Requests this minute').waitFor();
  const content = page.locator('#content');
  expect(await content.getByRole('heading', { level: 2 }).allInnerTexts()).toEqual(['Usage']);
  expect(await content.getByText(/€|Upgrade|Downgrade|subscription/).count()).toBe(0);
  await content.getByText('Plans have no prices here.').waitFor();
  await content.getByRole('link', { name: 'how to set plans and prices' }).waitFor();
});

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../fixtures/receiver-tls/${name}`, import.meta.url));
const ports = await freePorts();
const plainPort = (await freePorts()).api;
const tls = await useOwnService(
  {
    QZ_API_PUBLIC_URL: `https://127.0.0.1:${ports.api}`,
    QZ_API_TLS_CERT_FILE: fixture('certificate.pem'),
    QZ_API_TLS_KEY_FILE: fixture('key.pem'),
    QZ_API_HTTP_PORT: String(plainPort),
  },
  ports,
);

test('a person who comes over plain HTTP signs in over TLS, where the Secure cookie is kept, and makes a code', async () => {
  const page = await tls.open();
  await signIn(page, `http://127.0.0.1:${plainPort}/codes`, tls.owner);
  expect(page.url()).toMatch(`${tls.service.apiUrl}/codes`);
  const [cookie] = await page.context().cookies();
  expect(cookie).toMatchObject({ name: '__Host-quietzone', secure: true, httpOnly: true });
  await page.reload();
  await page.locator('.frame').waitFor();
  await page.goto('/codes/new');
  await page.getByLabel('Web address', { exact: true }).fill('https://example.com/tls');
  await page.getByLabel('Name').fill('Over TLS');
  await page.getByRole('button', { name: 'Create code' }).click();
  await page.getByRole('heading', { level: 1, name: 'Over TLS' }).waitFor();
});
