/** Sources are stripped of their types once, not at each start. */
import { spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
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

it('keeps what it has stripped, and makes again what is damaged', () => {
  const folder = folderOf('kept');
  expect(strip(source, folder)).toBe(stripped);
  const [name = ''] = readdirSync(folder);
  const file = new URL(name, folder);
  const kept = readFileSync(file, 'utf8');
  expect(kept.endsWith(stripped)).toBe(true);
  const made = statSync(file).ino;
  expect(strip(source, folder)).toBe(stripped);
  expect(statSync(file).ino).toBe(made);
  const zeros = '\0'.repeat(kept.length);
  for (const damaged of ['', kept.slice(0, -1), zeros, kept.replace('codes', 'marks'), stripped]) {
    writeFileSync(file, damaged);
    expect(strip(source, folder)).toBe(stripped);
    expect(readFileSync(file, 'utf8')).toBe(kept);
  }
});

it('begins again with an empty folder at 5,000 files', () => {
  const folder = folderOf('full');
  mkdirSync(folder);
  for (let file = 0; file < 5_000; file++) writeFileSync(new URL(String(file), folder), '');
  for (const files of [1, 2]) {
    strip(source.repeat(files), folder);
    expect(readdirSync(folder)).toHaveLength(files);
  }
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
