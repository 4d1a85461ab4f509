/**
 * The gallery of parts (test/dashboard/gallery), built, named and sent as the dashboard is, under its policy. There is no
 * API: what parts ask for is refused.
 */
import { serialize } from 'node:v8';
import type { Locator, Page, Route } from 'playwright-core';
import { afterAll, expect } from 'vitest';
import { buildDashboard } from '../../../config/release/dashboard.ts';
import { DashboardFiles } from '../../../src/api/server/dashboard-files.ts';
import { isPage } from '../../../src/dashboard/paths.ts';
import type { Request } from '../../../src/platform/uws/request.ts';
import { openContext, type PageOptions } from '../harness.ts';

const script = '../../test/dashboard/gallery/gallery.tsx';
const origin = 'http://gallery.localhost';

interface Options extends PageOptions {
  /** `loading`, `empty`. */
  readonly state?: string;
}

/** The card with this title. */
export const cardOn = (page: Page, title: string): Locator =>
  page.locator('.card', { has: page.getByRole('heading', { level: 2, name: title, exact: true }) });

/** For one test file, which fails where the browser complained. */
export async function useGallery() {
  const { files: bundle } = await buildDashboard({ main: script });
  const files = new DashboardFiles(isPage, serialize(bundle));
  const answer = async (route: Route): Promise<void> => {
    const { pathname: path } = new URL(route.request().url());
    const request = { method: 'GET', path, header: () => undefined } as Partial<Request> as Request;
    const { status = 404, headers = {}, body } = files.reply(request) ?? {};
    await route.fulfill({
      status,
      headers,
      body: Buffer.from(body instanceof Uint8Array ? body : ''),
    });
  };
  const complaints: string[] = [];
  afterAll(() => expect(complaints).toEqual([]));
  /** A page with the gallery on it. */
  const open = async ({ state = '', ...options }: Options = {}) => {
    const context = await openContext(complaints, options, { timezoneId: 'Asia/Tokyo' });
    await context.route(`${origin}/**`, answer);
    const page = await context.newPage();
    await page.goto(`${origin}/?state=${state}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    return page;
  };
  return { bundle, open };
}
