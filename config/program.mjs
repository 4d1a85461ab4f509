/**
 * The program and the dashboard of a checkout, bundled as in the one file: a start finds and reads 60 files in place of 900.
 *
 *   node_modules/.cache/quietzone-program/<key>/main.mjs, one for each thread entry, chunks, dashboard.bin
 *
 * The key is of the names, sizes and times of all sources, so a bundle cannot become stale. Plain JavaScript: a start that
 * finds its bundle does not load what strips types.
 */
import { hash, randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const cache = join(root, 'node_modules/.cache/quietzone-program');
/** A process starts threads of its bundle for as long as it lives, and says each hour that it needs it. */
const touchMs = 3_600_000;
const keptMs = 48 * touchMs;
const keyDigits = 16;

/**
 * The folder of the bundle; made if there is none.
 * @param isDev whether the dashboard's pages reload themselves
 * @throws Error if it cannot be made or stored
 */
export async function openProgram(isDev = false) {
  const folder = join(cache, keyOfSources() + (isDev ? '-dev' : ''));
  if (!isReadable(folder)) await make(folder, isDev);
  touch(folder);
  setInterval(() => touch(folder), touchMs).unref();
  return folder;
}

const isReadable = (folder) => existsSync(join(folder, 'main.mjs'));

function keyOfSources() {
  const names = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' });
  const sources = names.map((name) => join('src', name));
  const configs = ['default.json', 'reload.js', 'release/bundle.ts', 'release/dashboard.ts'];
  const others = ['package.json', 'package-lock.json', ...configs.map((name) => `config/${name}`)];
  const states = [...sources, ...others].map((name) => {
    const { size, mtimeMs } = statSync(join(root, name), { throwIfNoEntry: false }) ?? {};
    return `${name} ${size} ${mtimeMs}`;
  });
  return hash('sha256', [root, process.version, ...states.toSorted()].join('\n'), 'hex').slice(
    0,
    keyDigits,
  );
}

async function make(folder, isDev) {
  // First: if the folder is missing, the bundler reports it for each of its files.
  const draft = `${folder}.${randomUUID()}`;
  mkdirSync(draft, { recursive: true });
  try {
    const { bundleCheckout } = await import('./release/bundle.ts');
    await bundleCheckout(root, draft, isDev);
    if (!isReadable(folder)) renameSync(draft, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  for (const name of readdirSync(cache)) removeOld(join(cache, name));
}

function removeOld(folder) {
  try {
    if (Date.now() - statSync(folder).mtimeMs > keptMs) rmSync(folder, { recursive: true });
  } catch {
    // Of another user, or another start was faster.
  }
}

function touch(folder) {
  try {
    utimesSync(folder, new Date(), new Date());
  } catch {
    // Of another user.
  }
}
