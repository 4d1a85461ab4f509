/**
 * The first file of a thread: loads the file that its argument names, from the sources that were stripped for it
 * (thread-sources.ts). Plain JavaScript: nothing strips this.
 */
import { registerHooks } from 'node:module';
import { getEnvironmentData } from 'node:worker_threads';

const sources = getEnvironmentData('quietzone.sources');

registerHooks({
  load(url, context, nextLoad) {
    const found = sources.get(url);
    if (found === undefined) return nextLoad(url, context);
    const { bytes, start, end } = found;
    const source = Buffer.from(bytes, start, end - start).toString('utf8');
    return { format: 'module', source, shortCircuit: true };
  },
});

/** A pool calls it with its tasks. */
export const { default: work } = await import(process.argv[2]);
