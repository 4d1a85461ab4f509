/** config/README.md has every setting with its default and its variable, and none besides; guides and compose.yaml name real ones. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { environmentName, loadConfig } from '../src/config.ts';
import { shipped } from '../src/shipped.ts';

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');
const defaults: unknown = JSON.parse(read('../config/default.json'));

/** Leaves of the settings by their path; a list is a leaf. */
function leaves(value: unknown, path: readonly string[] = []): Map<string, unknown> {
  const isGroup = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isGroup) return new Map([[path.join('.'), value]]);
  return new Map(
    Object.entries(value).flatMap(([key, child]) => [...leaves(child, [...path, key])]),
  );
}

const rows = [
  ...read('../config/README.md').matchAll(/^\| `([\w.*]+)` \| (.+?) \| `(.+?)` \| .+ \|$/gm),
];

test('the table has each setting of the schema once', () => {
  const settings = [...leaves(defaults).keys()];
  expect([...leaves(loadConfig(undefined, {})).keys()].sort()).toEqual(settings.toSorted());
  const named = rows.flatMap(([, pattern = '']) =>
    settings.filter((path) => covers(pattern, path)),
  );
  expect(named.toSorted()).toEqual(settings.toSorted());
});

test('each row has the default and the variable of its setting', () => {
  const written = rows.map(([, path, value, variable]) => ({ path, value, variable }));
  const expected = rows.map(([, path = '']) => {
    const covered = [...leaves(defaults)].filter(([setting]) => covers(path, setting));
    const texts = covered.map(([setting, value]) => defaultText(setting, value));
    const isUniform = texts.every((text) => text === texts[0]);
    const value = isUniform ? texts[0] : plain(texts);
    return { path, value, variable: environmentName(path.split('.')) };
  });
  expect(written).toEqual(expected);
});

test('a setting that README or a guide names exists', () => {
  const guides = readdirSync(new URL('../src/api/docs/guides', import.meta.url));
  const texts = ['../README.md', ...guides.map((name) => `../src/api/docs/guides/${name}`)].map(
    read,
  );
  const settings = [...leaves(defaults).keys()];
  const groups = new Set(settings.map((path) => path.split('.')[0]));
  const named = texts.flatMap((text) => [...text.matchAll(/`([a-z]+)\.(?!ts`|mdb`)([\w.*]+)`/g)]);
  const unknown = named
    .filter(([, group]) => groups.has(group))
    .map(([, group, key = '']) => `${group}.${key.replace(/\*$/, '')}`)
    .filter((path) => !settings.some((setting) => setting.startsWith(path)));
  expect(unknown).toEqual([]);
});

test('compose.yaml runs the image of this version, and every setting in it is one', () => {
  const compose = read('../config/compose.yaml');
  expect(compose).toContain(`image: quietzone:${shipped.version}\n`);
  expect(read('../config/release/packages/Dockerfile')).toContain(` quietzone:${shipped.version} `);
  const [, settings = ''] = /^    environment:\n([^]*?)^    volumes:/m.exec(compose) ?? [];
  const named = [...settings.matchAll(/(QZ_\w+): (\S+)/g)].map(([, name = '', value]) => [
    name,
    value,
  ]);
  expect(named.length).toBeGreaterThan(2);
  expect(() => loadConfig(undefined, Object.fromEntries(named))).not.toThrow();
});

/** `billing.prices.pro.*` stands for the settings of each interval. */
function covers(pattern: string, setting: string): boolean {
  const parts = setting.split('.');
  const wanted = pattern.split('.');
  return (
    parts.length === wanted.length &&
    wanted.every((part, index) => part === '*' || part === parts[index])
  );
}

const plain = (texts: readonly string[]): string => texts.join(', ').replaceAll('`', '');

/** A default as the table has it: bytes and times in the largest unit that divides them. */
function defaultText(setting: string, value: unknown): string {
  if (value === '') return 'empty';
  if (Array.isArray(value)) {
    return value.length === 0 ? 'none' : plain(value.map((one) => defaultText(setting, one)));
  }
  const units = setting.includes('Bytes') ? sizes : /Ms(Max)?$/.test(setting) ? times : [];
  const number = Number(value);
  const unit = units.find(([, one]) => number % one === 0);
  return unit === undefined ? `\`${String(value)}\`` : `${number / unit[1]} ${unit[0]}`;
}

type Unit = readonly [name: string, amount: number];
const sizes: readonly Unit[] = [
  ['GiB', 1024 ** 3],
  ['MiB', 1024 ** 2],
  ['KiB', 1024],
];
const times: readonly Unit[] = [
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
  ['ms', 1],
];
