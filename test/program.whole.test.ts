/** A start from sources runs their bundle and shows their dashboard (config/program.mjs), in a copy of this checkout. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import { sharedFolder } from './store/temporary-management.ts';

const root = fileURLToPath(new URL('../', import.meta.url));
const parent = sharedFolder();
const copy = join(parent, 'checkout');

beforeAll(() => {
  for (const name of ['src', 'config', 'package.json', 'package-lock.json']) {
    cpSync(join(root, name), join(copy, name), { recursive: true });
  }
  mkdirSync(join(copy, 'node_modules'));
  for (const name of readdirSync(join(root, 'node_modules'))) {
    const linked = join('node_modules', name);
    if (name !== '.cache') symlinkSync(join(root, linked), join(copy, linked));
  }
});

const cache = join(copy, 'node_modules/.cache/quietzone-program');

/** Says on the standard error whether what strips types was loaded. */
const script = `process.on('exit', () => console.error('strips', process.moduleLoadList.some((name) => name.includes('amaro'))))`;
const watching = `--import=data:text/javascript,${encodeURIComponent(script)}`;

function start({ code = 0, words = ['version'] } = {}): { stdout: string; stderr: string } {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [watching, join(copy, 'config/start.mjs'), ...words],
    { encoding: 'utf8', env: { PATH: process.env['PATH'] } },
  );
  expect([status, stderr]).toEqual([code, expect.any(String)]);
  return { stdout, stderr };
}

it('makes it once, makes it again for other sources, and deletes bundles that no process has used for two days', () => {
  const made = start();
  expect(made.stdout).toMatch(/^0\.\d+\.\d+ \(from source/);
  const [first = ''] = readdirSync(cache);
  expect(start()).toEqual({ ...made, stderr: 'strips false\n' });
  expect(readdirSync(cache)).toEqual([first]);

  const file = join(copy, 'src/operations/version.ts');
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll('from source', 'from elsewhere'));
  appendFileSync(join(copy, 'src/dashboard/style/main.css'), '.just-written { color: red }');
  const old = new Date(Date.now() - 3 * 86_400_000);
  mkdirSync(join(cache, 'unused'));
  utimesSync(join(cache, 'unused'), old, old);
  // As `npm run dev` does, whose pages reload themselves.
  expect(start({ words: ['--dev', 'version'] }).stdout).toContain('(from elsewhere');
  const names = readdirSync(cache);
  expect(names).toHaveLength(2);
  expect(names).toContain(first);
  for (const name of names) {
    const dashboard = readFileSync(join(cache, name, 'dashboard.bin'));
    expect(dashboard.includes('.just-written{color:red}')).toBe(name !== first);
    expect(dashboard.includes('src="/assets/reload-')).toBe(name !== first);
  }
});

it('runs again after each change that can be bundled, however an editor saves it', async () => {
  const dev = spawn(process.execPath, [join(copy, 'config/dev.mjs'), 'version']);
  const ended = once(dev, 'exit');
  // A busy machine takes 30 s to bundle.
  const timeout = 120_000;
  let output = '';
  const add = (chunk: Buffer): void => void (output += chunk.toString());
  dev.stdout.on('data', add);
  dev.stderr.on('data', add);
  try {
    await expect.poll(() => output, { timeout }).toMatch(/from elsewhere.*\nStopped with 0/);
    const file = join(copy, 'src/operations/version.ts');
    const source = readFileSync(file, 'utf8');
    writeFileSync(`${file}~`, source.replace("'from elsewhere", "broken 'from elsewhere"));
    renameSync(`${file}~`, file);
    await expect.poll(() => output, { timeout }).toContain('Cannot bundle the sources');
    writeFileSync(file, source.replace('from elsewhere', 'from here'));
    await expect.poll(() => output, { timeout }).toContain('(from here');
  } finally {
    dev.kill();
    await ended;
  }
});

it('is refused in words where it cannot be stored', () => {
  rmSync(join(copy, 'node_modules/.cache'), { recursive: true });
  writeFileSync(join(copy, 'node_modules/.cache'), '');
  const { stdout, stderr } = start({ code: 1 });
  expect(stdout).toBe('');
  expect(stderr).toMatch(/^Cannot bundle the sources: ENOTDIR.*; run `npm ci` as the owner .*\n/);
});

/** The `quietzone` command: found through a link from any folder, it ends with npx. */

/** A fake of the service: prints its arguments. */
const service = `
const [order, ...rest] = process.argv.slice(2);
process.on('SIGTERM', () => {
  console.log('stopped');
  process.exit(7);
});
console.log(JSON.stringify({ order, rest, folder: process.cwd() }));
if (order === 'stay') setTimeout(() => undefined, 20_000);
else process.exitCode = 5;
`;

const command = join(parent, 'quietzone');

beforeAll(() => {
  const home = join(parent, 'launched/config');
  mkdirSync(home, { recursive: true });
  copyFileSync(join(root, 'config/quietzone.mjs'), join(home, 'quietzone.mjs'));
  writeFileSync(join(home, 'package.json'), '{"type":"module"}');
  writeFileSync(join(home, 'start.mjs'), service);
  symlinkSync(join(home, 'quietzone.mjs'), command);
});

it('passes arguments and the folder on, and the exit code back', () => {
  const args = [command, 'keys', 'create', '--name', 'a b'];
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: tmpdir(), encoding: 'utf8' });
  expect(status).toBe(5);
  const rest = ['create', '--name', 'a b'];
  expect(JSON.parse(stdout)).toEqual({ order: 'keys', rest, folder: tmpdir() });
});

it('names what an older Node lacks', () => {
  const old = "Object.defineProperty(process.versions, 'node', { value: '20.19.0' })";
  const args = ['--import', `data:text/javascript,${old}`, command];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect(status).toBe(1);
  expect(stderr).toContain(
    'this is Node.js 20.19.0, expected 22.18 or later; `npm ci` installs it',
  );
});

it('stops when npx has ended, which runs it by a shell that passes no signal on', async () => {
  const line = `"${process.execPath}" "${command}" stay; true`;
  const shell = spawn('/bin/sh', ['-c', line], {
    env: { ...process.env, npm_lifecycle_event: 'npx' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  shell.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
    shell.kill('SIGTERM');
  });
  await once(shell, 'close');
  expect(output).toMatch(/stopped\n$/);
});
