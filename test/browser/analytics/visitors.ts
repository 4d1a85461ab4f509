/**
 * The Analytics page for tests: a code of six visitors in a campaign, another code of one, and a page of a browser that
 * all tests of a file share.
 */
import { expect } from 'vitest';
import { whileOneDay } from '../../support/soon.ts';
import { useHarness } from '../harness.ts';
import { android, iphone, makeCampaign, scan, untilCounted, type Visitor } from '../seed.ts';

/** Three in Germany, of whom one has an Android phone; two in France; one in Switzerland. */
const visitors: readonly Visitor[] = [
  ['193.99.144.80', iphone],
  ['193.99.144.81', iphone],
  ['194.25.0.60', android],
  ['80.67.169.12', iphone],
  ['80.67.169.13', android],
  ['62.2.24.162', iphone],
];

/** For one test file: "Table 12" with six scans, "Summer menu", which has that code, and a page. */
export async function useAnalytics() {
  await whileOneDay();
  const harness = await useHarness();
  const code = await harness.makeCode({ name: 'Table 12' });
  const poster = await harness.makeCode({ name: 'Poster' });
  const campaignId = await makeCampaign(harness, 'Summer menu', [code.id]);
  for (const visitor of visitors) await scan(code.shortUrl, ...visitor);
  await scan(poster.shortUrl);
  await untilCounted(harness, visitors.length + 1);
  const page = await harness.openSignedIn();
  /** Waits until the page shows so many, and nothing more is on its way. */
  const scansShown = async (scans: number): Promise<void> => {
    const figure = page.locator('.figure', { has: page.getByText('Scans', { exact: true }) });
    const shown = async () => await figure.first().locator('.figure-value').innerText();
    await expect.poll(shown).toBe(String(scans));
    await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
  };
  /** A row of a list, by which it filters. */
  const row = (list: string, name: string) =>
    page.getByRole('list', { name: list }).getByRole('button', { name });
  return { harness, page, code, campaignId, scansShown, row };
}
