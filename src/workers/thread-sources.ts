/**
 * What a thread runs, without its types: stripped once, by the thread that starts it, and handed over in shared memory.
 * Left to itself each thread strips what it imports, with a WebAssembly module of its own: 10 MB and 50 ms of a core.
 *
 *     thread entry ─ its imports, and theirs ─ strip ─▶ | source | source | … |   shared by all threads
 *                                                         ▲ load hook of the thread (stripped-sources.mjs)
 *
 * A file that is not among them (a computed import) is loaded as ever. Line numbers stay: types become blanks.
 */
import { readFileSync } from 'node:fs';
import { setEnvironmentData } from 'node:worker_threads';
import { strip } from './source-cache.mjs';

/** Where a file's source lies, UTF-8. */
export interface StrippedSource {
  readonly bytes: SharedArrayBuffer;
  readonly start: number;
  readonly end: number;
}

/** The name under which every thread finds the sources. */
const environmentKey = 'quietzone.sources';
const loader = new URL('./stripped-sources.mjs', import.meta.url);
const sources = new Map<string, StrippedSource>();
const specifier = /\b(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+\.ts)'/g;

export interface ThreadStart {
  readonly file: URL;
  readonly argv: string[];
  /** Of the function that a pool calls. */
  readonly name: 'default' | 'work';
}

/**
 * What a thread is started with, so that it runs `entry`. Not by options of Node: given any, a thread takes none of its
 * parent's, and of those that are V8's it takes none at all.
 */
export function threadStart(entry: URL): ThreadStart {
  const plain: ThreadStart = { file: entry, argv: [], name: 'default' };
  if (!entry.pathname.endsWith('.ts')) return plain;
  try {
    if (!sources.has(entry.href)) add(entry);
  } catch {
    // What cannot be read or stripped is reported by the thread that imports it.
    return plain;
  }
  return { file: loader, argv: [entry.href], name: 'work' };
}

function add(entry: URL): void {
  const stripped = new Map<string, Buffer>();
  const waiting = [entry.href];
  for (let url = waiting.pop(); url !== undefined; url = waiting.pop()) {
    if (sources.has(url) || stripped.has(url)) continue;
    const source = strip(readFileSync(new URL(url), 'utf8'));
    stripped.set(url, Buffer.from(source));
    for (const [, path = ''] of source.matchAll(specifier)) waiting.push(new URL(path, url).href);
  }
  const length = [...stripped.values()].reduce((sum, source) => sum + source.length, 0);
  const bytes = new SharedArrayBuffer(length);
  let start = 0;
  for (const [url, source] of stripped) {
    const end = start + source.length;
    new Uint8Array(bytes).set(source, start);
    sources.set(url, { bytes, start, end });
    start = end;
  }
  setEnvironmentData(environmentKey, sources);
}
