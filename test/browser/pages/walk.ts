/**
 * A walk over pages, light on a wide screen and on the Free plan: each shows its data, has a title, breaks no rule of WCAG 2.2 AA
 * that axe can see (every second page, others each day), is not wider than the screen, and asks a number of requests that
 * does not grow with what it shows.
 */
import type { Page, Request } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { sessionLimits } from '../../../src/workspaces/memory-quota.ts';
import { faultsOn, tooWide } from '../accessibility.ts';
import { type Address, follow, isSeenOn, partOf } from '../addresses.ts';
import { type Harness, openHarness } from '../harness.ts';
import { openReceiver, type Receiver } from '../../support/fakes/receiver.ts';
import { type Seeded, seed } from '../seed.ts';

export const allPagesMs = 240_000;

/** Codes, campaigns and settings: a person may load all of their pages within a minute. */
const walks = 3;
/** A code: code, stream, watches, conversions, changes, sums, series, four breakdowns. */
const requestsMax = 11;
/** The session: asked when the dashboard is loaded. */
const loadRequests = 1;

export interface SeededPages {
  readonly harness: Harness;
  readonly receiver: Receiver;
  readonly seeded: Seeded;
}

/** Opens the service with sample data before the tests of a file. @param prepare runs last: adds data, or sets the plan */
export function useSeededPages(
  prepare: (pages: SeededPages) => Promise<unknown>,
): () => SeededPages {
  let pages: SeededPages | undefined;
  beforeAll(async () => {
    const receiver = await openReceiver({ kind: 'answer', status: 500, body: 'not today' });
    const harness = await openHarness();
    pages = { harness, receiver, seeded: await seed(harness, receiver.origin) };
    await prepare(pages);
  }, allPagesMs);
  afterAll(async () => {
    await pages?.harness.close();
    await pages?.receiver.close();
  });
  return () => pages!;
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
async function visit(page: Page, { path, heading, shows }: Address): Promise<void> {
  await follow(page, path);
  await page.getByRole('heading', { level: 1, name: heading }).waitFor();
  await page.getByText(shows).first().waitFor({ state: 'attached' });
  await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
}

/** @returns the last page, and the requests of each, by name */
export async function walk(
  harness: Harness,
  addresses: readonly Address[],
): Promise<{ readonly page: Page; readonly counts: ReadonlyMap<string, number> }> {
  const page = await harness.openSignedIn('/settings/data');
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
    const { name } = address;
    asked.length = 0;
    await visit(page, address);
    counts.set(name, asked.length);
    if (asked.length > requestsMax) faults.push(`${name}: ${asked.length} requests`);
    faults.push(...repeatedOf(asked).map((kind) => `${name}: ${kind} for several ids`));
    const isSeen = isSeenOn('wide', index);
    faults.push(...(await (isSeen ? faultsOn(page, name, partOf(name)) : tooWide(page, name))));
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
    const { name } = address;
    await visit(page, address);
    // The frame and the analytics have parts that only a phone shows.
    const isSeen = ['overview', 'analytics'].includes(name) || isSeenOn('phone', index);
    faults.push(...(await (isSeen ? faultsOn(page, name, partOf(name)) : tooWide(page, name))));
  }
  expect(faults).toEqual([]);
  await page.close();
}
