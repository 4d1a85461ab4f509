/**
 * The dashboard served by the control thread: files in memory, compressed when they were built (config/release/dashboard.ts).
 *
 * Assets are immutable under their name; the page that names them is revalidated each time.
 */
import { createHash } from 'node:crypto';
import { deserialize } from 'node:v8';
import { codingOf, isKnown } from '../../platform/uws/headers.ts';
import type { Reply, Request } from '../../platform/uws/request.ts';

/** In each encoding that a client may take. */
export interface DashboardFile {
  readonly identity: Uint8Array;
  readonly br: Uint8Array;
  readonly gzip: Uint8Array;
}

/** By URL path; the page, which has many URLs, is under `pagePath`. */
export type DashboardBundle = ReadonlyMap<string, DashboardFile>;

export const assetPrefix = '/assets/';
export const pagePath = '/';

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

const pageHeaders = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-cache',
  'Content-Security-Policy': policy,
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'X-Robots-Tag': 'noindex',
};

const mediaTypes: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
};

const assetHeaders = {
  'Cache-Control': 'public, max-age=31536000, immutable',
};

interface File extends DashboardFile {
  readonly headers: Readonly<Record<string, string>>;
}

export class DashboardFiles {
  readonly #files: ReadonlyMap<string, File>;
  readonly #isPage: (path: string) => boolean;

  /**
   * @param isPage whether the dashboard has a page at a path
   * @param serialized a DashboardBundle, by v8; absent in tests, which run sources: it has no files
   */
  constructor(isPage: (path: string) => boolean, serialized?: Uint8Array) {
    this.#isPage = isPage;
    const bundle: DashboardBundle = serialized ? deserialize(serialized) : new Map();
    const files = [...bundle].map(([path, file]) => [path, withHeaders(path, file)] as const);
    this.#files = new Map(files);
  }

  /** The page or the asset at the request's path; undefined where the dashboard has nothing. */
  reply(request: Request): Reply | undefined {
    const { path } = request;
    const asset = this.#files.get(path);
    if (path.startsWith(assetPrefix)) return asset === undefined ? undefined : send(asset, request);
    const page = this.#files.get(pagePath);
    if (page === undefined) return undefined;
    if (this.#isPage(path)) return send(page, request);
    return wantsPage(request) ? { ...whole(page, request), status: 404 } : undefined;
  }
}

function withHeaders(path: string, file: DashboardFile): File {
  const type = mediaTypes[path.split('.').at(-1) ?? ''] ?? 'application/octet-stream';
  const own = path === pagePath ? pageHeaders : { 'Content-Type': type, ...assetHeaders };
  const tag = createHash('sha256').update(file.identity).digest('base64url').slice(0, 16);
  return { ...file, headers: { ...own, ETag: `W/"${tag}"` } };
}

function send(file: File, request: Request): Reply {
  const { headers, ...rest } = whole(file, request);
  if (isKnown(request.header('if-none-match'), headers.ETag ?? '')) return { status: 304, headers };
  return { ...rest, headers };
}

/** In the smallest encoding that the client accepts. */
function whole(file: File, request: Request): Reply {
  const coding = codingOf(request.header('accept-encoding'));
  const encoding = coding === undefined ? {} : { 'Content-Encoding': coding };
  const headers = { ...file.headers, ...encoding, Vary: 'Accept-Encoding' };
  return { status: 200, headers, body: file[coding ?? 'identity'] };
}

/** At an unknown address a person gets the dashboard's page for it, a program a problem document. */
function wantsPage(request: Request): boolean {
  return request.method === 'GET' && (request.header('accept') ?? '').includes('text/html');
}
