/**
 * The gallery of parts (test/dashboard/gallery) behind a real server, built, named and sent as the dashboard is, under
 * its policy. There is no API: what parts ask for is refused.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serialize } from 'node:v8';
import type { Locator, Page } from 'playwright-core';
import { buildDashboard } from '../../../config/release/dashboard.ts';
import {
  type DashboardBundle,
  DashboardFiles,
} from '../../../src/http/dashboard/dashboard-files.ts';
import type { Request } from '../../../src/http/request.ts';
import { sharedBrowser, waitMs } from '../harness.ts';

const script = '../../test/dashboard/gallery/gallery.tsx';

interface Options {
  readonly width?: number;
  readonly scheme?: 'light' | 'dark';
  /** `loading`, `empty`. */
  readonly state?: string;
}

export interface Gallery {
  readonly bundle: DashboardBundle;
  /** A page with the gallery on it. */
  open(options?: Options): Promise<Page>;
  /** What browsers complained of: errors of scripts and refusals of the policy. */
  readonly complaints: readonly string[];
  close(): Promise<void>;
}

/** The card with this title. */
export const cardOn = (page: Page, title: string): Locator =>
  page.locator('.card', { has: page.getByRole('heading', { level: 2, name: title, exact: true }) });

type Side = 'scrollWidth' | 'clientWidth' | 'scrollHeight' | 'clientHeight';
/** Pixels of an element that are cut off, across and down. */
export const hiddenOf = (place: Locator) =>
  place.evaluate((element: Readonly<Record<Side, number>>) => [
    element.scrollWidth - element.clientWidth,
    element.scrollHeight - element.clientHeight,
  ]);

export async function openGallery(): Promise<Gallery> {
  const { files: bundle } = await buildDashboard(script);
  const files = new DashboardFiles(serialize(bundle));
  const server = createServer((message, response) => sendDashboard(files, message, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const browser = await sharedBrowser();
  const complaints: string[] = [];
  const open = async ({ width = 1_440, scheme = 'light', state = '' }: Options = {}) => {
    const context = await browser.newContext({
      viewport: { width, height: 900 },
      colorScheme: scheme,
      reducedMotion: 'reduce',
      locale: 'en-GB',
      timezoneId: 'Asia/Tokyo',
    });
    context.setDefaultTimeout(waitMs);
    const page = await context.newPage();
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('console', (message) => {
      const isRefusal = /Failed to load resource/.test(message.text());
      if (message.type() === 'error' && !isRefusal) complaints.push(message.text());
    });
    await page.goto(`http://127.0.0.1:${port}/?state=${state}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    return page;
  };
  return {
    bundle,
    open,
    complaints,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function sendDashboard(
  files: DashboardFiles,
  message: IncomingMessage,
  response: ServerResponse,
): void {
  const reply = files.reply(requestOf(message));
  const body = reply?.body instanceof Uint8Array ? reply.body : undefined;
  response.writeHead(reply?.status ?? 404, reply?.headers).end(body);
}

function requestOf({ url = '/', method = 'GET', headers }: IncomingMessage): Request {
  const { pathname, search } = new URL(url, 'http://localhost');
  return {
    id: 'req_1',
    method,
    path: pathname,
    query: search.slice(1),
    limitBody: () => undefined,
    header: (name) => {
      const value = headers[name];
      return typeof value === 'string' ? value : undefined;
    },
    clientAddress: '127.0.0.1',
    peerAddress: '127.0.0.1',
    body: async () => new Uint8Array(),
    chunks: async function* none() {},
    aborted: false,
  };
}
