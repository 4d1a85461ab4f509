/**
 * Sources without their types, kept from one start to the next: stripping all of them takes half a second of a core, and
 * the WebAssembly module that does it 15 MB for as long as the process lives.
 *
 *   node_modules/.cache/quietzone-sources/<SHA-256 of Node's version and the source>
 *
 *       8 digits: CRC-32 | the source, types become blanks
 *
 * What a file is named after cannot become stale, so nothing is ever compared or renewed. All may be deleted at any time;
 * a folder that cannot be written costs the time of each start. Plain JavaScript: nothing strips this.
 */
import { hash, randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { crc32 } from 'node:zlib';

const standardFolder = new URL('../../node_modules/.cache/quietzone-sources/', import.meta.url);
/** Some ten versions of all sources; beyond it, all are made again. */
const filesMax = 5_000;
const checkDigits = 8;
/** Folders that this process has looked into. */
const prepared = new Set();

/** Of an ES module in TypeScript; line numbers and columns stay. @throws SyntaxError */
export function strip(source, folder = standardFolder) {
  const file = new URL(hash('sha256', process.version + source), folder);
  const kept = read(file);
  if (kept !== undefined) return kept;
  const stripped = stripQuietly(source);
  keep(file, folder, stripped);
  return stripped;
}

/** Undefined where it is not there, or not whole: a loss of power may leave zeros. */
function read(file) {
  try {
    const text = readFileSync(file, 'utf8');
    const stripped = text.slice(checkDigits);
    return text.startsWith(checkOf(stripped)) ? stripped : undefined;
  } catch {
    return undefined;
  }
}

const checkOf = (text) => crc32(text).toString(16).padStart(checkDigits, '0');

function keep(file, folder, stripped) {
  try {
    if (!prepared.has(folder.href)) prepare(folder);
    const draft = new URL(randomUUID(), folder);
    writeFileSync(draft, checkOf(stripped) + stripped);
    renameSync(draft, file);
  } catch {
    // Read-only, or of another user.
  }
}

function prepare(folder) {
  prepared.add(folder.href);
  mkdirSync(folder, { recursive: true });
  if (readdirSync(folder).length < filesMax) return;
  rmSync(folder, { recursive: true });
  mkdirSync(folder);
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
