/** A start from sources runs their bundle and shows their dashboard (config/program.mjs), in a copy of this checkout. */
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../', import.meta.url));
let copy = '';

beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'quietzone-program-'));
  for (const name of ['src', 'config', 'package.json', 'package-lock.json']) {
    cpSync(join(root, name), join(copy, name), { recursive: true });
  }
  mkdirSync(join(copy, 'node_modules'));
  for (const name of readdirSync(join(root, 'node_modules'))) {
    if (name !== '.cache') {
      symlinkSync(join(root, 'node_modules', name), join(copy, 'node_modules', name));
    }
  }
});
afterAll(() => rmSync(copy, { recursive: true }));

const cache = (): string => join(copy, 'node_modules/.cache/quietzone-program');

/** Says on the standard error whether what strips types was loaded. */
const script = `process.on('exit', () => console.error('strips', process.moduleLoadList.some((name) => name.includes('amaro'))))`;
const watching = `--import=data:text/javascript,${encodeURIComponent(script)}`;

function start(code = 0): { stdout: string; stderr: string } {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [watching, join(copy, 'config/start.mjs'), 'version'],
    { encoding: 'utf8', env: { PATH: process.env['PATH'] } },
  );
  expect([status, stderr]).toEqual([code, expect.any(String)]);
  return { stdout, stderr };
}

it('makes it once, makes it again for other sources, and deletes bundles that no process has used for two days', () => {
  const made = start();
  expect(made.stdout).toMatch(/^0\.\d+\.\d+ \(from source/);
  const [first = ''] = readdirSync(cache());
  expect(start()).toEqual({ ...made, stderr: 'strips false\n' });
  expect(readdirSync(cache())).toEqual([first]);

  const file = join(copy, 'src/cli/version.ts');
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll('from source', 'from elsewhere'));
  appendFileSync(join(copy, 'src/dashboard/style/main.css'), '.just-written { color: red }');
  const old = new Date(Date.now() - 3 * 86_400_000);
  mkdirSync(join(cache(), 'unused'));
  utimesSync(join(cache(), 'unused'), old, old);
  expect(start().stdout).toContain('(from elsewhere');
  const names = readdirSync(cache());
  expect(names).toHaveLength(2);
  expect(names).toContain(first);
  const hasChange = [first, ...names.filter((name) => name !== first)].map((name) =>
    readFileSync(join(cache(), name, 'dashboard.bin')).includes('.just-written{color:red}'),
  );
  expect(hasChange).toEqual([false, true]);
});

it('is refused in words where it cannot be stored', () => {
  rmSync(join(copy, 'node_modules/.cache'), { recursive: true });
  writeFileSync(join(copy, 'node_modules/.cache'), '');
  const { stdout, stderr } = start(1);
  expect(stdout).toBe('');
  expect(stderr).toMatch(/^Cannot bundle the sources: ENOTDIR.*; run `npm ci` as the owner .*\n/);
});
