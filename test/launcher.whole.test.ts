/** The `quietzone` command: found through a link from any folder, it ends with npx. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';

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

let folder = '';
let command = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'quietzone-launcher-'));
  const home = join(folder, 'config');
  mkdirSync(home);
  const launcher = new URL('../config/quietzone.mjs', import.meta.url);
  copyFileSync(launcher, join(home, 'quietzone.mjs'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(home, 'start.mjs'), service);
  command = join(folder, 'quietzone');
  symlinkSync(join(home, 'quietzone.mjs'), command);
});
afterAll(() => rmSync(folder, { recursive: true }));

it('passes arguments and the folder on, and the exit code back', () => {
  const args = [command, 'keys', 'create', '--name', 'a b'];
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: tmpdir(), encoding: 'utf8' });
  expect(status).toBe(5);
  expect(JSON.parse(stdout)).toEqual({
    order: 'keys',
    rest: ['create', '--name', 'a b'],
    folder: tmpdir(),
  });
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
