/**
 * The dashboard as a person meets it: the whole service, a real browser in front.
 * One browser and one service for all files of a worker; each file has a workspace of its own on it, and each test
 * pages of its own. They end with the worker.
 */
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium as playwright,
  type Page,
  type Locator,
} from 'playwright-core';
import { afterAll, expect } from 'vitest';
import type { Plan } from '../../src/model/workspace.ts';
import { Browser as Session } from '../support/browser.ts';
import { Client, type Json, word } from '../support/client.ts';
import type { Ports } from '../support/running-service.ts';
import { TestService } from '../support/test-service.ts';
import { unpackChromium } from './start/chromium.ts';

export interface Person {
  readonly email: string;
  readonly password: string;
}
const password = 'correct horse battery';
/** Of the first workspace of a service. */
const firstOwner: Person = { email: 'owner@example.com', password };

/**
 * Not the package's own list: it puts everything into one process, where contexts share cookies, and turns
 * the same-origin rules off. Pages of one context share a process: half of what a page costs is a process of its own.
 */
const browserArguments = [
  '--no-sandbox',
  '--disable-gpu',
  '--font-render-hinting=none',
  '--process-per-site',
  '--renderer-process-limit=1',
  // What the compiler saves later is less than what it costs a page that lives for seconds.
  '--js-flags=--no-opt --always-sparkplug --single-threaded-gc',
];

/** Two busy cores: what a person would wait a second for may take this long. */
const waitMs = 30_000;

export interface Harness {
  readonly service: TestService;
  /** With an API key of the owner. */
  readonly api: Client;
  readonly owner: Person;
  /** A page in a context of its own, nobody is signed in. @param options what differs from a light, wide screen */
  readonly open: (options?: PageOptions) => Promise<Page>;
  /**
   * A page on which the owner is signed in. Those of the same options share cookies and storage.
   * @param path default: a page that asks for little
   */
  readonly openSignedIn: (path?: string, options?: PageOptions) => Promise<Page>;
  /** What `POST /v1<path>` answers to the owner. @throws unless it is 2xx */
  readonly post: (path: string, body: object) => Promise<Json>;
  /** A code, of https://example.com/menu where the fields say nothing else. */
  readonly makeCode: (fields?: object) => Promise<MadeCode>;
  /** Of the workspace. */
  readonly setPlan: (plan: Plan) => Promise<void>;
  /** Errors of scripts and refusals of the policy, as the browser reports them. */
  readonly complaints: string[];
  readonly close: () => Promise<void>;
}

export interface MadeCode {
  readonly id: string;
  readonly shortUrl: string;
  /** Its page. */
  readonly path: string;
}

export interface PageOptions {
  readonly width?: number;
  readonly scheme?: 'light' | 'dark';
}

let browserOfWorker: Promise<Browser> | undefined;
/** Ends with this process; if it ends before, the next file starts another. */
export const sharedBrowser = (): Promise<Browser> => (browserOfWorker ??= launch());

async function launch(): Promise<Browser> {
  const { executable, environment } = await unpackChromium();
  const browser = await playwright.launch({
    executablePath: executable,
    env: { ...process.env, ...environment },
    args: browserArguments,
    headless: true,
  });
  browser.once('disconnected', () => (browserOfWorker = undefined));
  return browser;
}

let serviceOfWorker: Promise<TestService> | undefined;

async function startServiceOfWorker(): Promise<TestService> {
  const service = await startService();
  // Vitest ends a worker by SIGTERM and, half a second later, by SIGKILL.
  for (const end of ['exit', 'SIGTERM'] as const) {
    process.once(end, () => rmSync(service.dataDir, { recursive: true, force: true }));
  }
  return service;
}

async function startService(
  environment: Readonly<Record<string, string>> = {},
  ports?: Ports,
): Promise<TestService> {
  return await TestService.start({
    dataDir: await mkdtemp(join(tmpdir(), 'quietzone-browser-')),
    isAdministered: true,
    ...(ports && { ports }),
    environment: {
      QZ_BOOTSTRAP_EMAIL: firstOwner.email,
      QZ_BOOTSTRAP_PASSWORD: firstOwner.password,
      QZ_BOOTSTRAP_PLAN: 'enterprise',
      QZ_WEBHOOKS_ALLOW_NETWORKS: '127.0.0.0/8',
      QZ_WEBHOOKS_RETRY_DELAYS_MS: '50,50,50,50,50,50,50',
      QZ_TRUSTED_PROXIES: '127.0.0.1',
      ...environment,
    },
  });
}

const sharedService = (): Promise<TestService> => (serviceOfWorker ??= startServiceOfWorker());

/** Both, before the first file of a worker: none pays for them alone. */
export const startShared = async (): Promise<void> =>
  void (await Promise.all([sharedBrowser(), sharedService()]));

let people = 0;

/** For one test file: it closes after the last test, and the file fails where the browser complained. */
function untilFileEnds(harness: Harness): Harness {
  afterAll(async () => {
    await harness.close();
    expect(harness.complaints).toEqual([]);
  });
  return harness;
}

/** A workspace of its own on the service of this worker, with an owner of its own: a person may ask 600 times a minute. */
export async function useHarness(): Promise<Harness> {
  const service = await sharedService();
  const owner = { email: `owner-${(people += 1)}@example.com`, password };
  await service.administer(async ({ users, workspaces, members }) => {
    const first = workspaces.all().next().value!.no;
    const user = await users.create(first, 'owner', { ...owner, name: 'Owner' });
    await workspaces.create(user.id, 'My workspace');
    await members.remove({ userId: user.id, workspaceNo: first, role: 'owner' }, user.id);
  });
  const session = new Session({ url: service.apiUrl });
  await session.signIn(owner.email, owner.password, nextAddress());
  const made = await session.post('/v1/api-keys', { name: 'Test', role: 'owner' });
  const harness = await harnessOf(service, owner, word(made.json.key), session);
  await harness.setPlan('enterprise');
  return untilFileEnds(harness);
}

type OwnService = readonly [environment?: Readonly<Record<string, string>>, ports?: Ports];

/** A service of its own, where a setting differs. */
export const useOwnService = async (...settings: OwnService): Promise<Harness> =>
  untilFileEnds(await openOwnService(...settings));

export async function openOwnService(...settings: OwnService): Promise<Harness> {
  const service = await startService(...settings);
  const harness = await harnessOf(service, firstOwner, service.apiKey);
  return {
    ...harness,
    async close() {
      await harness.close();
      await service.close();
      await rm(service.dataDir, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

let addresses = 0;
/** Those who are not signed in share a small limit by their address. */
const nextAddress = (): string => `198.18.${Math.floor((addresses += 1) / 250)}.${addresses % 250}`;

/** A context of its own in the browser of this worker. @param complaints takes those of its pages */
export async function openContext(
  complaints: string[],
  { width = 1_440, scheme = 'light' }: PageOptions = {},
  more: BrowserContextOptions = {},
): Promise<BrowserContext> {
  const browser = await sharedBrowser();
  if (!browser.isConnected()) throw new Error('The browser ended; the next file starts another');
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme: scheme,
    reducedMotion: 'reduce',
    locale: 'en-GB',
    ...more,
  });
  context.setDefaultTimeout(waitMs);
  context.on('weberror', (error) => complaints.push(String(error.error())));
  context.on('console', (message) => {
    // A refused request is no complaint: tests provoke them.
    const isRefusal = /Failed to load resource/.test(message.text());
    if (message.type() === 'error' && !isRefusal) complaints.push(message.text());
  });
  return context;
}

async function harnessOf(
  service: TestService,
  owner: Person,
  apiKey: string,
  session = new Session({ url: service.apiUrl }),
): Promise<Harness> {
  const api = new Client(service.apiUrl, apiKey);
  const complaints: string[] = [];
  const opened: BrowserContext[] = [];
  const openScreen = async (options?: PageOptions): Promise<BrowserContext> => {
    const context = await openContext(complaints, options, {
      timezoneId: 'Europe/Berlin',
      baseURL: service.apiUrl,
      // Only a test of TLS has a certificate, signed by itself.
      ignoreHTTPSErrors: true,
      extraHTTPHeaders: { 'x-forwarded-for': nextAddress() },
    });
    opened.push(context);
    return context;
  };
  const openSignedInScreen = async (options?: PageOptions): Promise<BrowserContext> => {
    if (session.cookie === '') await session.signIn(owner.email, owner.password, nextAddress());
    const context = await openScreen(options);
    const [name = '', value = ''] = session.cookie.split('=');
    await context.addCookies([{ name, value, url: service.apiUrl }]);
    return context;
  };
  const signedIn = new Map<string, Promise<BrowserContext>>();
  const post: Harness['post'] = (path, body) => api.make(`/v1${path}`, body);
  return {
    service,
    api,
    owner,
    complaints,
    open: async (options) => await (await openScreen(options)).newPage(),
    openSignedIn: async (path = '/settings/data', options) => {
      const screen = JSON.stringify(options ?? {});
      const opening = signedIn.get(screen) ?? openSignedInScreen(options);
      signedIn.set(screen, opening);
      const page = await (await opening).newPage();
      await page.goto(path);
      await page.locator('.frame').waitFor();
      return page;
    },
    post,
    makeCode: async (fields) => {
      const made = await post('/qr-codes', { target: 'https://example.com/menu', ...fields });
      const id = word(made.id);
      return { id, shortUrl: word(made.shortUrl), path: `/codes/${id}` };
    },
    setPlan: (plan) => setPlan(service, api, plan),
    async close() {
      await Promise.all(opened.map((context) => context.close()));
      await Promise.all([api.close(), session.close()]);
    },
  };
}

async function setPlan(service: TestService, api: Client, plan: Plan): Promise<void> {
  const { id } = (await api.get('/v1/session')).json.workspace!;
  await service.administer(async ({ workspaces }) => {
    const { no } = workspaces.findById(word(id))!;
    const limits = plan === 'enterprise' ? { perMinute: 1_000_000, perDay: undefined } : undefined;
    await workspaces.setPlan(no, plan, limits);
  });
}

/** But for the warning of old geo data, which depends on the day of the run. */
export const noticesOf = (page: Page): Locator =>
  page.locator('.notice', { hasNotText: 'Geo data of' });

/** Goes to `path` and signs in by the form. */
export async function signIn(page: Page, path: string, person: Person): Promise<void> {
  await page.goto(path);
  await page.getByLabel('E-mail').fill(person.email);
  await page.getByLabel('Password').fill(person.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('.frame').waitFor();
}

/** From now on the page gets other values in what this address answers. */
export async function changeAnswers(
  page: Page,
  address: RegExp,
  change: (answer: Json, query: URLSearchParams) => object,
): Promise<void> {
  await page.route(address, async (route) => {
    const response = await route.fetch();
    const answer: Json = await response.json();
    const { searchParams } = new URL(route.request().url());
    await route.fulfill({ response, json: { ...answer, ...change(answer, searchParams) } });
  });
}

/** A refusal, as the service answers it, for `route.fulfill`. */
export const refusal = (status: number, code: string, detail: string, retrySeconds?: number) => ({
  status,
  ...(retrySeconds !== undefined && { headers: { 'retry-after': String(retrySeconds) } }),
  json: { status, code, title: code, detail, requestId: 'req_1' },
});
