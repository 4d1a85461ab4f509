/** The billing pages where the operator confirms, and where nothing is sold. */
import { expect, onTestFinished, test } from 'vitest';
import { testPrices } from '../support/fakes/prices.ts';
import { runCommand } from '../support/process.ts';
import { openOwnService, type Harness, waitMs } from './harness.ts';

async function open(environment: Readonly<Record<string, string>>): Promise<Harness> {
  const harness = await openOwnService(environment);
  onTestFinished(() => harness.close());
  return harness;
}

async function run(harness: Harness, ...args: string[]): Promise<string> {
  const { code, stdout } = await runCommand(args, {
    QZ_DATA_DIR: harness.service.dataDir,
    QZ_BILLING_CONFIRMED_BY: 'operator',
  });
  expect([args, code]).toEqual([args, 0]);
  return stdout;
}

/** The checkout that waits, as the operator finds it. */
async function confirmWaiting(harness: Harness): Promise<void> {
  const [{ id }]: [{ id: string }] = JSON.parse(await run(harness, 'billing', 'list', '--json'));
  await run(harness, 'billing', 'confirm', id);
}

test(
  'a plan and a dearer one wait for the operator in view, and start by themselves',
  async () => {
    const harness = await open({ QZ_BILLING_CONFIRMED_BY: 'operator' });
    const page = await harness.openSignedIn('/billing');
    // The dialog before it says that a plan waits for the operator, too.
    const waitsForOperator = page.getByText('Waits for the operator', { exact: true });
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
    await page.getByText('It waits for the operator of this installation.').waitFor();
    await page.getByRole('link', { name: 'Open checkout' }).click();
    await waitsForOperator.waitFor();
    await confirmWaiting(harness);
    // Another process confirmed it: the stream looks for that every 15 s.
    await page.getByText('Your plan is active').waitFor();
    await page.getByText('Starter · owner').first().waitFor();

    await page.getByRole('link', { name: 'Go to billing' }).click();
    await choose('Pro', 'Change plan');
    await waitsForOperator.waitFor();
    await page.getByText('Starter · owner').first().waitFor();
    await confirmWaiting(harness);
    await page.goto('/billing');
    await page.getByText('Pro · owner').first().waitFor();
    await choose('Starter', 'Change plan');
    await page.getByText('You are now on Starter.').waitFor();
    expect(harness.complaints).toEqual([]);
  },
  waitMs * 6,
);

test(
  'without prices the page shows usage alone, and how plans change',
  async () => {
    const harness = await open(
      Object.fromEntries(Object.keys(testPrices).map((name) => [name, '0'])),
    );
    const page = await harness.openSignedIn('/billing');
    await page.getByText('Requests this minute').waitFor();
    const content = page.locator('#content');
    expect(await content.getByRole('heading', { level: 2 }).allInnerTexts()).toEqual(['Usage']);
    expect(await content.getByText(/€|Upgrade|Downgrade|subscription/).count()).toBe(0);
    await content.getByText('Plans have no prices here.').waitFor();
    await content.getByRole('link', { name: 'how to set plans and prices' }).waitFor();
    expect(harness.complaints).toEqual([]);
  },
  waitMs * 6,
);
