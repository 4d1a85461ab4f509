/**
 * The laws of the house, checked by reading the tree. A finding names file, line and what to write
 * instead. Each law is also broken on purpose, in a tree of one or two files, to show that it bites.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { hotFiles } from './tidy/engines.ts';
import { checkTree, formatFindings } from './tidy/laws.ts';
import { fileLinesMax, folderFilesMax, functionLinesMax } from './tidy/shape.ts';
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

/** What the laws say to these files; `tree` is path and text. */
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

/** What the laws say to one line of code, or of a test. */
const checkCode = (text: string): string => check({ 'src/codes/a.ts': `${text}\n` });
const checkTest = (text: string): string => check({ 'test/a.test.ts': `${text}\n` });

const importing = (target: string): string =>
  `import { a } from '${target}';\nexport const b = a;\n`;
const lines = (count: number): string => 'b();\n'.repeat(count);

it('the tree keeps the laws', () => {
  const files = readTree();
  expect(files.length).toBeGreaterThan(20);
  expect(formatFindings(checkTree(files, hotFiles))).toBe('');
});

it('the top level has what it is known for, and what is not kept', () => {
  const ignored = readFileSync(join(root, '.gitignore'), 'utf8').replaceAll('/', '').split('\n');
  const found = readdirSync(root).filter(
    (name) => !name.startsWith('.') && !name.endsWith('.log') && !ignored.includes(name),
  );
  const folders = ['src', 'test', 'bench', 'config'];
  const files = ['package.json', 'package-lock.json', 'tsconfig.json'];
  const known = [...folders, ...files, 'README.md', 'CHANGELOG.md', 'LICENSE'];
  expect(found.toSorted()).toEqual(known.toSorted());
});

it('README is read in one sitting, and its map names every module', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  expect(readme.split('\n').length).toBeLessThanOrEqual(151);
  const missing = readdirSync(join(root, 'src'), { withFileTypes: true })
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .filter((name) => name !== 'README.md')
    .filter((name) => !readme.includes(`\`${name}\``) && !readme.includes(`\`src/${name}\``));
  expect(missing).toEqual([]);
});

it('law 1, imports go down, and never in a circle', () => {
  expect(check({ 'src/store/a.ts': importing('../codes/codes.ts') })).toMatch(
    /^src\/store\/a.ts:1 store may not import codes/,
  );
  expect(check({ 'src/codes/a.ts': importing('../model/code.ts') })).toBe('');
  const type = `import type { A } from '../codes/codes.ts';\nexport const b = (a: A) => a;\n`;
  expect(check({ 'src/links/a.ts': type })).toMatch(/:1 links may not/);
  expect(check({ 'src/cli/a.ts': importing('../api/a.ts') })).toMatch(/:1 cli may not import api/);
  expect(check({ 'src/engine/a.ts': importing('../app.ts') })).toMatch(/app.ts, which is above/);
  const dynamic = `export const a = () => import('../codes/codes.ts');\n`;
  expect(check({ 'src/store/a.ts': dynamic })).toMatch(/:1 store may not/);
  expect(check({ 'src/codes/a.ts': importing('../../test/a.ts') })).toMatch(/:1 src imports test/);
  expect(check({ 'src/scans/a.ts': importing('./shard.worker.ts') })).toMatch(/thread entry; /);
  const circle = { 'src/store/a.ts': importing('./b.ts'), 'src/store/b.ts': importing('./a.ts') };
  expect(check(circle)).toMatch(/^src\/store\/b.ts:1 imports in a circle: .*a.ts -> .*b.ts -> /);
  expect(check({ 'src/attic/a.ts': 'export {};\n' })).toMatch(/:1 module "attic" has no arrows; /);
});

it('law 1, nothing imports what is above it', () => {
  expect(check({ 'src/scans/a.ts': importing('../config.ts') })).toMatch(/:1 scans reads the conf/);
  expect(check({ 'src/images/a.ts': importing('../app.ts') })).toMatch(
    /:1 images imports app.ts, /,
  );
  expect(check({ 'src/app.ts': importing('./cli/serve.ts') })).toMatch(/:1 app.ts imports cli, /);
  expect(check({ 'src/main.ts': importing('./cli/serve.ts') })).toBe('');
});

it('law 2, one module for each engine', () => {
  expect(check({ 'src/scans/a.ts': importing('lmdb') })).toMatch(/:1 lmdb lives in src\/store\//);
  expect(check({ 'src/codes/a.ts': importing('zod/v4') })).toMatch(/:1 zod\/v4 lives in /);
});

it('law 2, no thread loads the packages of another', () => {
  const entry = { 'src/images/render.worker.ts': importing('./design/design.ts') };
  const schema = (text: string) => check({ ...entry, 'src/images/design/design.ts': text });
  expect(schema(importing('zod'))).toMatch(
    /design.ts:1 src\/images\/render.worker.ts loads zod at /,
  );
  expect(schema(importing('node:http'))).toMatch(/:1 .* loads node:http .*getBuiltinModule/);
  expect(schema(importing('qrcode'))).toBe('');
  expect(schema(`export const a = () => import('sharp');\n`)).toBe('');
  expect(schema(`import type { A } from 'zod';\nexport const b = (a: A) => a;\n`)).toBe('');
});

it('law 2, one file that takes the clock, the environment and the console from the machine', () => {
  for (const [text, home] of [
    ['process.env.HOME', 'src/environment.ts'],
    [`process['env']`, 'src/environment.ts'],
    [`console.log('a')`, 'src/main.ts'],
    ['Date.now()', 'src/system-clock.ts'],
    ['new Date()', 'src/system-clock.ts'],
  ] as const) {
    const code = `\nexport const a = ${text};\n`;
    expect(check({ 'src/codes/a.ts': code })).toMatch(/^src\/codes\/a.ts:2 .*; use /);
    expect(check({ [home]: code })).toBe('');
  }
  expect(checkCode(`import { env } from 'node:process';\nexport const a = env;`)).toMatch(
    /:1 env /,
  );
  expect(checkCode('const { env } = process;\nexport const a = env;')).toMatch(/:1 process.env/);
  expect(checkCode('export const a = new Date(0);')).toBe('');
});

it('law 3, hot files never wait, and are not lost', () => {
  const tree = { 'src/scans/a.ts': 'export async function a() {\n  await b();\n}\n' };
  expect(check(tree, { 'src/scans/a.ts': [] })).toMatch(
    /^src\/scans\/a.ts:2 await in a hot file; /,
  );
  expect(check(tree, { 'src/scans/a.ts': ['a'] })).toBe('');
  const loop = 'export async function a() {\n  for await (const c of d) b(c);\n}\n';
  expect(check({ 'src/scans/a.ts': loop }, { 'src/scans/a.ts': [] })).toMatch(/:2 await/);
  expect(check({}, { 'src/scans/a.ts': [] })).toMatch(/:1 hot file is missing; /);
});

it('law 4, functions, files and folders have a largest size', () => {
  const body = (count: number): string => `{\n${lines(count - 2)}}`;
  expect(checkCode(`export function a() ${body(functionLinesMax)}`)).toBe('');
  expect(checkCode(`export function a() ${body(functionLinesMax + 1)}`)).toMatch(/of 71 lines/);
  expect(checkCode(`export class A {\na() ${body(72)}\n}`)).toMatch(/:2 a function of 72 lines/);
  expect(checkTest(`describe('a', () => ${body(80)});`)).toBe('');
  expect(checkTest(`it('a', () => ${body(80)});`)).toMatch(/:1 a function of 80 lines/);
  expect(checkCode(`export {};\n${lines(fileLinesMax - 1)}`.trimEnd())).toBe('');
  expect(checkCode(`export {};\n${lines(fileLinesMax)}`.trimEnd())).toMatch(/:401 401 lines, at/);
  const folder = (count: number): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`src/codes/a${i}.ts`, 'b();\n']));
  expect(check(folder(folderFilesMax))).toBe('');
  expect(check(folder(folderFilesMax + 1))).toMatch(/^src\/codes:1 23 files in one folder, /);
});

it('law 4, no barrels, no drawers', () => {
  expect(checkCode(`export { a } from './a.ts';\nexport type { B } from './b.ts';`)).toMatch(
    /:1 a barrel; /,
  );
  expect(checkCode(`export * from './b.ts';\nexport const b = 1;`)).toMatch(/:1 a barrel; /);
  for (const path of ['src/codes/utils.ts', 'test/helpers/a.ts']) {
    expect(check({ [path]: 'export const a = 1;\n' })).toMatch(/:1 "[\w.]+" is a drawer; /);
  }
});

it('law 5, types', () => {
  expect(checkCode('export const a: Array<any> = [];')).toContain('any; ');
  expect(checkCode('enum A { b }\nexport const c = A.b;')).toContain('enum; ');
  expect(checkCode('export const a = b as unknown as string;')).toContain('a cast through another');
  expect(checkCode('export const a = <string>b;')).toContain('a cast; ');
  expect(checkCode('export default 1;')).toContain('default export; ');
  expect(checkCode('const a = 1;\nexport { a as default };')).toContain('default export; ');
  expect(check({ 'src/scans/a.worker.ts': 'export default 1;\n' })).toBe('');
});

it('law 5, no boolean flags, no constants in capitals', () => {
  const flag = 'boolean flag "isC"';
  expect(checkCode('function a(b: string, isC: boolean) {}\na(d, true);')).toContain(flag);
  expect(checkCode('const a = (b: string, isC = false) => {};\na(d, true);')).toContain(flag);
  expect(checkCode('class A {\n  a(b: string, isC?: boolean) {}\n}\nd.a(e, true);')).toContain(
    flag,
  );
  expect(checkCode('function a(b: string, isC: boolean) {}\na(d, e);')).toBe('');
  expect(checkCode('function setPaused(isPaused: boolean) {}\nsetPaused(true);')).toBe('');
  expect(checkCode('export const BYTES_MAX = 1;')).toContain('constant BYTES_MAX; ');
});

it('law 5, one wiring for tests', () => {
  expect(check({ 'test/codes/a.test.ts': importing('../../src/modules.ts') })).toMatch(
    /^test\/codes\/a.test.ts:1 a test wires the application \(src\/modules.ts\); use openTestApp/,
  );
  expect(check({ 'test/support/a.ts': importing('../../src/modules.ts') })).toBe('');
});

it('law 6, nothing left undone', () => {
  const note = ['TO', 'DO'].join('');
  expect(checkCode(`\n// ${note}: later\nexport {};`)).toMatch(/:2 a note to oneself; /);
  expect(checkCode(`export const a = '${note}';`)).toBe('');
  expect(checkTest(`it.skip('a', () => { b(); });`)).toContain(':1 .skip keeps');
  expect(checkTest(`it.each([1]).only('a', () => { b(); });`)).toContain(':1 .only keeps');
  expect(checkTest(`xit('a', () => { b(); });`)).toContain(':1 xit keeps');
  expect(checkTest(`it('a', () => {});`)).toContain(':1 an empty test; ');
  expect(checkTest(`it('a');`)).toContain(':1 an empty test; ');
});

it('law 6, nothing that is no longer there', () => {
  expect(checkCode('/** See codes/b.ts and `*.worker.ts`. */\nb();')).toMatch(
    /:1 there is no codes\/b.ts; /,
  );
  expect(check({ 'README.md': '`src/codes/b.ts`', 'src/codes/b.ts': 'b();\n' })).toBe('');
});

it('law 6, nothing of one machine', () => {
  for (const [path, text] of [
    ['src/codes/a.ts', `export const a = '${['', 'home', 'me', 'a'].join('/')}';`],
    ['README.md', `See ${['', 'tmp', 'a.log'].join('/')}`],
    ['package-lock.json', ['"resolved":', '"https://mirror.example/a.tgz"'].join(' ')],
    ['.npmrc', ['registry', 'example', 'org'].join('.')],
  ] as const) {
    expect(check({ [path]: `\n${text}\n` })).toMatch(/:2 ".*" is of one machine; write /);
  }
  expect(checkCode(`export const a = ['https://example.com/home/a', '/etc/quietzone'];`)).toBe('');
});

it('law 7, retired words, each with its replacement', () => {
  expect(checkCode('export const openLaneQueue = 1;')).toMatch(
    /"openLaneQueue" is retired; write e/,
  );
  expect(checkCode('// Lanes say who may send.\nexport {};')).toMatch(/:1 "Lanes" is retired; /);
  expect(checkCode(`export const a = 'The end clock stopped';`)).toMatch(/campaign scheduler/);
  expect(check({ 'src/codes/link-book.ts': 'b();\n' })).toMatch(/^src\/codes\/link-book.ts:1 /);
  expect(check({ 'README.md': 'Two\nverdicts\n' })).toMatch(/^README.md:2 "verdicts" is retired; /);
  const plain =
    '// Plane, return, look up, in turn, in flight, a report.\nexport const lookUp = 1;';
  expect(checkCode(plain)).toBe('');
});
