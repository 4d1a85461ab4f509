/** The dashboard's files as a client gets them, in the form it takes, named by their content. */
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { isPage } from '../../../src/dashboard/paths.ts';
import type { KnownHeader, Reply, Request } from '../../../src/platform/uws/request.ts';
import { DashboardFiles } from '../../../src/api/server/dashboard-files.ts';
import { shipped } from '../../../src/platform/shipped.ts';
import { addDashboard } from '../../support/dashboard.ts';

await addDashboard();
const files = new DashboardFiles(isPage, shipped.dashboard());

const requestOf = (path: string, headers: Partial<Record<KnownHeader, string>>): Request =>
  ({ method: 'GET', path, header: (name: KnownHeader) => headers[name] }) as Request;

const get = (path: string, headers: Partial<Record<KnownHeader, string>> = {}): Reply | undefined =>
  files.reply(requestOf(path, headers));

function bytesOf(reply: Reply | undefined): Buffer {
  if (!(reply?.body instanceof Uint8Array)) throw new Error('Cannot read a reply without bytes');
  return Buffer.from(reply.body);
}

const textOf = (reply: Reply | undefined): string => bytesOf(reply).toString('utf8');

/** Addresses that the page asks for. */
function assets(): string[] {
  return [...textOf(get('/')).matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map((m) => m[1] ?? '');
}

test.each([
  '/',
  '/codes',
  '/codes/qr_1',
  '/settings/webhooks/dead-letters',
  '/accept-invite',
  '/billing/checkout/chk_1',
  '/team/',
])('serves the page at %s, under a policy without exceptions', async (path) => {
  const reply = get(path);
  expect(reply?.status).toBe(200);
  expect(reply?.headers['Content-Type']).toBe('text/html; charset=utf-8');
  expect(reply?.headers['Cache-Control']).toBe('no-cache');
  expect(reply?.headers['Content-Security-Policy']).not.toMatch(/unsafe|sha256|\*/);
  expect(textOf(reply)).not.toMatch(/<style|<script>|\son\w+=|style=|https?:/);
});

test('a path that is no page is nothing to a program, and a 404 with the page to a person', async () => {
  expect(get('/codes/a/b')).toBeUndefined();
  expect(get('/codes/..%2f')).toBeUndefined();
  expect(get('/assets/main.js', { accept: 'text/html' })).toBeUndefined();
  const reply = get('/nothing', { accept: 'text/html,*/*' });
  expect(reply?.status).toBe(404);
  expect(textOf(reply)).toContain('<title>Quietzone</title>');
});

describe('assets', () => {
  test('are named by their content and kept for ever', async () => {
    const paths = assets();
    expect(paths.length).toBeGreaterThanOrEqual(3);
    for (const path of paths) {
      expect(path).toMatch(/^\/assets\/[\w-]+-[A-Z0-9]{8}\.(js|css)$/);
      const reply = get(path);
      expect(reply?.headers['Cache-Control']).toBe('public, max-age=31536000, immutable');
      expect(reply?.headers['Content-Type']).toMatch(/^text\/(javascript|css); charset=utf-8$/);
      // No secret of this machine, and no address elsewhere.
      expect(textOf(reply)).not.toMatch(/node_modules|sourceMappingURL|\/\*! |file:\/\//);
    }
  });

  test('come in the form that the client takes, all with the same content', async () => {
    const [path = ''] = assets();
    const plain = get(path);
    const brotli = get(path, { 'accept-encoding': 'gzip, deflate, br, zstd' });
    const gzip = get(path, { 'accept-encoding': 'gzip' });
    expect(plain?.headers['Content-Encoding']).toBeUndefined();
    expect(brotli?.headers).toMatchObject({ 'Content-Encoding': 'br', Vary: 'Accept-Encoding' });
    expect(gzip?.headers['Content-Encoding']).toBe('gzip');
    expect(brotliDecompressSync(bytesOf(brotli)).equals(bytesOf(plain))).toBe(true);
    expect(gunzipSync(bytesOf(gzip)).equals(bytesOf(plain))).toBe(true);
  });
});

test('a known page is not sent again', async () => {
  const tag = get('/')?.headers.ETag ?? '';
  const reply = get('/codes', { 'if-none-match': tag });
  expect([reply?.status, reply?.body]).toEqual([304, undefined]);
  expect(get('/codes', { 'if-none-match': '"other"' })?.status).toBe(200);
});

test('without files there are no pages', () => {
  expect(new DashboardFiles(isPage).reply(requestOf('/', {}))).toBeUndefined();
});
