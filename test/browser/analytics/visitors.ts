/**
 * The Analytics page for tests: a code of six visitors in a campaign, another code of one, and a page of a browser that
 * all tests of a file share.
 */
import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import { word } from '../../support/client.ts';
import { openHarness, type Harness, waitMs } from '../harness.ts';
import { scan, untilCounted } from '../seed.ts';

const agents = {
  iphone:
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1',
  pixel:
    'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Mobile Safari/537.36',
} as const;
/** Three in Germany, of whom one has an Android phone; two in France; one in Switzerland. */
const visitors: ReadonlyArray<readonly [address: string, agent: string]> = [
  ['193.99.144.80', agents.iphone],
  ['193.99.144.81', agents.iphone],
  ['194.25.0.60', agents.pixel],
  ['80.67.169.12', agents.iphone],
  ['80.67.169.13', agents.pixel],
  ['62.2.24.162', agents.iphone],
];

export interface Analytics {
  readonly harness: Harness;
  readonly page: Page;
  /** Of "Table 12", with six scans. */
  readonly codeId: string;
  /** Of "Summer menu", which has that code. */
  readonly campaignId: string;
  /** Waits until the page shows so many, and nothing more is on its way. */
  readonly scansShown: (scans: number) => Promise<void>;
  /** A row of a list, by which it filters. */
  readonly row: (list: string, name: string) => Locator;
}

export async function openAnalytics(): Promise<Analytics> {
  const harness = await openHarness();
  const post = async (path: string, body: unknown) =>
    (await harness.api.call('POST', `/v1${path}`, { body })).json;
  const codeNamed = (name: string) =>
    post('/qr-codes', { target: 'https://example.com/menu', name });
  const [table, poster] = [await codeNamed('Table 12'), await codeNamed('Poster')];
  const codeId = word(table.id);
  const startDate = new Date().toISOString().slice(0, 10);
  const body = { name: 'Summer menu', startDate, qrCodeIds: [codeId] };
  const campaignId = word((await post('/campaigns', body)).id);
  for (const [address, agent] of visitors) await scan(word(table.shortUrl), address, agent);
  await scan(word(poster.shortUrl), ...visitors[0]!);
  await untilCounted(harness, visitors.length + 1);
  const page = await harness.openSignedIn('/settings/data');
  const scansShown = async (scans: number): Promise<void> => {
    const figure = page.locator('.figure', { has: page.getByText('Scans', { exact: true }) });
    const shown = async () => await figure.first().locator('.figure-value').innerText();
    await expect.poll(shown, { timeout: waitMs }).toBe(String(scans));
    await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
  };
  const row = (list: string, name: string) =>
    page.getByRole('list', { name: list }).getByRole('button', { name });
  return { harness, page, codeId, campaignId, scansShown, row };
}
