/**
 * The dashboard as files in memory: bundled by esbuild, compressed once, served by the control thread.
 *
 *   src/dashboard/main.tsx --esbuild--> all pages, the chart, one style sheet   named by their content
 *     -> brotli and gzip, on the thread pool -> Map of path -> file
 *
 * The bundle is built at the first request for a page, or ten seconds after the start. Redirects and the API
 * do not wait for it, and it costs half a second of one core once. A request during the build waits
 * for its end. Assets are immutable under their name; the page that names them is revalidated each time.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { build, stop, type OutputFile, type Metafile } from 'esbuild';
import { matchPath } from '../dashboard/paths.ts';
import type { Reply, Request } from './request.ts';
import type { Logger } from '../telemetry/log.ts';

const root = fileURLToPath(new URL('../dashboard/', import.meta.url));
const assetPrefix = '/assets/';
/** The key of the page, which has many addresses. */
const pagePath = '/';
/** Long enough that a service which runs for seconds never builds. */
const idleMs = 10_000;
/** 9 of 11: 2 % larger than 11 in a quarter of its time. */
const brotliQuality = 9;

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

interface File {
  readonly headers: Readonly<Record<string, string>>;
  readonly identity: Uint8Array;
  readonly br: Uint8Array;
  readonly gzip: Uint8Array;
}

export class DashboardFiles {
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;
  #files: Promise<ReadonlyMap<string, File>> | undefined;

  constructor(log: Logger) {
    this.#log = log;
    this.#timer = setTimeout(() => void this.#ready(), idleMs);
    this.#timer.unref();
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  /** The page or the asset at the request's path; undefined where the dashboard has nothing. */
  async reply(request: Request): Promise<Reply | undefined> {
    const { path } = request;
    const files = await this.#ready();
    const asset = files.get(path);
    if (path.startsWith(assetPrefix)) return asset === undefined ? undefined : send(asset, request);
    const page = files.get(pagePath);
    if (page === undefined) return undefined;
    if (matchPath(path) !== undefined) return send(page, request);
    return wantsPage(request) ? { ...whole(page, request), status: 404 } : undefined;
  }

  /** Built once. When it fails, `/` stays the API's own page. */
  #ready(): Promise<ReadonlyMap<string, File>> {
    clearTimeout(this.#timer);
    this.#files ??= makeFiles().catch((err: unknown) => {
      this.#log.error({ err }, 'building the dashboard failed, its pages are not served');
      return new Map();
    });
    return this.#files;
  }
}

function send(file: File, request: Request): Reply {
  const { headers, ...rest } = whole(file, request);
  if (request.header('if-none-match') === headers.ETag) return { status: 304, headers };
  return { ...rest, headers };
}

/** In the smallest encoding that the client accepts. */
function whole(file: File, request: Request): Reply {
  const accepted = request.header('accept-encoding') ?? '';
  const coding = /\bbr\b/.test(accepted) ? 'br' : /\bgzip\b/.test(accepted) ? 'gzip' : 'identity';
  const encoding = coding === 'identity' ? {} : { 'Content-Encoding': coding };
  const headers = { ...file.headers, ...encoding, Vary: 'Accept-Encoding' };
  return { status: 200, headers, body: file[coding] };
}

/** At an unknown address a person gets the dashboard's page for it, a program a problem document. */
function wantsPage(request: Request): boolean {
  return request.method === 'GET' && (request.header('accept') ?? '').includes('text/html');
}

async function makeFiles(): Promise<ReadonlyMap<string, File>> {
  const { outputFiles, metafile } = await bundle();
  const files = new Map<string, File>();
  const named = outputFiles.map((file) => ({ file, path: assetPath(file) }));
  await Promise.all(
    named.map(async ({ file, path }) => {
      const type = mediaTypes[path.split('.').at(-1) ?? ''] ?? 'application/octet-stream';
      const headers = {
        'Content-Type': type,
        'Cache-Control': 'public, max-age=31536000, immutable',
      };
      files.set(path, await compress(file.contents, headers));
    }),
  );
  const html = await page(metafile);
  files.set(pagePath, await compress(Buffer.from(html), pageHeaders));
  return files;
}

async function bundle(): Promise<{ outputFiles: OutputFile[]; metafile: Metafile }> {
  try {
    return await build({
      absWorkingDir: root,
      entryPoints: ['main.tsx', 'theme.ts', 'style/main.css'],
      outdir: 'assets',
      entryNames: '[name]-[hash]',
      chunkNames: '[name]-[hash]',
      bundle: true,
      splitting: true,
      format: 'esm',
      target: ['chrome111', 'firefox114', 'safari16.4'],
      jsx: 'automatic',
      jsxImportSource: 'preact',
      minify: true,
      metafile: true,
      write: false,
      logLevel: 'silent',
    });
  } finally {
    // Ends esbuild's process.
    await stop();
  }
}

const assetPath = (file: OutputFile): string =>
  assetPrefix + (file.path.split(/[\\/]/).at(-1) ?? '');

/** index.html with the names of this bundle; the imports of the first script are preloaded. */
async function page({ outputs }: Metafile): Promise<string> {
  const template = await readFile(`${root}index.html`, 'utf8');
  const icon = await readFile(`${root}icon.svg`);
  const nameOf = (entry: string): string => {
    const found = Object.entries(outputs).find(([, output]) => output.entryPoint === entry);
    if (found === undefined) throw new Error(`Cannot find ${entry} in the bundle`);
    return found[0];
  };
  const url = (name: string): string => `/${name}`;
  const main = nameOf('main.tsx');
  const imported = (outputs[main]?.imports ?? []).filter(({ kind }) => kind === 'import-statement');
  const tags = [
    `<script src="${url(nameOf('theme.ts'))}"></script>`,
    `<link rel="stylesheet" href="${url(nameOf('style/main.css'))}">`,
    `<script type="module" src="${url(main)}"></script>`,
    ...imported.map(({ path }) => `<link rel="modulepreload" href="${url(path)}">`),
  ];
  return template
    .replace('{{icon}}', icon.toString('base64'))
    .replace('<!--assets-->', tags.join('\n'));
}

const brotli = promisify(brotliCompress);
const gzipped = promisify(gzip);

async function compress(
  bytes: Uint8Array,
  headers: Readonly<Record<string, string>>,
): Promise<File> {
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: brotliQuality,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.byteLength,
  };
  const [br, gzip] = await Promise.all([brotli(bytes, { params }), gzipped(bytes, { level: 9 })]);
  return { headers: withTag(bytes, headers), identity: bytes, br, gzip };
}

function withTag(
  bytes: Uint8Array,
  headers: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const tag = createHash('sha256').update(bytes).digest('base64url').slice(0, 16);
  return { ...headers, ETag: `W/"${tag}"` };
}
