/** What breaks a rule of WCAG 2.2 AA that axe can see, and what is wider than the screen. */
import axe from 'axe-core';
import type { Locator, Page } from 'playwright-core';

const ruleSets = {
  /** Good practice, too, and not the rules alone. */
  every: undefined,
  all: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'],
  /** Those that depend on colors and widths. The others read the markup, which is the same on every screen. */
  look: {
    type: 'rule',
    values: ['color-contrast', 'link-in-text-block', 'target-size', 'scrollable-region-focusable'],
  },
} as const;
type RuleSet = keyof typeof ruleSets;

/** Selector of what is looked at; or more than one, and what is left out. */
export type Part =
  | string
  | { readonly include: readonly string[]; readonly exclude: readonly string[] };

/**
 * Colors on their way from one theme to the other, or of what was dimmed while it loaded, are of neither; a child sets out
 * when its parent has arrived. A frame that is not drawn moves nothing on: after a second they are as they are.
 */
async function arrived(page: Page): Promise<void> {
  await page.evaluate(`(async () => {
    const moving = () => document.getAnimations().filter((one) => one instanceof CSSTransition);
    const late = performance.now() + 1000;
    while (moving().length > 0 && performance.now() < late) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  })()`);
}

/** Rule, element and reason of everything that axe finds. */
async function faultsOf(page: Page, part: Part, rules: RuleSet): Promise<string[]> {
  // The policy lets no script in by a tag: it is run by the protocol, as the developer tools do.
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axe.source);
  await arrived(page);
  const found: unknown = await page.evaluate(
    // It would wait half a second for an answer of a frame, which has no axe.
    `axe.run(${JSON.stringify(part)}, { runOnly: ${JSON.stringify(ruleSets[rules])}, resultTypes: ['violations'], iframes: false })
      .then(({ violations }) => violations.flatMap(({ id, nodes }) =>
        nodes.map(({ target, failureSummary }) => id + ' ' + target + ': ' + failureSummary)))`,
  );
  return Array.isArray(found) ? found.map(String) : ['axe gave no list'];
}

type Side = 'scrollWidth' | 'clientWidth' | 'scrollHeight' | 'clientHeight';
/** Pixels of an element that are cut off, across and down. */
export const hiddenOf = (place: Locator): Promise<number[]> =>
  place.evaluate((element: Readonly<Record<Side, number>>) => [
    element.scrollWidth - element.clientWidth,
    element.scrollHeight - element.clientHeight,
  ]);

/** By how much a page that is named so is wider than the screen; none where it fits. */
export async function tooWide(page: Page, name: string): Promise<string[]> {
  const pixels: number = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
  return pixels > 0 ? [`${name}: ${pixels} pixels too wide`] : [];
}

/** Of a page that is named so: what axe finds, and by how much it is wider than the screen. */
export async function faultsOn(
  page: Page,
  name: string,
  part: Part = 'html',
  rules: RuleSet = 'all',
): Promise<string[]> {
  const faults = (await faultsOf(page, part, rules)).map((fault) => `${name}: ${fault}`);
  return [...faults, ...(await tooWide(page, name))];
}

/** The two that differ in their styles. The last is the one that pages open on. */
export const screens = [
  { scheme: 'dark', width: 390 },
  { scheme: 'light', width: 1_440 },
] as const;

/** Shows the same document on another screen. */
export async function showOn(
  page: Page,
  { scheme, width }: (typeof screens)[number],
): Promise<void> {
  await page.emulateMedia({ colorScheme: scheme });
  await page.setViewportSize({ width, height: 900 });
  // Pages of documents and shared numbers have no theme of their own.
  const shown = `html[data-theme=${scheme}], html:not([data-theme])`;
  await page.locator(shown).waitFor({ state: 'attached' });
  await arrived(page);
}

/** What is wrong on each of the two screens, in the same document. */
export async function faultsOnScreens(
  page: Page,
  name: string,
  rules: RuleSet = 'all',
): Promise<string[]> {
  const faults: string[] = [];
  for (const screen of screens) {
    await showOn(page, screen);
    const rulesHere = screen.scheme === 'light' ? rules : 'look';
    faults.push(...(await faultsOn(page, `${name}, ${screen.scheme}`, 'html', rulesHere)));
  }
  return faults;
}
