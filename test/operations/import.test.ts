/** What an import makes of a file, row by row, and what it says: the command's work without its process. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  openAdministration,
  type OpenAdministration,
} from '../../src/app/administration/administration.ts';
import { findOperation, type ResultOf } from '../../src/app/administration/operations.ts';
import { codeTableSample } from '../../src/api/codes/code-table.ts';
import { loadConfig } from '../../src/platform/config/config.ts';
import { type CommandFolder, openInstallation } from '../../src/app/folder/service-folder.ts';
import { importFile, type ImportRequest } from '../../src/operations/import/import-file.ts';
import type { Ask } from '../../src/operations/session.ts';
import { Failure } from '../../src/model/failure.ts';
import { systemClock } from '../../src/platform/system-clock.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';

let folder: string;
let opened: CommandFolder;
let administration: OpenAdministration;

/** The operations without a socket. */
const ask: Ask = async (name, input) => {
  const control = { progress: () => undefined, signal: new AbortController().signal };
  const result = await findOperation(name).run(administration, toJson(input), control);
  return toJson(result) as ResultOf<typeof name>;
};

const toJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quietzone-import-'));
  const config = loadConfig(undefined, { QZ_DATA_DIR: join(folder, 'data') });
  opened = await openInstallation(config.dataDir, 'fill');
  administration = openAdministration(config, opened.folder);
  await administration.services.workspaces.bootstrap(config.bootstrap);
});
afterAll(async () => {
  await administration.close();
  await opened.close();
  rmSync(folder, { recursive: true });
});

async function importing(file: string, more: Partial<ImportRequest> = {}, asking = ask) {
  const results: string[] = [];
  const progress: string[] = [];
  const console = {
    result: (text: string) => void results.push(text),
    progress: (text: string) => void progress.push(text),
  };
  const request: ImportRequest = { file, format: 'auto', isDryRun: false, ...more };
  const isWhole = await importFile(asking, request, console, systemClock);
  return { isWhole, result: results.join('\n'), progress: progress.join('\n') };
}

async function fileOf(name: string, lines: readonly string[]): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, lines.join('\n'));
  return file;
}

const dubRow = (slug: string, at: number): string =>
  `https://${slug},https://example.com/${at},5,2024-02-03T04:05:06.000Z,`;

it('rows that cannot be codes are reported by line, each with its reason', async () => {
  const file = await fileOf('links.csv', [
    'Short link,Destination URL,Clicks,Created at,Tags',
    dubRow('dub.sh/AbCd', 1),
    dubRow('dub.sh/abcd', 2),
    dubRow('dub.sh/a//b', 3),
    dubRow('dub.sh/api', 4),
    dubRow('dub.sh/ftp', 5).replace('https://example.com', 'ftp://example.com'),
    dubRow('other.example/fine', 6),
  ]);
  const errors = join(folder, 'errors.csv');
  const dry = await importing(file, { errors, isDryRun: true });
  expect(dry).toMatchObject({ isWhole: false });
  expect(dry.result).toContain('Dry run: ');
  expect(dry.result).toContain('6 rows, 2 created, 4 failed');
  const dryErrors = await readFile(errors, 'utf8');

  const real = await importing(file, { errors, domain: 'DUB.sh' });
  expect(real.isWhole).toBe(false);
  expect(real.result).toContain('6 rows, 1 created, 4 failed, 1 of other domains left out');
  const lines = (await readFile(errors, 'utf8')).trimEnd().split('\r\n');
  expect(lines[0]).toBe('row,line,slug,target,code,message');
  expect(lines.slice(1).map((line) => line.split(',').slice(0, 3))).toEqual([
    ['2', '3', 'abcd'],
    ['3', '4', 'a//b'],
    ['4', '5', 'api'],
    ['5', '6', 'ftp'],
  ]);
  expect(lines[1]).toMatch(/slug_taken.*abcd differs from AbCd by case alone/);
  expect(lines[3]).toContain('reserved');
  expect(dryErrors.trimEnd().split('\r\n')).toHaveLength(lines.length);
  expect(real.progress).toMatch(/line 3: slug_taken: .*Failed and incomplete rows by reason:/s);

  // Without the domain it is another import: what is there is taken, the rest is made.
  const rest = await importing(file);
  expect(rest.result).toContain('6 rows, 1 created, 5 failed');
  const again = await importing(file);
  expect(again).toMatchObject({ isWhole: false });
  expect(again.result).toMatch(/^Imported already, at .*: 6 rows, 1 created, 5 failed/);
});

it('every address of a Bitly link on one host is a code, and a row that lost one is never whole', async () => {
  const link = (id: string, custom: readonly string[]): string =>
    JSON.stringify({
      id,
      link: `https://${id}`,
      custom_bitlinks: custom.map((path) => `https://${path}`),
      long_url: 'https://example.com/b',
      tags: ['print'],
    });
  const file = await fileOf('bitly.ndjson', [
    link('go.brand.co/xyz91', ['go.brand.co/nice1', 'go.brand.co/nice2']),
    link('bit.ly/lone1', ['go.brand.co/lone2']),
    link('go.brand.co/gen3', ['go.brand.co/NICE1']),
    link('bit.ly/lone4', ['bit.ly/NICE2']),
  ]);
  const dry = await importing(file, { isDryRun: true });
  const real = await importing(file);
  for (const { isWhole, result, progress } of [dry, real]) {
    expect(isWhole).toBe(false);
    expect(result).toContain('4 rows, 1 created, 3 incomplete, 0 failed');
    expect(progress.split('\n').slice(1)).toEqual([
      'line 1: 3 codes of one link: nice1, nice2, xyz91',
      'line 2: incomplete: imported as lone2; https://bit.ly/lone1 is on another host',
      expect.stringMatching(/^line 3: incomplete: imported as gen3; NICE1: .*differs from nice1/),
      expect.stringMatching(/^line 4: incomplete: imported as lone4; NICE2: .*differs from nice2/),
      'Failed and incomplete rows by reason:',
      '  3 × incomplete',
    ]);
  }
  const { codes } = administration;
  const found = await codes.list(1, { filter: { tag: 'bitly xyz91' }, limit: 9 });
  expect(found.data.map(({ shortCode, target, tags }) => [shortCode, target, tags])).toEqual(
    ['xyz91', 'nice2', 'nice1'].map((slug) => [
      slug,
      'https://example.com/b',
      ['bitly xyz91', 'print'],
    ]),
  );
  // With the other host named, its addresses are wanted and those of the first are not missed.
  const other = await importing(file, { domain: 'bit.ly' });
  expect(other.result).toContain('4 rows, 1 created, 1 failed, 2 of other domains left out');
});

it('names the columns that are not imported', async () => {
  const file = await fileOf('columns.csv', [
    'Bitlink,Long URL,Custom Bitlinks,Campaign',
    'bit.ly/col1,https://example.com/c,"bit.ly/col2,bit.ly/col3",spring',
  ]);
  const { progress } = await importing(file, { isDryRun: true });
  expect(progress).toContain('read as bitly\nThese columns are not imported: Campaign\n');
  expect(progress).toContain('line 2: 3 codes of one link: col2, col3, col1');
});

it('a link that is refused is named, and what a table cannot say is announced', async () => {
  const rules = fileURLToPath(new URL('../fixtures/exports/shlink-rules.ndjson', import.meta.url));
  const errors = join(folder, 'errors.csv');
  const told = await importing(rules, { errors, isDryRun: true });
  expect(told.progress).toMatch(/line 2: rules_missing: redirectRules: /);
  expect(await readFile(errors, 'utf8')).toMatch(
    /^2,2,lost,https:\/\/example\.com\/lost,rules_missing,/m,
  );
  const table = await fileOf('links.csv', [
    'Short link,Destination URL,Clicks,Created at,Tags',
    dubRow('dub.sh/plain', 1),
  ]);
  const plain = await importing(table, { isDryRun: true });
  expect(plain).toMatchObject({
    isWhole: true,
    progress: expect.stringContaining('The CSV of Dub leaves out'),
  });
});

it('makes codes with what the other tool knew, and no scans', async () => {
  const file = fileURLToPath(new URL('../fixtures/exports/shlink.json', import.meta.url));
  const told = await importing(file);
  expect([told.isWhole, told.progress]).toEqual([true, expect.stringContaining('as shlink')]);
  const { codes, services } = administration;
  const found = await codes.list(1, { filter: { search: 'summer' }, limit: 1 });
  expect(found.data).toMatchObject([
    {
      shortCode: 'summer',
      target: 'https://example.com/summer',
      name: 'Summer',
      tags: ['season', 'print'],
      scanLimit: 380,
      expiresAtMs: Date.UTC(2031, 7, 31, 22),
      createdBy: services.users.firstOwner(1)?.id,
      metadata: {
        import: {
          from: 'shlink',
          shortUrl: 'https://s.example.org/summer',
          createdAt: '2023-06-01T08:00:00.000Z',
          clicks: 120,
          visitsMax: 500,
        },
      },
    },
  ]);
});

it('takes our own CSV and NDJSON, whose broken rows are theirs alone', async () => {
  const csv = await fileOf('own.csv', [
    'target,slug,tags,externalId',
    'https://example.com/a,own-a,x|y,e1',
    ',b,,',
    'https://example.com/b,own-b,,e1',
  ]);
  for (const [isDryRun, sums] of [
    [true, '1 created, 2'],
    [false, '1 created, 2'],
    [true, '0 created, 3'],
  ] as const) {
    const { result, progress } = await importing(csv, { isDryRun });
    expect(result).toContain(`3 rows, ${sums} failed`);
    expect(progress).toContain('line 4: external_id_taken: externalId: ');
  }
  const ndjson = await fileOf('own.ndjson', [
    '{"target":"https://example.com/c","slug":"own-c"}',
    'nonsense',
    '{"target":"https://example.com/d","colour":"red"}',
  ]);
  const told = await importing(ndjson);
  expect(told.result).toContain('3 rows, 1 created, 2 failed');
  expect(told.progress).toMatch(/line 2: invalid_json/);
  expect(told.progress).toMatch(/line 3: unknown_field: colour: Unknown field/);
});

const slugRow = (slug: string): string => `{"target":"https://example.com/","slug":"${slug}"}`;

it('takes slugs of 1 to 64 characters and of several segments, which other tools gave, and no design', async () => {
  const slugs = ['7', 'a1', 'x'.repeat(64), 'menu/q/1', `${'z/'.repeat(31)}zz`];
  const design = '{"target":"https://example.com/","slug":"drawn","design":{}}';
  const told = await importing(await fileOf('slugs.ndjson', [...slugs.map(slugRow), design]));
  expect(told.result).toContain('6 rows, 5 created, 1 failed');
  expect(told.progress).toContain('line 6: not_importable: design: ');
  expect(administration.codes.holderOf('A1')).toBe('a1');
  expect(administration.codes.holderOf('MENU/Q/1')).toBe('menu/q/1');
});

it('refuses slugs that are no path of plain segments, or begin with a reserved word', async () => {
  const shapes = [
    'y'.repeat(65),
    `${'z/'.repeat(32)}z`,
    'a b',
    '/a',
    'a/',
    'a//b',
    '..',
    'a/../b',
    'a/./b',
  ];
  const encoded = ['a%2Fb', 'a%2fb', '%2e%2e', 'a\\\\b', 'a?b', 'a#b', 'ä', 'a.b'];
  const reserved = ['api', 'API/x', 'docs/a', 'metrics/1/2'];
  const rows = [...shapes, ...encoded, ...reserved].map(slugRow);
  const told = await importing(await fileOf('no-slugs.ndjson', rows));
  expect(told.result).toContain(`${rows.length} rows, 0 created, ${rows.length} failed`);
  expect(told.progress).toContain(`${shapes.length + encoded.length} × invalid_format`);
  expect(told.progress).toContain(`${reserved.length} × reserved`);
});

it('names all faults of a row at once', () => {
  const row = { target: 'ftp://x', type: 'url', slug: 'API', name: '' };
  expect(administration.draftOf(row)).toMatchObject({
    faults: [{ path: 'name' }, { path: 'target' }, { path: 'slug', code: 'reserved' }],
  });
});

it.each(['before', 'after'] as const)(
  'an import that dies %s its second batch is committed continues with every line in the errors file',
  async (when) => {
    const errors = join(folder, `continued-${when}.csv`);
    const rows = Array.from(
      { length: 250 },
      (_, at) => `{"target":"${at % 50 === 0 ? 'x' : `https://example.com/${when}`}"}`,
    );
    const file = await fileOf(`continued-${when}.ndjson`, rows);
    let batches = 0;
    const dying: Ask = async (name, input) => {
      if (name === 'import.rows') batches += 1;
      if (batches === 2 && when === 'before') throw new Error('killed');
      const result: ResultOf<typeof name> = await ask(name, input);
      if (batches === 2) throw new Error('killed');
      return result;
    };
    await writeFile(errors, '');
    await expect(importing(file, { errors }, dying)).rejects.toThrow('killed');
    const told = await importing(file, { errors });
    expect(told.progress).toContain(`Resumed after row ${when === 'before' ? 100 : 200}`);
    expect(told.result).toContain('250 rows, 245 created, 5 failed');
    const lines = (await readFile(errors, 'utf8')).split('\r\n');
    expect(lines.map((line) => line.split(',')[0])).toEqual([
      'row',
      '1',
      '51',
      '101',
      '151',
      '201',
      '',
    ]);
    expect(new Set(lines.slice(1, -1).map((line) => line.split(',')[4]))).toHaveLength(1);
  },
);

it('an import whose leader does not answer is run again', async () => {
  const file = await fileOf('cut.csv', ['target', 'https://example.com/cut']);
  const unknown = new Failure('outcome_unknown', 'Check whether it took effect');
  const cut: Ask = (name, input) =>
    name === 'import.rows' ? Promise.reject(unknown) : ask(name, input);
  await expect(importing(file, {}, cut)).rejects.toThrow('run the import again: it resumes');
  expect((await importing(file)).result).toContain('1 created');
});

it('a row that is too large for a message is refused alone', async () => {
  const target = 'https://example.com/large';
  const rows = [{ target }, { target, name: 'x'.repeat(524_230) }];
  const file = await fileOf(
    'large.ndjson',
    rows.map((row) => JSON.stringify(row)),
  );
  const told = await importing(file);
  expect(told.result).toContain('2 rows, 1 created, 1 failed');
  expect(told.progress).toContain('line 2: body_too_large: ');
});

it('an export of codes is imported, and its computed columns are named', async () => {
  const names = codeTableSample.trim().split(',');
  const row: Record<string, string> = {
    id: 'qr_1',
    target: 'https://example.com/',
    slug: 'exported',
  };
  const cells = { ...row, name: "'=1", 'metadata.table': '12', scans: '3' };
  const line = names.map((name) => new Map(Object.entries(cells)).get(name) ?? '').join(',');
  const told = await importing(await fileOf('qr-codes.csv', [names.join(','), line]));
  expect(told.progress).toContain(
    'These columns are not imported: id, shortUrl, imageUrl, scans, createdAt, updatedAt, status',
  );
  expect(told).toMatchObject({ isWhole: true, result: expect.stringContaining('1 created') });
});

it.each([
  ['nowhere.csv', {}, /Cannot read .*nowhere\.csv: ENOENT/],
  ['strange.csv', {}, /format is unknown \(columns: colour, size\)/],
  ['binary.csv', {}, /columns: \ufffd\ufffdbinary\)/],
  ['list.json', {}, /format is unknown \(columns: colour\)/],
  ['one.json', {}, /no list of links/],
  ['own2.csv', { workspace: 'ws_00000000000000000000' }, /Workspace ws_0+ not found/],
  ['own2.csv', { errors: 'strange.csv' }, /not an errors file/],
  [
    'strange.csv',
    { format: 'csv' },
    /missing columns: colour, size, target; known columns: target, type, .*metadata\.…, utm\.…$/,
  ],
] as const)('refuses %s %o', async (name, more, reason) => {
  await fileOf('strange.csv', ['colour,size', 'red,1']);
  await fileOf('binary.csv', ['\0\u0001binary']);
  await fileOf('list.json', ['[{"colour":1}]']);
  await fileOf('one.json', ['{"colour":1,', '"a":2}']);
  await fileOf('own2.csv', ['target', 'https://example.com/z']);
  const errors = 'errors' in more ? { errors: join(folder, more.errors) } : {};
  await expect(importing(join(folder, name), { ...more, ...errors })).rejects.toThrow(reason);
});
