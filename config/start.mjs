/**
 * The first file of a start from sources: runs their bundle (program.mjs). A start of the service first makes the geo table
 * if `npm ci` has made none.
 *
 * `npm run dev` (dev.mjs) adds --dev: pages of the dashboard then reload themselves (reload.js).
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { openProgram } from './program.mjs';

const isDev = process.argv[2] === '--dev';
if (isDev) process.argv.splice(2, 1);
const args = process.argv.slice(2);
const [command = 'serve'] = args;
const table = new URL('../node_modules/.cache/quietzone-geo/places.geo', import.meta.url);
const isShown = args.some((arg) => ['-h', '--help', '-V', '--version'].includes(arg));
const isStart = !isShown && (command.startsWith('-') || ['serve', 'demo'].includes(command));
if (isStart && !existsSync(table)) {
  process.stderr.write('The geo table is missing: making it, about 10 s\n');
  const maker = fileURLToPath(new URL('release/geo-files.ts', import.meta.url));
  spawnSync(process.execPath, [maker], { stdio: ['ignore', 2, 2] });
}

const folder = await openProgram(isDev).catch((error) => {
  const remedy = isDev
    ? 'correct the file; if a package is missing, run `npm ci`'
    : 'run `npm ci` as the owner of this checkout';
  process.stderr.write(`Cannot bundle the sources: ${error.message}; ${remedy}\n`);
  process.exit(1);
});
await import(pathToFileURL(join(folder, 'main.mjs')).href);
