/**
 * Which packages are inside the executable, and their licences. The bundler's list of inputs says which were really
 * bundled; native files and data are named by their packages. A package needs an SPDX expression and a text: what its
 * package.json and its files do not say stands in licence-additions.ts, and a package without either stops the build.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import parseExpression from 'spdx-expression-parse';
import { additions, type AddedText, type Addition } from './licence-additions.ts';

export interface ThirdPartyInputs {
  /** Folder of the project: node_modules and package-lock.json lie in it. */
  readonly root: string;
  /** Of the program's and the dashboard's bundles, relative to `root`; those of the project itself are ignored. */
  readonly bundled: readonly string[];
  /** Packages of native files, of Node itself and of data, by their folder in node_modules. */
  readonly packages: readonly string[];
  /** node_modules where those lie that are not in the project's own: of another platform. */
  readonly modules?: string;
}

export interface ThirdPartyPackage {
  /** As published, which an alias in package.json may hide. */
  readonly name: string;
  readonly version: string;
  /** SPDX expression. */
  readonly licence: string;
  readonly texts: readonly string[];
  readonly note?: string;
  /** `sha512-…` of package-lock.json, where it has one. */
  readonly integrity?: string;
}

const licenceFile = /^(un)?(licen[cs]e|copying|copyright|notice)/i;
const packageFolder = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/;

/**
 * Sorted by name, then version; each once.
 *
 * @throws Error that names every package without an identifier or a text
 */
export function thirdParty(inputs: ThirdPartyInputs): ThirdPartyPackage[] {
  const { root, modules = join(root, 'node_modules') } = inputs;
  const integrities = readIntegrities(root);
  const folders = new Map<string, string>();
  for (const input of inputs.bundled) {
    const folder = packageFolder.exec(input)?.[0];
    if (folder !== undefined && !input.startsWith('(disabled)')) {
      folders.set(folder, join(root, folder));
    }
  }
  for (const name of inputs.packages) {
    const own = join(root, 'node_modules', name);
    folders.set(`node_modules/${name}`, existsSync(own) ? own : join(modules, name));
  }
  const found = new Map<string, ThirdPartyPackage>();
  const faults: string[] = [];
  for (const [path, folder] of folders) {
    try {
      const one = readPackage(folder, root, integrities.get(path));
      found.set(`${one.name}@${one.version}`, one);
    } catch (error) {
      faults.push(error instanceof Error ? error.message : String(error));
    }
  }
  if (faults.length > 0) {
    throw new Error(
      `Cannot list the licences, expected an entry in licence-additions.ts:\n  ${faults.sort().join('\n  ')}`,
    );
  }
  return [...found.values()].sort(byName);
}

function byName(a: ThirdPartyPackage, b: ThirdPartyPackage): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return a.version < b.version ? -1 : 1;
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly licence: string | undefined;
}

function readPackage(
  folder: string,
  root: string,
  integrity: string | undefined,
): ThirdPartyPackage {
  const { name, version, licence: own } = readManifest(folder);
  const addition = additions.find((one) => one.package.test(name));
  const licence = addition?.licence ?? own;
  if (licence === undefined) throw new Error(`${name} ${version} says nothing of its licence`);
  try {
    parseExpression(licence);
  } catch {
    throw new Error(`${name} ${version} says "${licence}", expected an SPDX expression`);
  }
  const texts = [...readTexts(folder), ...addedTexts(addition, root, folder)];
  if (texts.length === 0) throw new Error(`${name} ${version} (${licence}) has no licence text`);
  return {
    name,
    version,
    licence,
    texts: [...new Set(texts)],
    ...(addition?.note === undefined ? {} : { note: addition.note }),
    ...(integrity === undefined ? {} : { integrity }),
  };
}

function readManifest(folder: string): Manifest {
  const manifest = readJson(join(folder, 'package.json'));
  const name = field(manifest, 'name');
  const version = field(manifest, 'version');
  const licence = field(manifest, 'license');
  if (typeof name !== 'string' || typeof version !== 'string') {
    throw new Error(`${folder} has no name or version`);
  }
  return { name, version, licence: typeof licence === 'string' ? licence : undefined };
}

function readTexts(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && licenceFile.test(entry.name))
    .map(({ name }) => name)
    .sort()
    .map((name) => normalised(readFileSync(join(folder, name), 'utf8')));
}

function addedTexts(addition: Addition | undefined, root: string, folder: string): string[] {
  return (addition?.texts ?? []).map((text) => normalised(addedText(text, root, folder)));
}

function addedText(text: AddedText, root: string, folder: string): string {
  if ('own' in text) return readFileSync(join(folder, text.own), 'utf8');
  if ('file' in text) return readFileSync(join(root, 'node_modules', text.file), 'utf8');
  const file = `node_modules/spdx-license-list/licenses/${text.standard}.json`;
  const standard = field(readJson(join(root, file)), 'licenseText');
  if (typeof standard !== 'string') throw new Error(`There is no text of ${text.standard}`);
  if (text.holder === undefined) return standard;
  const holder = `Copyright (c) ${text.holder}`;
  const filled = standard.replace(/^Copyright \(c\) <year>.*$/im, holder);
  return filled === standard ? `${holder}\n\n${standard}` : filled;
}

/** Line ends and blanks at their ends differ between copies of one text. */
function normalised(text: string): string {
  return text
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\r|\n/)
    .map((line) => line.trimEnd())
    .join('\n')
    .replace(/^\n+|\n+$/g, '');
}

/** By path in the lock file: `node_modules/a/node_modules/b`. */
function readIntegrities(root: string): Map<string, string> {
  const packages = field(readJson(join(root, 'package-lock.json')), 'packages');
  const found = new Map<string, string>();
  for (const [path, entry] of Object.entries(Object(packages))) {
    const integrity = field(entry, 'integrity');
    if (typeof integrity === 'string') found.set(path, integrity);
  }
  return found;
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}

function field(value: unknown, name: string): unknown {
  return Reflect.get(Object(value), name);
}

const separator = '='.repeat(80);

/** THIRD-PARTY.txt: a table, notes, then each text once with the packages that it belongs to. */
export function licencesText(version: string, packages: readonly ThirdPartyPackage[]): string {
  const users = new Map<string, string[]>();
  for (const { name, version: of, texts } of packages) {
    for (const text of texts) users.set(text, [...(users.get(text) ?? []), `${name} ${of}`]);
  }
  const numbers = new Map([...users.keys()].map((text, index) => [text, index + 1]));
  const rows = packages.map(({ name, version: of, licence, texts }) => [
    `${name} ${of}`,
    licence,
    texts.map((text) => `[${numbers.get(text)}]`).join(' '),
  ]);
  const width = Math.max(...rows.map(([name = '']) => name.length));
  const notes = packages
    .filter(({ note }) => note !== undefined)
    .map(({ name, note = '' }) => `${name}\n${wrapped(note)}\n`);
  return [
    `Quietzone ${version}: what is inside that others made\n`,
    'Quietzone itself is under the MIT licence. Numbers in brackets refer to the texts below.\n',
    ...rows.map(([name = '', licence, texts]) => `${name.padEnd(width)}  ${licence}  ${texts}`),
    '',
    ...notes,
    ...[...users].map(
      ([text, of], index) =>
        `${separator}\n[${index + 1}] ${of.join(', ')}\n${separator}\n\n${text}\n`,
    ),
  ].join('\n');
}

const lineMax = 100;

function wrapped(text: string): string {
  const lines: string[] = [];
  let line = ' ';
  for (const word of text.split(' ')) {
    if (line.length + word.length >= lineMax) {
      lines.push(line);
      line = ' ';
    }
    line += ` ${word}`;
  }
  return [...lines, line].join('\n');
}
