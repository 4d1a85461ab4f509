/**
 * `npm run dev`: runs the service, and restarts it after each change of the sources. `npm run dev -- --demo` serves the
 * sample data, and makes it where it is missing.
 *
 * A change is bundled while the service runs: if that fails, the service continues. It watches folders and not files:
 * many editors save by renaming, and a watcher of a file keeps the one that is gone.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, watch } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const sources = fileURLToPath(new URL('../src', import.meta.url));
const start = fileURLToPath(new URL('start.mjs', import.meta.url));
/** Not the files that editors keep next to them. */
const isSource = (name) => /^\w.*\.(ts|tsx|css|html|js|json|md|svg)$/.test(name ?? '');
/** Longer than an editor takes to save, or `git checkout` to change a few files. */
const saveMs = 100;
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];

let bundler;
let service;
let watchers = [];
let isEnding = false;

for (const signal of signals) {
  process.once(signal, async () => {
    isEnding = true;
    await Promise.all([bundler, service].map(stop));
    process.exit();
  });
}

for (;;) {
  // Watched before they are read: no change is missed.
  const changed = new Promise((resolve) => watchSources(resolve));
  // `version` bundles and loads the program.
  bundler = run(['version'], 'ignore');
  const [code] = await once(bundler, 'exit');
  if (code === 0) {
    await stop(service);
    if (isEnding) break;
    service = run(words(), 'inherit');
    service.once('exit', (status, signal) => {
      process.stderr.write(`Stopped with ${status ?? signal}. The next change starts it\n`);
    });
  }
  await changed;
  await sleep(saveMs);
  process.stderr.write('The sources have changed\n');
}

function run(args, stdout) {
  const command = ['--disable-sigusr1', start, '--dev', ...args];
  return spawn(process.execPath, command, { stdio: ['inherit', stdout, 'inherit'] });
}

async function stop(child) {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.removeAllListeners('exit');
  child.kill();
  await once(child, 'exit');
}

function watchSources(onChange) {
  for (const watcher of watchers) watcher.close();
  const folders = readdirSync(sources, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ parentPath, name }) => join(parentPath, name));
  watchers = [sources, ...folders].map((folder) =>
    watch(folder, (_, name) => {
      if (isSource(name)) onChange();
    }),
  );
}

function words() {
  const [first, ...others] = process.argv.slice(2);
  if (first !== '--demo') return process.argv.slice(2);
  return ['demo', ...(hasDemo() ? ['--existing'] : []), ...others];
}

function hasDemo() {
  try {
    return JSON.parse(readFileSync('demo/demo.json', 'utf8')).complete === true;
  } catch {
    return false;
  }
}
