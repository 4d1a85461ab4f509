/**
 * For the processes that tests start with a file of types (`fork`, the parts and the receivers of the bench): what they
 * import comes without its types from the cache, as in a start from sources (src/start.mjs). By itself Node strips all of
 * it again in each of them, 0.2 s of a core. Plain JavaScript: nothing strips this.
 */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { strip } from '../../src/workers/source-cache.mjs';

const folder = new URL('../../', import.meta.url).href;
const packages = new URL('node_modules/', folder).href;

registerHooks({
  load(url, context, nextLoad) {
    const isOurs = url.startsWith(folder) && !url.startsWith(packages) && url.endsWith('.ts');
    if (!isOurs) return nextLoad(url, context);
    const source = strip(readFileSync(new URL(url), 'utf8'));
    return { format: 'module', source, shortCircuit: true };
  },
});
