/**
 * Read before the program (stripped-cache.ts): its files come without types, for its own thread as for those that it
 * starts. Plain JavaScript: nothing strips this. What runs outside the suite (`npm run crash`) may have no cache.
 */
import { hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';

const cache = new URL('../../node_modules/.cache/quietzone-tests/stripped.json', import.meta.url);

if (isMainThread && existsSync(cache)) {
  const stripped = JSON.parse(readFileSync(cache, 'utf8'));
  module.registerHooks({
    load(url, context, nextLoad) {
      if (!url.startsWith('file:') || !url.endsWith('.ts')) return nextLoad(url, context);
      const source = stripped[hash('sha1', readFileSync(fileURLToPath(url), 'utf8'))];
      if (source === undefined) return nextLoad(url, context);
      return { format: 'module', source, shortCircuit: true };
    },
  });
  const strip = module.stripTypeScriptTypes;
  module.stripTypeScriptTypes = (source) => stripped[hash('sha1', source)] ?? strip(source);
  module.syncBuiltinESMExports();
}
