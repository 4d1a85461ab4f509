/**
 * The first file of a start from sources: main.ts, and all that it imports, come without their types from the cache
 * (workers/source-cache.mjs). `node src/main.ts` is the same program, half a second later.
 */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { strip } from './workers/source-cache.mjs';

const folder = new URL('.', import.meta.url).href;

registerHooks({
  load(url, context, nextLoad) {
    if (!url.startsWith(folder) || !url.endsWith('.ts')) return nextLoad(url, context);
    const source = strip(readFileSync(new URL(url), 'utf8'));
    return { format: 'module', source, shortCircuit: true };
  },
});

await import('./main.ts');
