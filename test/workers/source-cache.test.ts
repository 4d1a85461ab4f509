/** Sources are stripped of their types once, not at each start. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { strip } from '../../src/workers/source-cache.mjs';

const source = 'export const codes: number = 1;\n';
const stripped = 'export const codes         = 1;\n';
let parent = '';

beforeAll(() => {
  parent = mkdtempSync(join(tmpdir(), 'quietzone-sources-'));
});
afterAll(() => rmSync(parent, { recursive: true }));

const folderOf = (name: string): URL => pathToFileURL(`${join(parent, name)}/`);

it('keeps what it has stripped, and makes again what is cut short', () => {
  const folder = folderOf('kept');
  expect(strip(source, folder)).toBe(stripped);
  const [name = ''] = readdirSync(folder);
  const file = new URL(name, folder);
  expect(readFileSync(file, 'utf8')).toBe(stripped);
  const marked = stripped.replace('codes', 'marks');
  writeFileSync(file, marked);
  expect(strip(source, folder)).toBe(marked);
  writeFileSync(file, '');
  expect(strip(source, folder)).toBe(stripped);
  expect(readFileSync(file, 'utf8')).toBe(stripped);
});

it('works where it can keep nothing', () => {
  writeFileSync(join(parent, 'file'), '');
  expect(strip(source, folderOf('file'))).toBe(stripped);
});

it('starts the program without what strips types', () => {
  const start = new URL('../../src/start.mjs', import.meta.url).pathname;
  const script = `process.on('exit', () => console.error(process.moduleLoadList.some((name) => name.includes('amaro'))))`;
  const importing = `--import=data:text/javascript,${encodeURIComponent(script)}`;
  const run = () =>
    spawnSync(process.execPath, [importing, start, 'version'], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'] },
    });
  run();
  const { stdout, stderr, status } = run();
  expect([stderr, status]).toEqual(['false\n', 0]);
  expect(stdout).toMatch(/^quietzone|^\d/);
});
