/** What breaks a rule of WCAG 2.2 AA that axe can see, and what is wider than the screen. */
import axe from 'axe-core';
import type { Page } from 'playwright-core';

const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

/** Rule, element and reason of everything that axe finds. */
async function faultsOf(page: Page): Promise<string[]> {
  // The policy lets no script in by a tag: it is run by the protocol, as the developer tools do.
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axe.source);
  const found: unknown = await page.evaluate(
    `axe.run(document, { runOnly: ${JSON.stringify(tags)}, resultTypes: ['violations'] })
      .then(({ violations }) => violations.flatMap(({ id, nodes }) =>
        nodes.map(({ target, failureSummary }) => id + ' ' + target + ': ' + failureSummary)))`,
  );
  return Array.isArray(found) ? found.map(String) : ['axe gave no list'];
}

/** Pixels by which the page is wider than the screen. */
async function overflowOf(page: Page): Promise<unknown> {
  return await page.evaluate('document.documentElement.scrollWidth - innerWidth');
}

/** Of a page that is named so: what axe finds, and by how much it is wider than the screen. */
export async function faultsOn(page: Page, name: string): Promise<string[]> {
  const faults = (await faultsOf(page)).map((fault) => `${name}: ${fault}`);
  const overflow = await overflowOf(page);
  return typeof overflow === 'number' && overflow > 0
    ? [...faults, `${name}: ${overflow} pixels too wide`]
    : faults;
}
