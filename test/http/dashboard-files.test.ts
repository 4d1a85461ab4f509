/**
 * The dashboard's files as a client gets them, in the form it takes, named by their content; and built once for the
 * same sources.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KeptHeader, Reply, Request } from '../../src/http/request.ts';
import { buildDashboard, type DashboardBundle } from '../../src/http/dashboard/dashboard-build.ts';
import { openDashboard } from '../../src/http/dashboard/dashboard-cache.ts';
import { DashboardFiles } from '../../src/http/dashboard/dashboard-files.ts';
import { createLog } from '../../src/telemetry/log.ts';

const logLines: string[] = [];
const log = createLog('info', { write: (line) => void logLines.push(line) });
const folder = mkdtempSync(join(tmpdir(), 'quietzone-dashboard-'));
const cache = join(folder, 'cache');
let files: DashboardFiles;
let builds = 0;
let built: Promise<DashboardBundle> | undefined;

/** Really built once: half a second. */
async function open(): Promise<DashboardBundle> {
  return await openDashboard(cache, log, () => {
    builds += 1;
    return (built ??= buildDashboard());
  });
}

beforeAll(async () => {
  files = new DashboardFiles(await open());
});
afterAll(() => rmSync(folder, { recursive: true }));

function requestOf(path: string, headers: Partial<Record<KeptHeader, string>>): Request {
  return {
    id: 'req_1',
    method: 'GET',
    path,
    query: '',
    header: (name) => headers[name],
    clientAddress: '127.0.0.1',
    peerAddress: '127.0.0.1',
    body: async () => new Uint8Array(),
    chunks: async function* none() {},
    aborted: false,
  };
}

const get = (path: string, headers: Partial<Record<KeptHeader, string>> = {}): Reply | undefined =>
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

  test('hold no secret of this machine and no address elsewhere', async () => {
    for (const path of assets()) {
      expect(textOf(get(path))).not.toMatch(/node_modules|sourceMappingURL|\/\*! |file:\/\//);
    }
  });
});

test('a known page is not sent again', async () => {
  const tag = get('/')?.headers.ETag ?? '';
  const reply = get('/codes', { 'if-none-match': tag });
  expect([reply?.status, reply?.body]).toEqual([304, undefined]);
  expect(get('/codes', { 'if-none-match': '"other"' })?.status).toBe(200);
});

describe('the bundle in the data folder', () => {
  const namesIn = (): string[] => readdirSync(cache);
  const fileOf = (): string => join(cache, namesIn()[0] ?? '');

  test('is built once for the same sources, and read by every later start', async () => {
    const before = builds;
    const again = new DashboardFiles(await open());
    expect(again.reply(requestOf('/', {}))).toEqual(get('/'));
    expect(builds).toBe(before);
    expect(namesIn()).toEqual([expect.stringMatching(/^dashboard-[0-9a-f]{32}$/)]);
  });

  test('is built again where it is damaged, cut off or of other sources', async () => {
    const file = fileOf();
    const sound = readFileSync(file);
    const flipped = Uint8Array.from(sound, (byte, at) => (at === 9_999 ? byte ^ 1 : byte));
    for (const damaged of [flipped, sound.subarray(0, 20), sound.subarray(0, 9_999)]) {
      writeFileSync(file, damaged);
      const before = builds;
      expect((await open()).size).toBe((await built)?.size);
      expect(builds).toBe(before + 1);
      expect(readFileSync(file).equals(sound)).toBe(true);
    }
    rmSync(file);
    const old = join(cache, 'dashboard-00000000000000000000000000000000');
    writeFileSync(old, sound);
    await open();
    expect([existsSync(old), existsSync(file)]).toEqual([false, true]);
  });

  test('costs no start: without it there are no pages, and without its file the next start builds', async () => {
    expect(logLines).toEqual([]);
    const other = join(folder, 'other');
    const none = await openDashboard(other, log, () => Promise.reject(new Error('no bundler')));
    expect(new DashboardFiles(none).reply(requestOf('/', {}))).toBeUndefined();
    expect(logLines.splice(0)).toEqual([expect.stringContaining('its pages are not served')]);
    writeFileSync(other, 'a file where the folder should be');
    const bundle = await openDashboard(other, log, () => Promise.resolve(new Map()));
    expect(bundle.size).toBe(0);
    expect(logLines.splice(0)).toEqual([expect.stringContaining('builds it again')]);
  });
});
