/**
 * The laws of the house that oxlint cannot keep (config/oxlint.json has the others). A finding names file and line,
 * and says what to do instead.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { checkArrows } from './tidy/arrows.ts';
import { checkFolders, checkTestFunctions, finding, readSource } from './tidy/source.ts';
import { checkEntryPackages, checkHotFiles } from './tidy/threads.ts';

const root = new URL('..', import.meta.url).pathname;
const list = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length));
const read = (folder: string) =>
  list(folder)
    .filter((path) => /\.(ts|tsx|mjs)$/.test(path))
    .map((path) => readSource(root, path));

const src = read('src');

it('imports go down only, and a library stays in its folders', () => {
  expect(src.length).toBeGreaterThan(500);
  expect(checkArrows(src)).toEqual([]);
});

it('hot files do not wait, and write no log', () => {
  expect(checkHotFiles(src)).toEqual([]);
});

it('no thread loads the packages of another', () => {
  expect(checkEntryPackages(src)).toEqual([]);
});

it('the time of day comes from a clock that is handed in', () => {
  const message = 'new Date() reads the clock; use clock.now() of a Clock handed in';
  const findings = src.flatMap((source) =>
    [...source.text.matchAll(/\bnew Date\b(?!\(\s*[^)\s])/g)].map(({ index }) =>
      finding(source, index, message),
    ),
  );
  expect(findings).toEqual([]);
});

it('a folder has at most 22 files', () => {
  expect(checkFolders(['src', 'test', 'bench'].flatMap(list))).toEqual([]);
});

it('a function of a test has at most 70 lines', () => {
  expect(checkTestFunctions(read('test'))).toEqual([]);
});
