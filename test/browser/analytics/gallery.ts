/**
 * The gallery of parts (test/dashboard/gallery) behind a real server, built, named and sent as the dashboard is, under
 * its policy. There is no API: what parts ask for is refused.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serialize } from 'node:v8';
import type { Locator, Page } from 'playwright-core';
import { afterAll, expect } from 'vitest';
import { buildDashboard } from '../../../config/release/dashboard.ts';
import {
  type DashboardBundle,
  DashboardFiles,
} from '../../../src/http/dashboard/dashboard-files.ts';
import type { Request } from '../../../src/http/request.ts';
import { openContext, type PageOptions } from '../harness.ts';

const script = '../../test/dashboard/gallery/gallery.tsx';

interface Options extends PageOptions {
  /** `loading`, `empty`. */
  readonly state?: string;
}

export interface Gallery {
  readonly bundle: DashboardBundle;
  /** A page with the gallery on it. */
  open(options?: Options): Promise<Page>;
}

/** The card with this title. */
export const cardOn = (page: Page, title: string): Locator =>
  page.locator('.card', { has: page.getByRole('heading', { level: 2, name: title, exact: true }) });

/** For one test file: it closes after the last test, and the file fails where the browser complained. */
export async function useGallery(): Promise<Gallery> {
  const { files: bundle } = await buildDashboard(script);
  const files = new DashboardFiles(serialize(bundle));
  const server = createServer((message, response) => sendDashboard(files, message, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const complaints: string[] = [];
  afterAll(async () => {
    await new Promise((resolve) => server.close(resolve));
    expect(complaints).toEqual([]);
  });
  const open = async ({ state = '', ...options }: Options = {}) => {
    const context = await openContext(complaints, options, { timezoneId: 'Asia/Tokyo' });
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${port}/?state=${state}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    return page;
  };
  return { bundle, open };
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
