#!/usr/bin/env node
/**
 * The `quietzone` command of a checkout. npx runs it with the Node 22 that `npm ci` installs as a dependency, a link with
 * the machine's own. Plain JavaScript, because an older Node may read it: it says what is missing.
 */

/** Runs TypeScript files without a flag from here on. */
const oldest = [22, 18];
const parentPollMs = 250;

// Without a listener this signal opens Node's inspector.
process.on('SIGUSR1', () => undefined);

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major > oldest[0] || (major === oldest[0] && minor >= oldest[1])) {
  stopWithNpx();
  await import('./start.mjs');
} else {
  process.stderr.write(
    `Cannot start: this is Node.js ${process.versions.node}, expected ${oldest.join('.')} or later; ` +
      '`npm ci` installs it for `npx quietzone` and `npm start`\n',
  );
  process.exitCode = 1;
}

/** npx starts this through a shell that does not pass signals on: when npx ends, the shell goes, and so do we. */
function stopWithNpx() {
  if (process.env.npm_lifecycle_event !== 'npx') return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, parentPollMs);
  timer.unref();
}
