/**
 * The first code of the one file: lays its files out where that has not been done, checks them, and hands over to the
 * program. `version` and `unpack` need nothing that is laid out, so they are answered here.
 */
import { hash } from 'node:crypto';
import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { getAsset } from 'node:sea';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { zstdDecompressSync } from 'node:zlib';
import { nativesText, versionText } from '../../src/operations/version.ts';
import type { Pack, PackPart } from '../../src/platform/shipped.ts';
import {
  installedRoot,
  openRuntimeFolder,
  type RuntimeFolderOptions,
  touch,
  unpackForAll,
} from './runtime-folder.ts';

const dayMs = 86_400_000;
/** This executable, even after an upgrade has put another file in its place. */
const running = existsSync('/proc/self/exe') ? '/proc/self/exe' : process.execPath;

const pack: Pack = JSON.parse(getAsset('pack.json', 'utf8'));

/** Reads a part that follows the program. @throws Error where the file is cut short or damaged */
function readPart({ fromEnd, size, sha256 }: PackPart): Uint8Array {
  const fault = `${process.execPath} is damaged, expected the file as it was made (SHA256SUMS)`;
  const file = openSync(running, 'r');
  try {
    const bytes = new Uint8Array(size);
    const start = fstatSync(file).size - fromEnd;
    if (start < 0) throw new Error(fault);
    for (let at = 0; at < size;) {
      const count = readSync(file, bytes, at, size - at, start + at);
      if (count === 0) throw new Error(fault);
      at += count;
    }
    if (hash('sha256', bytes, 'hex') !== sha256) throw new Error(fault);
    return bytes;
  } finally {
    closeSync(file);
  }
}

const options: RuntimeFolderOptions = {
  pack,
  environment: process.env,
  user: process.geteuid?.() ?? 0,
  readFiles: () => zstdDecompressSync(readPart(pack.parts.pack), { chunkSize: pack.size }),
  load: (path) => process.dlopen({ exports: {} }, path),
};

function start(): void {
  // An earlier start may have laid the files out, but geo data is read from the executable: it must not be cut off.
  readPart(pack.parts.end);
  const folder = openRuntimeFolder(options);
  // Other builds delete a folder that no start has touched for long.
  setInterval(() => touch(folder), dayMs).unref();
  // `require` refuses a module that awaits at its top level.
  const main = pathToFileURL(join(folder, 'main.mjs')).href;
  // Reasons are printed by the program: what arrives here is a defect.
  import(main).catch((error: unknown) => {
    fail(error instanceof Error ? (error.stack ?? error.message) : String(error));
  });
}

function fail(text: string): void {
  process.stderr.write(`${text}\n`);
  process.exit(1);
}

/** Undefined where the program is to name the fault, or to print its help. */
function unpackRoot(args: readonly string[]): string | undefined {
  try {
    const { positionals } = parseArgs({ args: [...args], allowPositionals: true });
    return positionals.length > 1 ? undefined : (positionals[0] ?? installedRoot);
  } catch {
    return undefined;
  }
}

const args = process.argv.slice(2);
const [word = '', ...rest] = args;
try {
  const root = word === 'unpack' ? unpackRoot(rest) : undefined;
  if (root !== undefined) {
    process.stdout.write(`${unpackForAll(root, options)}\n`);
  } else if (['version', '--version', '-V', 'version --verbose'].includes(args.join(' '))) {
    const natives = rest.length > 0 ? nativesText(pack.natives) : [];
    process.stdout.write(`${[versionText(pack), ...natives].join('\n')}\n`);
  } else {
    start();
  }
} catch (error) {
  fail(error instanceof Error ? error.message : String(error));
}
