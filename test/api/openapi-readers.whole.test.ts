/**
 * The OpenAPI document as others read it: types that openapi-typescript makes of it, calls of openapi-fetch that use answers
 * without a cast, and Spectral's rules for OpenAPI, all of them; and its size.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { temporaryFolder } from '../store/temporary-management.ts';
import { startTestApi } from '../support/test-app.ts';

const root = new URL('../..', import.meta.url).pathname;
const passedFolder = join(root, 'node_modules/.cache/quietzone-passed');

let text: string;

beforeAll(async () => {
  const app = await startTestApi();
  text = await (await fetch(`${app.url}/v1/openapi.json`)).text();
  await app.close();
});

/**
 * Runs a check that takes seconds, unless it passed before with the same document, test file and package-lock.json: always
 * in a fresh clone.
 */
async function oncePassed(name: string, check: () => Promise<void>): Promise<void> {
  const hash = createHash('sha256').update(name).update(text);
  for (const path of [import.meta.filename, join(root, 'package-lock.json')])
    hash.update(readFileSync(path));
  const passed = join(passedFolder, hash.digest('hex'));
  if (existsSync(passed)) return;
  await check();
  mkdirSync(passedFolder, { recursive: true });
  writeFileSync(passed, '');
}

const run = promisify(execFile);
const module = (name: string): string => join(root, 'node_modules', name);
const dataUrl = (source: string): string => `data:text/javascript,${encodeURIComponent(source)}`;
/** The generator prints by the compiler's old interface, which TypeScript 7 does not have. */
const hook = dataUrl(`export const resolve = (name, context, next) =>
  next(name === 'typescript' ? 'typescript-5' : name, context)`);
const preload = dataUrl(
  `import { register } from 'node:module'; register(${JSON.stringify(hook)})`,
);

const compilerOptions = {
  noEmit: true,
  strict: true,
  skipLibCheck: true,
  exactOptionalPropertyTypes: true,
  allowImportingTsExtensions: true,
  target: 'ES2022',
  module: 'NodeNext',
  lib: ['ES2023', 'DOM', 'DOM.Iterable'],
  types: [],
};

const calls = `
import createClient from 'openapi-fetch';
import type { paths, webhooks } from './document.ts';

const { GET, POST, PUT, PATCH, DELETE } = createClient<paths>({ baseUrl: 'http://localhost:8080/v1' });
const path = { id: 'qr_01k3zq8m4hd2v7c5x9ab' };
const target = 'https://example.com/';
const days = { from: '2026-03-01', to: '2026-03-31' };

const made = await POST('/qr-codes', { body: { target, name: 'Table 12', tags: ['menu'] } });
export const shortUrl: string | undefined = made.data?.shortUrl;
export const problem: string | undefined = made.error?.code;
const codes = await GET('/qr-codes', { params: { query: { limit: 100, status: 'active' } } });
export const scans: number[] | undefined = codes.data?.data.map((code) => code.scans);
export const cursor: string | undefined = codes.data?.nextCursor;
const table = await GET('/qr-codes/export.csv', { params: { query: { tag: 'menu' } }, parseAs: 'text' });
export const rows: string[] | undefined = table.data?.split('\\r\\n');
const code = await GET('/qr-codes/{id}', { params: { path } });
export const campaigns: string[] | undefined = code.data?.campaignIds;
const patched = await PATCH('/qr-codes/{id}', { params: { path }, body: { target, name: null } });
export const patchedAt: string | undefined = patched.data?.updatedAt;
const gone = await DELETE('/qr-codes/{id}', { params: { path } });
export const isGone: true | undefined = gone.data?.deleted;
const tags = await GET('/qr-codes/tags');
export const tag: string | undefined = tags.data?.data[0]?.tag;
const found = await GET('/qr-codes/{id}/analytics', { params: { path, query: { ...days, compare: 'previous' } } });
export const phones: number | undefined = found.data?.devices.ios;
export const country: string | undefined = found.data?.topCountries[0]?.code;
export const before: number | undefined = found.data?.previous?.totalScans;
const series = await GET('/qr-codes/{id}/analytics/timeseries', { params: { path, query: { interval: 'hour' } } });
export const starts: string[] | undefined = series.data?.data.map((point) => point.start);
const lines = await GET('/qr-codes/{id}/scans/export.ndjson', { params: { path }, parseAs: 'text' });
export const text: string | undefined = lines.data;
const campaign = await POST('/campaigns', { body: { name: 'Spring', startDate: days.from, qrCodeIds: [path.id] } });
export const campaignId: string | undefined = campaign.data?.id;
const result = await GET('/campaigns/{id}/analytics', { params: { path } });
export const rate: number | null | undefined = result.data?.conversionRate;
const events = await GET('/events', { params: { query: { type: 'qr.created' } } });
export const event: string | undefined = events.data?.data[0]?.event;
const endpoint = await POST('/webhooks', { body: { url: target, events: ['qr.scanned'] } });
export const secret: string | undefined = endpoint.data?.secret;
const usage = await GET('/billing/usage');
export const used: number | undefined = usage.data?.minute.used;
const session = await GET('/session');
export const workspace: string | undefined = session.data?.workspace.id;
const watches = await GET('/watches', { headers: { 'If-None-Match': 'W/"a"' } });
export const watch: string | undefined = watches.data?.data[0]?.id;
export type Silent = webhooks['qr.silent']['post']['requestBody']['content']['application/json']['data']['hours'];
// @ts-expect-error There is no such field.
export const unknown = codes.data?.data[0]?.nothing;
`;

test('calls of every kind need no cast', async () => {
  await oncePassed('calls', compileCalls);
});

async function compileCalls(): Promise<void> {
  const folder = temporaryFolder();
  const files = {
    'package.json': '{"type":"module"}',
    'tsconfig.json': JSON.stringify({ compilerOptions }),
    'document.json': text,
    'calls.ts': calls,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  symlinkSync(module(''), join(folder, 'node_modules'));
  const generate = `${module('openapi-typescript/bin/cli.js')} document.json --output document.ts`;
  await run(
    process.execPath,
    ['--import', preload, ...generate.split(' '), '--default-non-nullable=false'],
    { cwd: folder },
  );
  const found = await run(module('.bin/tsc'), ['-p', folder]).catch((error: unknown) => error);
  expect(found).toMatchObject({ stdout: '' });
}

/** Of what is served, about 3 KB an operation: it was 688 KB when each operation repeated what all share. */
const documentBytesMax = 350_000;
const excepted: Readonly<Record<string, string>> = {
  'contact-properties': 'Who runs the installation is not known, so there is no e-mail address',
  'openapi-tags-alphabetical': 'Groups are sorted by first use: codes come first',
};

async function findingsOf(documents: readonly string[]): Promise<string[][]> {
  const { default: core } = await import('@stoplight/spectral-core');
  const { default: rulesets } = await import('@stoplight/spectral-rulesets');
  const spectral = new core.Spectral();
  const rules = Object.fromEntries(Object.keys(excepted).map((rule) => [rule, 'off' as const]));
  spectral.setRuleset(new core.Ruleset({ extends: [[rulesets.oas, 'all']], rules }));
  const found: string[][] = [];
  for (const document of documents) {
    const results = await spectral.run(document);
    found.push(results.map(({ code, path, message }) => `${code}: ${path.join('.')}: ${message}`));
  }
  return found;
}

test('Spectral has nothing to say by any of its OpenAPI rules', async () => {
  await oncePassed('rules', async () => {
    const schemas = { A: { type: 'sting' } };
    const broken = JSON.stringify({ openapi: '3.1.0', paths: {}, components: { schemas } });
    const [ofBroken, findings] = await findingsOf([broken, text]);
    for (const rule of [/^oas3-schema: components.schemas.A.type/, /^info-contact/]) {
      expect(ofBroken).toContainEqual(expect.stringMatching(rule));
    }
    expect(findings).toEqual([]);
  });
});

test('is at most 350 KB', () => {
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(documentBytesMax);
});

test('its patterns mean the same with the `u` flag and without', () => {
  const patterns = [...text.matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g)].map(
    ([, pattern = '""']): string => JSON.parse(pattern),
  );
  expect(patterns.length).toBeGreaterThan(10);
  for (const pattern of new Set(patterns)) {
    expect(() => new RegExp(pattern, 'u')).not.toThrow();
    // Escapes that only the flag gives a meaning to.
    expect(pattern).not.toMatch(/\\[pPu]\{/);
  }
});
