#!/usr/bin/env node
/**
 * The `quietzone` command. Node 20 or later may start it; the service runs on the Node 22 that is
 * installed as a dependency, or on the Node that started it where that is new enough and no binary is installed.
 *
 * Plain JavaScript, because an older Node runs it. Started by the right Node already, it becomes the
 * service; otherwise it stays as the parent: it shares its standard streams, passes signals on, and
 * ends with the exit code of the service.
 */
import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Runs TypeScript files without a flag from here on. */
const oldestMajor = 22;
const oldestMinor = 18;
const parentPollMs = 250;
const packageName = `node-${process.platform}-${process.arch}`;

// Without a listener this signal opens Node's inspector.
process.on('SIGUSR1', () => undefined);

const main = new URL('./start.mjs', import.meta.url);
const node = findNode();
if (node === undefined) {
  process.stderr.write(
    `Cannot start: this is Node.js ${process.versions.node} and ${packageName} is not installed, ` +
      `expected Node.js ${oldestMajor}.${oldestMinor} or later, or \`npm install\` to bring it\n`,
  );
  process.exitCode = 1;
} else if (node === realpathSync(process.execPath)) {
  stopWithNpx(() => process.kill(process.pid, 'SIGTERM'));
  await import(main.href);
} else {
  runChild(node);
}

/** npx starts this through a shell that does not pass signals on: when npx ends, the shell goes, and so do we. */
function stopWithNpx(stop) {
  if (process.env.npm_lifecycle_event !== 'npx') return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    stop();
  }, parentPollMs);
  timer.unref();
}

/** The dependency's binary, else this process's own where it is new enough. */
function findNode() {
  try {
    const manifest = createRequire(import.meta.url).resolve(`${packageName}/package.json`);
    const binary = join(
      dirname(manifest),
      'bin',
      process.platform === 'win32' ? 'node.exe' : 'node',
    );
    if (existsSync(binary)) return realpathSync(binary);
  } catch {
    // Not published, or not installed, for this platform.
  }
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isNew = major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
  return isNew ? realpathSync(process.execPath) : undefined;
}

/** Runs the service on `binary` and ends as it ends. */
function runChild(binary) {
  const args = ['--disable-sigusr1', fileURLToPath(main), ...process.argv.slice(2)];
  const child = spawn(binary, args, { stdio: 'inherit' });
  // Keys at a terminal (Ctrl-C, Ctrl-\) signal the child too, and twice means "at once" to many
  // programs: those two are passed on only where no terminal can have sent them.
  const hasTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP', 'SIGUSR2']) {
    const fromKeys = signal === 'SIGINT' || signal === 'SIGQUIT';
    process.on(signal, () => (fromKeys && hasTerminal ? undefined : child.kill(signal)));
  }
  stopWithNpx(() => child.kill('SIGTERM'));
  child.on('error', (error) => {
    process.stderr.write(
      `Cannot start ${binary}: ${error.message}, expected a program that runs\n`,
    );
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    process.exit(code ?? 128 + (constants.signals[signal] ?? 0));
  });
}
