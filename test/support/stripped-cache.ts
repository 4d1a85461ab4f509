/**
 * The program without its types, for every process that tests start: Node strips some 300 files at each start, half a
 * second of a core. Kept by the text of a file, so a changed one is stripped as ever.
 */
import { hash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { strip } from '../../src/workers/source-cache.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(root, 'node_modules/.cache/quietzone-tests');

/** What a process that runs the program is started with, so that it uses the cache. */
export const cachedEnvironment = {
  NODE_OPTIONS: `--import=${new URL('stripped-cache.mjs', import.meta.url).href}`,
  NODE_COMPILE_CACHE: join(folder, 'compiled'),
};

/** Called by vitest before all tests. */
export function setup(): void {
  const stripped = ['src', 'bench']
    .flatMap((name) => readdirSync(join(root, name), { recursive: true, withFileTypes: true }))
    .filter(({ name }) => name.endsWith('.ts'))
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8'))
    .map((source) => [hash('sha1', source), strip(source)]);
  mkdirSync(folder, { recursive: true });
  const path = join(folder, 'stripped.json');
  // Another run may be reading it.
  writeFileSync(`${path}.${process.pid}`, JSON.stringify(Object.fromEntries(stripped)));
  renameSync(`${path}.${process.pid}`, path);
}
