/**
 * For what runs from sources: tests, their threads, and the processes that they start with a file of types (`fork`, the
 * parts and the receivers of the bench). Node strips a file of its types each time it loads it, 0.2 s of a core for each
 * of them; here each is stripped once and kept, named after its content. Plain JavaScript: nothing strips this.
 */
import { hash, randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';

const folder = new URL('../../', import.meta.url).href;
const packages = new URL('node_modules/', folder).href;
const kept = new URL('.cache/quietzone-tests/stripped/', packages);

registerHooks({
  load(url, context, nextLoad) {
    const isOurs = url.startsWith(folder) && !url.startsWith(packages) && url.endsWith('.ts');
    if (!isOurs) return nextLoad(url, context);
    const source = strip(readFileSync(new URL(url), 'utf8'));
    return { format: 'module', source, shortCircuit: true };
  },
});

function strip(source) {
  const file = new URL(hash('sha256', process.version + source), kept);
  try {
    return readFileSync(file, 'utf8');
  } catch {
    mkdirSync(kept, { recursive: true });
  }
  const stripped = stripQuietly(source);
  const draft = new URL(randomUUID(), kept);
  writeFileSync(draft, stripped);
  renameSync(draft, file);
  return stripped;
}

/** Node warns that the function is experimental; the stripping of types itself is not. */
function stripQuietly(source) {
  const emitWarning = Reflect.get(process, 'emitWarning');
  process.emitWarning = () => undefined;
  try {
    return stripTypeScriptTypes(source);
  } finally {
    process.emitWarning = emitWarning;
  }
}
