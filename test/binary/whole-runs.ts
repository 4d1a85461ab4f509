/**
 * Whole runs against the file: the flows and a crash run, with the command that they start taken from a variable (see
 * test/support/program.ts), and two builds that must be equal.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Check, whole } from './checks.ts';
import type { Program } from './place.ts';

/** `linux-x64`. */
type Target = string;

const root = fileURLToPath(new URL('../..', import.meta.url));
const bin = join(root, 'node_modules/.bin');
/** A flow without any of these opens parts of the program in its own process: it has nothing to say about the file. */
const starters =
  /\b(startProcess|ServiceProcess|startProgram|spawnCommand|runCommand|openReal|runCrashes|Arena)\b/;

/** Runs a tool to its end, its output beside ours, with this file as the command under test. @throws unless it is 0 */
function run(file: string, tool: string, args: readonly string[]): void {
  // Not among temporary files, of which doctor would warn.
  const cache = join(root, 'node_modules/.cache/quietzone-binary');
  const env = { ...process.env, QUIETZONE_COMMAND: file, XDG_CACHE_HOME: cache };
  try {
    const { status, signal } = spawnSync(join(bin, tool), args, {
      cwd: root,
      env,
      stdio: 'inherit',
    });
    assert.equal(status ?? signal, 0, tool);
  } finally {
    rmSync(cache, { recursive: true, force: true });
  }
}

/** @returns every file of a build, by its path in `dist` */
function build(tree: string, target: Target): Map<string, Buffer> {
  mkdirSync(dirname(tree), { recursive: true });
  execFileSync('git', ['-C', root, 'worktree', 'add', '--detach', tree, 'HEAD'], { stdio: 'pipe' });
  try {
    symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'));
    const script = join(tree, 'config/release/build.ts');
    execFileSync(join(bin, 'node'), [script, target], { cwd: tree, stdio: 'inherit' });
    const dist = join(tree, 'dist');
    const names = globSync(`${target}/*`, { cwd: dist }).toSorted();
    return new Map(names.map((name) => [basename(name), readFileSync(join(dist, name))]));
  } finally {
    execFileSync('git', ['-C', root, 'worktree', 'remove', '--force', tree]);
  }
}

export const wholeRuns: ReadonlyArray<Check<Program>> = [
  whole('the flows that start the program hold for the file', ([file]) => {
    const flows = globSync('test/flows/**/*.test.ts', { cwd: root }).toSorted();
    const starting = flows.filter((path) => starters.test(readFileSync(join(root, path), 'utf8')));
    const others = flows.filter((path) => !starting.includes(path));
    console.log(`  on the sources alone, in the tests’ own process: ${others.join(', ')}`);
    console.log(
      '  and, as it is about npm: `npm start` in test/flows/process/stop-signals.test.ts',
    );
    // Without the limits of seconds: they are for the sources.
    const options = ['--config', 'config/vitest.ts', '--reporter', 'default'];
    run(file, 'vitest', ['run', ...options, ...starting]);
  }),
  whole('the file loses nothing when it is killed twenty times under load', ([file]) =>
    run(file, 'node', ['test/torture/run.ts', 'crash', '--rounds', '20']),
  ),
];

export const builds: ReadonlyArray<Check<Target>> = [
  whole('two builds of a commit, in different folders, are the same bytes', (target) => {
    const parent = mkdtempSync(join(tmpdir(), 'quietzone-builds-'));
    try {
      const first = build(join(parent, 'tree'), target);
      const second = build(join(parent, 'a/deeper/tree'), target);
      assert.deepEqual([...second.keys()], [...first.keys()]);
      assert.ok(first.has('quietzone'));
      const other = [...first].filter(([name, bytes]) => second.get(name)?.equals(bytes) !== true);
      assert.deepEqual(
        other.map(([name]) => name),
        [],
      );
    } finally {
      rmSync(parent, { recursive: true, force: true });
    }
  }),
];
