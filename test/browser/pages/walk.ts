/**
 * A walk over pages, light on a wide screen and on the Free plan: each shows its data, has a title, breaks no rule of WCAG 2.2 AA
 * that axe can see (every second page, others each day), is not wider than the screen, and asks a number of requests that
 * does not grow with what it shows.
 */
import type { Page, Request } from 'playwright-core';
import { afterAll, expect } from 'vitest';
import { sessionLimits } from '../../../src/product/workspaces/memory-quota.ts';
import { openReceiver } from '../../support/fakes/receiver.ts';
import { stepsOfToday } from '../../seconds/runs.ts';
import { faultsOn, type Part, tooWide } from '../accessibility.ts';
import { type Address, follow } from '../addresses.ts';
import { type Harness, useHarness } from '../harness.ts';
import { seed } from '../seed.ts';

/** Codes, campaigns and settings: a person may load all of their pages within a minute. */
const walks = 3;
/** A code: code, stream, watches, conversions, changes, sums, series, four breakdowns. */
const requestsMax = 11;
/** The session: asked when the dashboard is loaded. */
const loadRequests = 1;

/** The service with sample data, for one test file. */
export async function useSeededPages() {
  const receiver = await openReceiver({ kind: 'answer', status: 500, body: 'not today' });
  afterAll(() => receiver.close());
  const harness = await useHarness();
  return { harness, receiver, seeded: await seed(harness, receiver.origin) };
}

/** Paths that are asked for more than one id, as `GET /v1/qr-codes/:id`. */
function repeatedOf(asked: readonly Request[]): string[] {
  const addressesOf = new Map<string, Set<string>>();
  for (const request of asked) {
    const path = `${request.method()} ${new URL(request.url()).pathname}`;
    const kind = path.replaceAll(/[a-z]{2,4}_[0-9a-z]{20}/g, ':id');
    addressesOf.set(kind, (addressesOf.get(kind) ?? new Set()).add(path));
  }
  return [...addressesOf].filter(([, paths]) => paths.size > 1).map(([kind]) => kind);
}

/** Until it is ready, with all that it asks for. */
async function visit(page: Page, [, path, heading, shows]: Address): Promise<void> {
  await follow(page, path);
  await page.getByRole('heading', { level: 1, name: heading }).waitFor();
  await page.getByText(shows).first().waitFor({ state: 'attached' });
  await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
}

/** Axe sees each page on one of two screens, on the other the next day; on both in `npm run test:long`. */
function isSeenOn(screen: 'wide' | 'phone', index: number): boolean {
  const { first, every } = stepsOfToday(2);
  return every === 1 || (index + first) % every === (screen === 'wide' ? 0 : 1);
}

/** What axe looks at on a page: the frame is the same on all, the cards of the analytics are the same on several. */
function partOf(name: string): Part {
  if (name === 'overview') return 'html';
  return name === 'analytics' ? 'main' : { include: ['main'], exclude: ['.explore-cards'] };
}

const faultsOf = (page: Page, name: string, isSeen: boolean): Promise<string[]> =>
  isSeen ? faultsOn(page, name, partOf(name)) : tooWide(page, name);

/** @returns the last page, and the requests of each, by name */
export async function walk(harness: Harness, addresses: readonly Address[]) {
  const page = await harness.openSignedIn();
  const statuses: number[] = [];
  const asked: Request[] = [];
  const isOfApi = (url: string): boolean => new URL(url).pathname.startsWith('/v1/');
  page.on('request', (request) => {
    if (isOfApi(request.url())) asked.push(request);
  });
  page.on('response', (response) => {
    if (isOfApi(response.url())) statuses.push(response.status());
  });
  const faults: string[] = [];
  const counts = new Map<string, number>();
  for (const [index, address] of addresses.entries()) {
    const [name] = address;
    asked.length = 0;
    await visit(page, address);
    counts.set(name, asked.length);
    if (asked.length > requestsMax) faults.push(`${name}: ${asked.length} requests`);
    faults.push(...repeatedOf(asked).map((kind) => `${name}: ${kind} for several ids`));
    faults.push(...(await faultsOf(page, name, isSeenOn('wide', index))));
    if ((await page.title()) === '') faults.push(`${name}: no title`);
  }
  expect(faults).toEqual([]);
  expect(statuses.filter((status) => status === 429)).toEqual([]);
  // However fast a person loads each of them: all walks are less than what one minute allows.
  const total = [...counts.values()].reduce((sum, count) => sum + count + loadRequests, 0);
  expect(total).toBeGreaterThan(counts.size);
  expect(total).toBeLessThan(sessionLimits.perMinute / walks);
  return { page, counts };
}

/** The same pages, dark and on a phone: axe sees those that it does not see on a wide screen on the same day. */
export async function walkOnPhone(harness: Harness, addresses: readonly Address[]): Promise<void> {
  const page = await harness.openSignedIn('/settings/data', { scheme: 'dark', width: 390 });
  const faults: string[] = [];
  for (const [index, address] of addresses.entries()) {
    const [name] = address;
    await visit(page, address);
    // The frame and the analytics have parts that only a phone shows.
    const isSeen = ['overview', 'analytics'].includes(name) || isSeenOn('phone', index);
    faults.push(...(await faultsOf(page, name, isSeen)));
  }
  expect(faults).toEqual([]);
  await page.close();
}
