/**
 * Which packages are inside the executable, and their licenses. The bundler's list of inputs says which were really
 * bundled; native files and data are named by their packages. A package needs an identifier and a text: what its
 * package.json and its files do not say is in license-additions.ts, and a package without either stops the build.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { additions, type AddedText } from './license-additions.ts';

export interface ThirdPartyInputs {
  /** Folder of the project: node_modules lies in it. */
  readonly root: string;
  /** Of the program's and the dashboard's bundles, relative to `root`; those of the project itself are ignored. */
  readonly bundled: readonly string[];
  /** Packages of native files, of Node itself and of data, by their folder in node_modules. */
  readonly packages: readonly string[];
  /** node_modules where those lie that are not in the project's own: of another platform. */
  readonly modules: string;
}

export interface ThirdPartyPackage {
  /** As published, which an alias in package.json may hide. */
  readonly name: string;
  readonly version: string;
  /** SPDX expression. */
  readonly license: string;
  readonly texts: readonly string[];
  readonly note: string | undefined;
}

const licenseFile = /^(un)?(licen[cs]e|copying|copyright|notice)/i;
const packageFolder = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/;

/**
 * Sorted by name and version; each once.
 *
 * @throws Error that names every package without an identifier or a text
 */
export function thirdParty({
  root,
  bundled,
  packages,
  modules,
}: ThirdPartyInputs): ThirdPartyPackage[] {
  const inputs = bundled.filter((input) => !input.startsWith('(disabled)'));
  const folders = inputs.flatMap((input) => packageFolder.exec(input)?.[0] ?? []);
  const own = packages.map((name) => join('node_modules', name));
  const paths = [...new Set([...folders, ...own])].map((folder) => {
    const path = join(root, folder);
    return existsSync(path) ? path : join(modules, '..', folder);
  });
  const found = paths.map((path) => readPackage(path, root));
  const faulty = found.filter(({ license, texts }) => license === '' || texts.length === 0);
  if (faulty.length > 0) {
    const names = faulty.map(({ name, version }) => `${name} ${version}`).sort();
    throw new Error(
      `Cannot list the licenses, expected identifier and text, or an entry in license-additions.ts: ${names.join(', ')}`,
    );
  }
  const byName = new Map(found.map((one) => [`${one.name} ${one.version}`, one]));
  return [...byName.keys()].sort().flatMap((name) => byName.get(name) ?? []);
}

function readPackage(folder: string, root: string): ThirdPartyPackage {
  const manifest = readJson(join(folder, 'package.json'));
  const field = (name: string): string => {
    const value: unknown = Reflect.get(manifest, name);
    return typeof value === 'string' ? value : '';
  };
  const name = field('name');
  const addition = additions.find((one) => one.package.test(name));
  const files = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && licenseFile.test(entry.name))
    .map((entry) => readFileSync(join(folder, entry.name), 'utf8'));
  const added = (addition?.texts ?? []).map((text) => addedText(text, root, folder));
  return {
    name,
    version: field('version'),
    license: addition?.license ?? field('license'),
    texts: [...new Set([...files.sort(), ...added].map(normalized))],
    note: addition?.note,
  };
}

function addedText(text: AddedText, root: string, folder: string): string {
  if ('own' in text) return readFileSync(join(folder, text.own), 'utf8');
  if ('file' in text) return readFileSync(join(root, 'node_modules', text.file), 'utf8');
  const file = join(root, `node_modules/spdx-license-list/licenses/${text.standard}.json`);
  const standard = String(Reflect.get(readJson(file), 'licenseText'));
  if (text.holder === undefined) return standard;
  return `Copyright (c) ${text.holder}\n\n${standard.replace(/^Copyright \(c\) <year>.*\n+/im, '')}`;
}

/** Line ends and blanks at their ends differ between copies of one text. */
const normalized = (text: string): string =>
  text
    .replaceAll('\r', '')
    .replaceAll(/[ \t]+$/gm, '')
    .trim();

const readJson = (path: string): object => Object(JSON.parse(readFileSync(path, 'utf8')));

const separator = '='.repeat(80);

/** THIRD-PARTY.txt: the packages with their notes, then each text once, under the packages that it belongs to. */
export function licensesText(version: string, packages: readonly ThirdPartyPackage[]): string {
  const users = new Map<string, string[]>();
  for (const { name, version: of, texts } of packages) {
    for (const text of texts) users.set(text, [...(users.get(text) ?? []), `${name} ${of}`]);
  }
  return [
    `Quietzone ${version}: what is inside that others made\n`,
    'Quietzone itself is under the MIT license. The texts are below, each with the packages that it belongs to.\n',
    ...packages.map(
      ({ name, version: of, license, note }) =>
        `${name} ${of}  ${license}${note === undefined ? '' : `\n${note.replaceAll(/^/gm, '  ')}\n`}`,
    ),
    '',
    ...[...users].map(([text, of]) => `${separator}\n${of.join(', ')}\n${separator}\n\n${text}\n`),
  ].join('\n');
}
