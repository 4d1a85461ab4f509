/**
 * The Markdown of the repository, and the pages that the service makes of the guides: every link leads somewhere, every
 * operation and setting exists, and the generated parts are up to date.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { marked, type Token } from 'marked';
import { describe, expect, test } from 'vitest';
import defaults from '../../config/default.json' with { type: 'json' };
import { readGuideFiles } from '../../config/docs.ts';
import { readGuides } from '../../src/api/docs/guides.ts';
import { renderMarkdown } from '../../src/api/docs/markdown.ts';
import { word } from '../support/client.ts';
import { useTestApi } from '../support/test-client.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const list = (folder: string, ending: RegExp, recursive = true): string[] =>
  readdirSync(join(root, folder), { recursive, encoding: 'utf8' })
    .filter((name) => ending.test(name))
    .map((name) => join(folder, name));

const folder = 'src/api/docs/guides';
const guides = readGuides({
  publicUrl: 'https://qr.example.com',
  shortUrlBase: 'https://go.example.com',
  hrefOfOperation: () => undefined,
});
const documents = [
  ...list('.', /\.md$/, false),
  ...['.github', 'bench', 'config', 'src', 'test'].flatMap((name) => list(name, /\.md$/)),
];

function tokensOf(text: string): Token[] {
  const found: Token[] = [];
  void marked.walkTokens(marked.lexer(text), (token) => {
    found.push(token);
  });
  return found;
}

const idsOf = (path: string): string[] =>
  [...renderMarkdown(read(path)).html.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id);

function deadLinks(path: string): string[] {
  const hrefs = tokensOf(read(path)).flatMap((token) =>
    token.type === 'link' || token.type === 'image' ? [String(token.href)] : [],
  );
  return hrefs.filter((href) => {
    if (/^(?:https?|mailto):/.test(href)) return false;
    const [file = '', id] = href.split('#');
    const target = file === '' ? path : join(dirname(path), file);
    if (file.startsWith('/') || !existsSync(join(root, target))) return true;
    return id !== undefined && !idsOf(target).includes(id);
  });
}

test.each(documents)('no link of %s is dead', (path) => {
  expect(deadLinks(path)).toEqual([]);
});

describe.each(list(folder, /\.md$/))('%s', (path) => {
  const text = read(path);
  const written = text.replace(/<!-- generated: \w+ -->[^]*?<!-- end -->/g, '');

  test('is short', () => {
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(200);
    const lines = written.replace(/^```[^]*?^```$/gm, '').split('\n');
    const widthMax = (line: string): number => (line.startsWith('|') ? 160 : 120);
    expect(lines.filter((line) => line.length > widthMax(line))).toEqual([]);
  });

  test('is plain Markdown', () => {
    const faults = tokensOf(text).filter(
      (token) =>
        (token.type === 'html' && !/^<!-- (?:generated: \w+|end) -->\s*$/.test(token.raw)) ||
        (token.type === 'code' && !/^(?!fold|open)[a-z]/.test(String(token.lang))) ||
        (token.type === 'text' && token.raw.includes('{{')),
    );
    expect(faults.map(({ raw }) => raw)).toEqual([]);
  });
});

test('the generated parts of the guides are those of `npm run docs`', () => {
  const files = readGuideFiles();
  expect(files.map(({ text }) => text)).toEqual(files.map(({ current }) => current));
  const all = files.map(({ text }) => text).join('');
  for (const part of ['settings', 'metrics', 'errors', 'events', 'delivery', 'retries']) {
    expect(all).toContain(`<!-- generated: ${part} -->`);
  }
});

test('every guide is in the navigation, and every guide that src names exists', () => {
  const names = guides.map(({ name }) => `${folder}/${name}.md`);
  expect(names.toSorted()).toEqual(list(folder, /\.md$/).toSorted());
  const sources = list('src', /\.tsx?$/).filter((path) => !path.startsWith('src/api/docs/'));
  const dead = sources.flatMap((path) =>
    [...read(path).matchAll(/(?<!api|\.)\/docs\/([a-z-]+)(?:#([\w-]+))?/g)]
      .filter(([, name = '', id]) => {
        const file = `${folder}/${name}.md`;
        return !names.includes(file) || (id !== undefined && !idsOf(file).includes(id));
      })
      .map(([address]) => `${path} ${address}`),
  );
  expect(dead).toEqual([]);
});

test('a message that the guide quotes is in the code', () => {
  const source = list('src', /\.ts$/)
    .map(read)
    .join('')
    .replace(/['`] \+\s+['`]/g, '');
  const tables = read(`${folder}/troubleshoot.md`).matchAll(/^\| `([^`]+)`/gm);
  const pieces = [...tables].flatMap(([, message = '']) =>
    message.split(/…:?|http\S+|\d+|\(reason/),
  );
  const unknown = pieces.map((piece) => piece.trim()).filter((piece) => !source.includes(piece));
  expect(unknown).toEqual([]);
});

test('a setting that a document names exists', () => {
  const settings = leaves(defaults);
  const groups = new Set(settings.map((path) => path.split('.')[0]));
  const unknown = [...list(folder, /\.md$/), 'README.md'].flatMap((path) =>
    [...read(path).matchAll(/`([a-z]+)\.(?!ts`|mdb`)([\w.*]+)`/g)]
      .filter(([, group]) => groups.has(group))
      .map(([, group, key = '']) => `${group}.${key.replace(/[.*]+$/, '')}`)
      .filter((name) => !settings.some((setting) => setting.startsWith(name))),
  );
  expect(unknown).toEqual([]);
});

/** Paths of the settings; a list is one. */
function leaves(value: unknown, path: readonly string[] = []): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [path.join('.')];
  return Object.entries(value).flatMap(([key, child]) => leaves(child, [...path, key]));
}

test('headings have the ids of a code host, a row of code has its text', () => {
  const source =
    '# One\n## `a.b` & c, d_e\n### Same\n## Same\n\n| a |\n| - |\n| `x_y` `z` |\n| `z` 1 |';
  const { html, title, headings } = renderMarkdown(source);
  const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
  expect(ids).toEqual(['one', 'ab--c-d_e', 'same', 'same-1', 'x_y']);
  expect([title, headings.map(({ text }) => text)]).toEqual(['One', ['a.b & c, d_e', 'Same']]);
});

test('a page has the addresses of its installation and no link to a file', () => {
  const all = guides.map(({ document }) => document.html).join('');
  expect(all).not.toMatch(/localhost:808[01]|<!--|href="(?!https?:|#|\/docs\/)/);
  expect(all).toContain('https://qr.example.com/v1');
});

describe('the pages under /docs', async () => {
  const { client } = await useTestApi();
  const pages = ['/docs', ...guides.map(({ path }) => path)];
  const get = async (path: string) => await client.get(path, { key: undefined });

  test.each(pages)('%s is one self-contained page under a strict policy', async (path) => {
    const answer = await get(path);
    expect(answer.status).toBe(200);
    const policy = answer.headers['content-security-policy'];
    expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-/);
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    // One script, the one that the policy names; the pages are read without it.
    const [, script = ''] = /<script type="module">([^]*?)<\/script>/.exec(answer.text) ?? [];
    const hash = createHash('sha256').update(script).digest('base64');
    expect(policy).toContain(`script-src 'sha256-${hash}'; connect-src 'self';`);
    expect(script).not.toMatch(/innerHTML|eval|https?:/);
    const markup = answer.text.replace(script, '').replace('<script type="module">', '');
    expect(markup).not.toMatch(/<script|style="|src=|@import|url\(|\son\w+="/);
    expect(markup).not.toMatch(/undefined|\[object/);
    expect(Buffer.byteLength(answer.text)).toBeLessThan(470_000);
  });

  test('a guide links each operation that it names', async () => {
    const unlinked: string[] = [];
    for (const { path } of guides) {
      const { text } = await get(path);
      const found = text.matchAll(
        /(?<!<a href="\/docs[^"]+">)<code>([A-Z]+ \/v1\/[^<\n]*)<\/code>/g,
      );
      unlinked.push(...[...found].map(([, operation = '']) => `${path} ${operation}`));
    }
    expect(unlinked.filter((text) => !text.endsWith('GET /v1/openapi.json'))).toEqual([]);
  });

  test('the type of a problem is the address of its row', async () => {
    const { json } = await client.get('/v1/nonsense');
    const { pathname, hash } = new URL(word(json.type));
    expect((await get(pathname)).text).toContain(`<tr id="${hash.slice(1)}">`);
  });
});
