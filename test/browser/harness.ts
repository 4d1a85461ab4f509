/**
 * The dashboard as a person meets it: the whole service, a real browser in front.
 * One browser for all files of a worker; every test gets pages of its own.
 */
import { ChildProcess } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium as playwright, type Page } from 'playwright-core';
import { Client } from '../support/client.ts';
import { liftQuota } from '../support/lift-quota.ts';
import type { Ports } from '../support/process.ts';
import { TestService } from '../support/test-service.ts';
import { unpackChromium } from './chromium.ts';

export const owner = { email: 'owner@example.com', password: 'correct horse battery' } as const;

/**
 * Not the package's own list: it puts everything into one process, where contexts share cookies, and turns
 * the same-origin rules off.
 */
const browserArguments = ['--no-sandbox', '--disable-gpu', '--font-render-hinting=none'];

/** Two busy cores: what a person would wait a second for may take this long. */
export const waitMs = 30_000;

export interface Harness {
  readonly service: TestService;
  readonly browser: Browser;
  /** With the owner's API key. */
  readonly api: Client;
  /** A page nobody is signed in on. @param options what differs from a light, wide screen */
  open(options?: PageOptions): Promise<Page>;
  /** A page on which the owner is signed in, at `path`. */
  openSignedIn(path: string, options?: PageOptions): Promise<Page>;
  /** What the browser complained of: errors of scripts and refusals of the policy. */
  readonly complaints: string[];
  /** @throws Error when the browser has ended: how */
  close(): Promise<void>;
}

export interface PageOptions {
  readonly width?: number;
  readonly scheme?: 'light' | 'dark';
}

/** Ends with this process; when it ends before, the next file starts another. */
let shared: Promise<Browser> | undefined;
export const sharedBrowser = (): Promise<Browser> => (shared ??= launch());

const processes = new WeakMap<Browser, ChildProcess>();

async function launch(): Promise<Browser> {
  const { executable, environment } = await unpackChromium();
  // Playwright names no process of a browser that it launches.
  const started: ChildProcess[] = [];
  const onStart = (message: unknown): void => {
    const child: unknown = Reflect.get(Object(message), 'process');
    if (child instanceof ChildProcess) started.push(child);
  };
  subscribe('child_process', onStart);
  const launching = playwright.launch({
    executablePath: executable,
    env: { ...process.env, ...environment },
    args: browserArguments,
    headless: true,
  });
  const browser = await launching.finally(() => unsubscribe('child_process', onStart));
  const child = started.find(({ spawnfile }) => spawnfile === executable);
  if (child !== undefined) processes.set(browser, child);
  browser.once('disconnected', () => (shared = undefined));
  return browser;
}

/** @throws Error that says how the browser's process ended, where it has: later calls of Playwright do not */
async function assertRuns(browser: Browser): Promise<void> {
  if (browser.isConnected()) return;
  const child = processes.get(browser);
  if (child?.exitCode === null && child.signalCode === null) await once(child, 'exit');
  const reason = child?.signalCode ?? `exit code ${child?.exitCode}`;
  throw new Error(`The browser of this test file ended by ${reason}; the next file starts another`);
}

export async function openHarness(
  environment: Readonly<Record<string, string>> = {},
  ports?: Ports,
): Promise<Harness> {
  const dataDir = await mkdtemp(join(tmpdir(), 'quietzone-browser-'));
  const service = await TestService.start({
    dataDir,
    ...(ports && { ports }),
    environment: {
      QZ_BOOTSTRAP_EMAIL: owner.email,
      QZ_BOOTSTRAP_PASSWORD: owner.password,
      QZ_WEBHOOKS_ALLOW_NETWORKS: '127.0.0.0/8',
      QZ_TRUSTED_PROXIES: '127.0.0.1',
      ...environment,
    },
  });
  await liftQuota(dataDir);
  const browser = await sharedBrowser();
  const api = new Client(service.apiUrl, service.apiKey);
  const complaints: string[] = [];
  let contexts = 0;
  const open = async ({ width = 1_440, scheme = 'light' }: PageOptions = {}): Promise<Page> => {
    await assertRuns(browser);
    const context = await browser.newContext({
      viewport: { width, height: 900 },
      colorScheme: scheme,
      reducedMotion: 'reduce',
      locale: 'en-GB',
      timezoneId: 'Europe/Berlin',
      baseURL: service.apiUrl,
      // Only a test of TLS has a certificate, signed by itself.
      ignoreHTTPSErrors: true,
      // Each comes from an address of its own: those who are not signed in share a small limit.
      extraHTTPHeaders: { 'x-forwarded-for': `198.18.0.${(contexts += 1)}` },
    });
    context.setDefaultTimeout(waitMs);
    const page = await context.newPage();
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('console', (message) => {
      // A refused request is no complaint: tests provoke them.
      const isRefusal = /Failed to load resource/.test(message.text());
      if (message.type() === 'error' && !isRefusal) complaints.push(message.text());
    });
    return page;
  };
  return {
    service,
    browser,
    api,
    open,
    complaints,
    openSignedIn: async (path, options) => {
      const page = await open(options);
      await signIn(page, path);
      return page;
    },
    async close() {
      await Promise.all(browser.contexts().map((context) => context.close()));
      await api.close();
      await service.close();
      await rm(dataDir, { recursive: true, force: true, maxRetries: 3 });
      await assertRuns(browser);
    },
  };
}

/** Goes to `path` and signs in. */
export async function signIn(
  page: Page,
  path: string,
  { email, password }: { readonly email: string; readonly password: string } = owner,
): Promise<void> {
  await page.goto(path);
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('.frame').waitFor();
}
