/**
 * The laws of the house, checked by reading the tree. A finding names file, line and what to write
 * instead. Each law is also broken on purpose, in a tree of one or two files, to show that it bites.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hotFiles } from './tidy/engines.ts';
import { checkTree, formatFindings } from './tidy/laws.ts';
import { fileLinesMax, functionLinesMax } from './tidy/shape.ts';
import type { File } from './tidy/source.ts';

const root = new URL('..', import.meta.url).pathname;
const folders = ['src', 'test', 'bench', 'config', '.ci'];
const rootFiles = ['package.json', 'package-lock.json', '.npmrc', '.gitignore', 'README.md'];
const textEnding = /\.(ts|tsx|mjs|json|md|service|css|html|svg|txt)$|^\.ci\/run$|^\.\w+$/;

function readTree(): File[] {
  const listed = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length)),
  );
  const top = readdirSync(root).filter((name) => rootFiles.includes(name));
  return [...listed, ...top]
    .filter((path) => textEnding.test(path))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

/** What the laws say to these files; `file` entries are path and text. */
const check = (
  tree: Record<string, string>,
  hot: Readonly<Record<string, readonly string[]>> = {},
): string =>
  formatFindings(
    checkTree(
      Object.entries(tree).map(([path, text]) => ({ path, text })),
      hot,
    ),
  );

it('the tree keeps the laws', () => {
  const files = readTree();
  expect(files.length).toBeGreaterThan(20);
  expect(formatFindings(checkTree(files, hotFiles))).toBe('');
});

describe('law 1, arrows', () => {
  const importing = (target: string): string =>
    `import { a } from '${target}';\nexport const b = a;\n`;
  const importingType = (target: string): string =>
    `import type { A } from '${target}';\nexport const b = (a: A) => a;\n`;

  it.each([
    ['src/model/a.ts', '../telemetry/log.ts'],
    ['src/store/a.ts', '../codes/codes.ts'],
    ['src/store/a.ts', '../workers/pool.ts'],
    ['src/links/a.ts', '../store/environment.ts'],
    ['src/codes/a.ts', '../scans/report/report.ts'],
    ['src/campaigns/a.ts', '../scans/window.ts'],
    ['src/webhooks/a.ts', '../images/svg.ts'],
    ['src/http/a.ts', '../store/environment.ts'],
    ['src/api/a.ts', '../store/environment.ts'],
    ['src/scans/a.ts', '../config.ts'],
    ['src/scans/a.ts', '../system-clock.ts'],
    ['src/images/a.ts', '../app.ts'],
    ['src/app.ts', './main.ts'],
    ['src/codes/a.ts', '../../test/support/app.ts'],
    ['src/scans/a.ts', './shard.worker.ts'],
  ])('refuses %s importing %s', (path, target) => {
    expect(check({ [path]: importing(target) })).toMatch(new RegExp(`^${path}:1 .*(;|:) `));
  });

  it.each([
    ['src/scans/a.ts', '../store/environment.ts'],
    ['src/campaigns/a.ts', '../scans/report/report.ts'],
    ['src/codes/a.ts', '../model/code.ts'],
    ['src/http/redirect.worker.ts', '../config.ts'],
    ['src/scans/shard.worker.ts', '../system-clock.ts'],
    ['src/api/a.ts', '../http/server.ts'],
    ['src/app.ts', './store/environment.ts'],
    ['src/main.ts', './app.ts'],
    ['test/a.ts', '../src/store/environment.ts'],
    ['bench/a.ts', '../src/system-clock.ts'],
  ])('allows %s importing %s', (path, target) => {
    expect(check({ [path]: importing(target) })).toBe('');
  });

  it('counts type imports as imports, but for the type of the configuration', () => {
    expect(check({ 'src/links/a.ts': importingType('../codes/codes.ts') })).toMatch(
      /:1 links may not/,
    );
    expect(check({ 'src/scans/a.ts': importingType('../config.ts') })).toBe('');
    expect(check({ 'src/model/a.ts': importingType('../config.ts') })).toMatch(/:1 model/);
  });

  it('sees dynamic imports and re-exports', () => {
    const dynamic = `export const a = () => import('../codes/codes.ts');\n`;
    expect(check({ 'src/store/a.ts': dynamic })).toMatch(/:1 store may not import codes/);
    const passing = `export { a } from '../codes/codes.ts';\nexport const b = 1;\n`;
    expect(check({ 'src/store/a.ts': passing })).toMatch(/:1 store may not import codes/);
  });

  it('refuses a circle, a room without arrows', () => {
    const tree = { 'src/store/a.ts': importing('./b.ts'), 'src/store/b.ts': importing('./a.ts') };
    expect(check(tree)).toMatch(
      /^src\/store\/b.ts:1 imports in a circle: .*a.ts -> .*b.ts -> .*a.ts/,
    );
    expect(check({ 'src/attic/a.ts': 'export const a = 1;\n' })).toMatch(
      /:1 room "attic" has no arrows/,
    );
  });
});

describe('law 2, one room per engine and one place for the machine', () => {
  it.each([
    ['src/scans/a.ts', 'lmdb'],
    ['src/api/a.ts', 'msgpackr'],
    ['src/images/a.ts', 'piscina'],
    ['src/api/a.ts', 'uWebSockets.js'],
    ['src/codes/a.ts', 'zod'],
    ['src/codes/a.ts', 'zod/v4'],
  ])('refuses %s importing %s', (path, name) => {
    const text = `import { a } from '${name}';\nexport const b = a;\n`;
    expect(check({ [path]: text })).toMatch(
      /:1 .* lives in src\/.* alone; use what that room exports/,
    );
  });

  it.each([
    ['process.env.HOME', 'src/config.ts'],
    [`process['env']`, 'src/config.ts'],
    [`console.log('a')`, 'src/main.ts'],
    ['Date.now()', 'src/system-clock.ts'],
    ['new Date()', 'src/system-clock.ts'],
    ['performance.now()', 'src/system-clock.ts'],
    ['process.hrtime.bigint()', 'src/system-clock.ts'],
  ])('refuses %s outside %s', (expression, home) => {
    const text = `\nexport const a = ${expression};\n`;
    expect(check({ 'src/codes/a.ts': text })).toMatch(/^src\/codes\/a.ts:2 .*; use /);
    expect(check({ [home]: text })).toBe('');
    expect(check({ 'bench/a.ts': text })).toBe('');
  });

  it('sees the machine in disguise', () => {
    const imported = `import { env } from 'node:process';\nexport const a = env;\n`;
    expect(check({ 'src/codes/a.ts': imported })).toMatch(/:1 env of node:process/);
    const taken = `const { env } = process;\nexport const a = env;\n`;
    expect(check({ 'src/codes/a.ts': taken })).toMatch(/:1 process.env/);
  });

  it('allows dates made of a value', () => {
    expect(check({ 'src/codes/a.ts': 'export const a = new Date(0);\n' })).toBe('');
  });
});

describe('law 3, hot files', () => {
  it.each([
    'export async function a(): Promise<void> {\n  await b();\n}\n',
    'export async function a(): Promise<void> {\n  for await (const c of d) b(c);\n}\n',
  ])('refuses to wait in them: %s', (text) => {
    const tree = { 'src/scans/a.ts': text };
    expect(check(tree, { 'src/scans/a.ts': [] })).toMatch(
      /^src\/scans\/a.ts:2 await in a hot file; /,
    );
    expect(check(tree, { 'src/scans/a.ts': ['a'] })).toBe('');
    expect(check(tree)).toBe('');
  });

  it('refuses to lose one', () => {
    expect(check({}, { 'src/scans/a.ts': [] })).toMatch(
      /^src\/scans\/a.ts:1 hot file is missing; /,
    );
  });
});

describe('law 4, shape', () => {
  const lines = (count: number): string => '  b();\n'.repeat(count);
  const functionOf = (count: number): string =>
    `export function a(): void {\n${lines(count - 2)}}\n`;

  it('refuses a function of more than 70 lines, wherever it is', () => {
    expect(check({ 'src/codes/a.ts': functionOf(functionLinesMax) })).toBe('');
    expect(check({ 'src/codes/a.ts': functionOf(functionLinesMax + 1) })).toMatch(
      /:1 a function of 71 lines/,
    );
    const method = `export class A {\n  a() {\n${lines(70)}  }\n}\n`;
    expect(check({ 'src/codes/a.ts': method })).toMatch(/:2 a function of 72 lines/);
    const arrow = `export const a = () => {\n${lines(70)}};\n`;
    expect(check({ 'bench/a.ts': arrow })).toMatch(/:1 a function of 72 lines/);
    const chapter = `describe('a', () => {\n${lines(70)}});\n`;
    expect(check({ 'test/a.test.ts': chapter })).toBe('');
    const test = `it('a', () => {\n${lines(70)}});\n`;
    expect(check({ 'test/a.test.ts': test })).toMatch(/:1 a function of 72 lines/);
  });

  it('refuses a file of more than 400 lines', () => {
    const constants = (count: number): string => 'export {};\n' + 'b();\n'.repeat(count - 1);
    expect(check({ 'src/codes/a.ts': constants(fileLinesMax) })).toBe('');
    expect(check({ 'test/a.ts': constants(fileLinesMax + 1) })).toMatch(
      /:401 401 lines, at most 400/,
    );
  });

  it.each([
    `export { a } from './a.ts';\nexport type { B } from './b.ts';\n`,
    `import { a } from './a.ts';\nexport { a };\n`,
    `export * from './a.ts';\nexport const b = 1;\n`,
  ])('refuses a barrel: %s', (text) => {
    expect(check({ 'src/codes/index.ts': text })).toMatch(/:1 a barrel; /);
  });

  it.each(['src/codes/utils.ts', 'src/codes/lib/a.ts', 'test/helpers/a.ts', 'src/codes/common.ts'])(
    'refuses a drawer: %s',
    (path) => {
      expect(check({ [path]: 'export const a = 1;\n' })).toMatch(/:1 "[\w.]+" is a drawer; /);
    },
  );
});

describe('law 5, types', () => {
  it.each([
    ['export const a = (b: any) => b;', 'any; '],
    ['export const a: Array<any> = [];', 'any; '],
    ['enum A { b }\nexport const c = A.b;', 'enum; '],
    ['const enum A { b }\nexport const c = A.b;', 'enum; '],
    ['export const a = b as unknown as string;', 'a cast through another type; '],
    ['export const a = <string>b;', 'a cast; '],
    ['export default 1;', 'default export; '],
    ['const a = 1;\nexport { a as default };', 'default export; '],
    ['function a(b: string, isC: boolean) {}\na(d, true);', 'boolean flag "isC" of a; '],
    ['const a = (b: string, isC = false) => {};\na(d, true);', 'boolean flag "isC" of a; '],
    ['class A {\n  a(b: string, isC?: boolean) {}\n}\nd.a(e, false);', 'boolean flag "isC" of a; '],
    [
      'class A {\n  constructor(b: string, isC: boolean) {}\n}\nnew A(e, false);',
      'boolean flag "isC"',
    ],
  ])('refuses %s', (text, message) => {
    expect(check({ 'src/codes/a.ts': `${text}\n` })).toContain(message);
  });

  it.each([
    ['src/scans/a.worker.ts', 'export default 1;\n'],
    ['config/vitest.ts', 'export default 1;\n'],
    ['src/codes/a.ts', `export const a = ['any'] as const;\n`],
    ['src/codes/a.ts', 'function setPaused(isPaused: boolean) {}\nsetPaused(true);\n'],
    ['src/codes/a.ts', 'function push(chunk: string, isLast: boolean) {}\npush(a, isLast);\n'],
    ['src/codes/a.ts', 'view.setUint32(0, a, true);\n'],
  ])('allows %s: %s', (path, text) => {
    expect(check({ [path]: text })).toBe('');
  });
});

describe('law 6, nothing left undone, nothing of one machine', () => {
  const notes = ['TODO', 'FIXME'];

  it.each(notes)('refuses %s in a comment', (note) => {
    expect(check({ 'src/codes/a.ts': `\n// ${note}: later\nexport {};\n` })).toMatch(
      /:2 a note to oneself; /,
    );
    expect(check({ 'src/codes/a.ts': `export const a = '${note}';\n` })).toBe('');
  });

  it.each([
    [`it.skip('a', () => { b(); });`, '.skip keeps'],
    [`describe.only('a', () => { b(); });`, '.only keeps'],
    [`it.each([1]).skip('a', () => { b(); });`, '.skip keeps'],
    [`it.todo('a');`, '.todo keeps'],
    [`xit('a', () => { b(); });`, 'xit keeps'],
    [`it('a', () => {});`, 'an empty test; '],
    [`it('a');`, 'an empty test; '],
    [`it.each([1])('a', function () {});`, 'an empty test; '],
  ])('refuses %s', (text, message) => {
    expect(check({ 'test/a.test.ts': `${text}\n` })).toContain(`test/a.test.ts:1 ${message}`);
  });

  it.each([
    ['src/codes/a.ts', `export const a = '${['', 'home', 'me', 'a'].join('/')}';`],
    ['README.md', `See ${['', 'tmp', 'a.log'].join('/')}`],
    ['package-lock.json', ['"resolved":', '"https://mirror.example/a.tgz"'].join(' ')],
    ['.npmrc', ['registry', 'example', 'org'].join('.')],
  ])('refuses traces of a machine in %s: %s', (path, text) => {
    expect(check({ [path]: `\n${text}\n` })).toMatch(/:2 ".*" is of one machine; write /);
  });

  it('allows addresses and folders that every machine has', () => {
    const text = `export const a = ['https://example.com/home/a', '/etc/quietzone', 'src/work/a'];\n`;
    expect(check({ 'src/codes/a.ts': text })).toBe('');
  });
});
