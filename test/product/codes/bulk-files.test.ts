/**
 * Files of codes: rows out of bytes, whatever the pieces they come in, and exports of other tools, as those write them
 * (test/fixtures/exports), with what becomes of each link.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fileURLToPath } from 'node:url';
import { csvColumns, readCsv } from '../../../src/product/codes/bulk/csv-rows.ts';
import { type JsonRow, listRows, ndjsonRows } from '../../../src/product/codes/bulk/json-rows.ts';
import { bulkRows } from '../../../src/product/codes/bulk/rows.ts';
import { Failure } from '../../../src/model/failure.ts';
import {
  vendorCode,
  recognizeVendorExport,
} from '../../../src/product/codes/bulk/vendor-exports.ts';
import { openImportSource } from '../../../src/operations/import/source.ts';

/** The text in pieces of so many bytes, each overwritten once the next is asked for. */
async function* inPieces(text: string, bytes: number): AsyncGenerator<Uint8Array> {
  const all = Buffer.from(text);
  for (let at = 0; at < all.length; at += bytes) {
    const piece = Buffer.from(all.subarray(at, at + bytes));
    yield piece;
    piece.fill(0x21);
  }
}

async function textsOf(rows: AsyncIterable<JsonRow>): Promise<string[]> {
  const texts: string[] = [];
  for await (const { bytes } of rows) {
    texts.push(bytes instanceof Failure ? bytes.code : Buffer.from(bytes).toString());
  }
  return texts;
}

async function tableOf(text: string, bytes = 7) {
  const { columns, rows } = await readCsv(inPieces(text, bytes));
  const found: Array<[line: number, cells: Record<string, string> | string]> = [];
  for await (const { cells, line } of rows) {
    found.push([line, cells instanceof Failure ? cells.message : Object.fromEntries(cells)]);
  }
  return { columns, rows: found };
}

describe('a JSON list', () => {
  it('gives back every element, whatever is in it and wherever the pieces end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.jsonValue()),
        fc.integer({ min: 1, max: 40 }),
        fc.constantFrom('', ' ', '\n'),
        async (values, bytes, space) => {
          const inner = values.map((value) => JSON.stringify(value, null, space)).join(`,${space}`);
          const texts = await textsOf(
            listRows(inPieces(`\ufeff${space}[${inner}]${space}`, bytes)),
          );
          expect(texts.map((text) => JSON.parse(text))).toEqual(
            values.map((value) => JSON.parse(JSON.stringify(value))),
          );
        },
      ),
      { numRuns: 150 },
    );
  });

  it('leaves a broken element to its row', async () => {
    const texts = await textsOf(listRows(inPieces('[{"a":1}, {"b" 2}, tru, {"c":3}]', 3)));
    expect(texts).toEqual(['{"a":1}', '{"b" 2}', 'tru', '{"c":3}']);
  });

  it.each([
    ['', /empty/],
    ['{"target":1}', /not a list/],
    ['[1', /ends too early/],
    ['["a', /ends too early/],
    ['[1,]', /missing between/],
    ['[,1]', /missing between/],
    ['[1] 2', /something follows/],
    ['[}]', /closes what is not open/],
  ])('refuses %s as a whole', async (text, reason) => {
    await expect(textsOf(listRows(inPieces(text, 2)))).rejects.toThrow(reason);
  });

  it('throws away a row beyond the bound, and goes on behind it', async () => {
    const long = JSON.stringify('x'.repeat(600_000));
    expect(await textsOf(listRows(inPieces(`[1,${long},2]`, 65_536)))).toEqual([
      '1',
      'body_too_large',
      '2',
    ]);
  });

  it('knows the line of each row', async () => {
    const lines: number[] = [];
    for await (const { line } of listRows(inPieces('[\n1,\n\n2, 3\n]', 4))) lines.push(line);
    expect(lines).toEqual([2, 4, 4]);
  });
});

it('NDJSON is its lines, the blank ones apart', async () => {
  const rows = ndjsonRows(inPieces('\ufeff{"a":1}\r\n\n  \n{"b":2}', 3));
  expect((await textsOf(rows)).map((text) => JSON.parse(text))).toEqual([{ a: 1 }, { b: 2 }]);
});

describe('CSV', () => {
  it('reads quotes, line breaks in cells, blank lines and a byte order mark', async () => {
    const text = '\ufefftarget,name\r\nhttps://a.example/,"two\r\nlines"\r\n\r\n"b ""q"",",\r\n';
    expect(await tableOf(text)).toMatchObject({
      columns: ['target', 'name'],
      rows: [
        [2, { target: 'https://a.example/', name: 'two\r\nlines' }],
        [5, { target: 'b "q",' }],
      ],
    });
  });

  it.each([';', '\t'])('takes %j as the separator when the header has it', async (separator) => {
    const { rows } = await tableOf(`target${separator}name\na,b${separator}c\n`);
    expect(rows).toEqual([[2, { target: 'a,b', name: 'c' }]]);
  });

  it('reports a row with too many cells and goes on', async () => {
    const { rows } = await tableOf('target\na\nb,c\nd\n');
    expect(rows.map(([, cells]) => cells)).toEqual([
      { target: 'a' },
      'This row has 2 cells, the header 1',
      { target: 'd' },
    ]);
  });

  it.each([
    ['', /empty/],
    ['target,target\n', /twice/],
    ['target\n"a\nb\n', /never closed/],
    [`target\n"${'x'.repeat(2_200_000)}`, /larger/],
  ])('refuses %j', async (text, reason) => {
    await expect(tableOf(text, 4_096)).rejects.toThrow(reason);
  });

  it('reports a row that is too long or not UTF-8, and goes on', async () => {
    async function* table(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(`target\na\n"${'x'.repeat(70_000)}"\nb\n`);
      yield Buffer.from('https://example.com/\xfc\nc\n', 'latin1');
    }
    const seen: unknown[] = [];
    for await (const { cells, line } of (await readCsv(table())).rows) {
      seen.push([line, cells instanceof Failure ? cells.message : Object.fromEntries(cells)]);
    }
    expect(seen).toEqual([
      [2, { target: 'a' }],
      [3, 'This row is longer than 65536 characters'],
      [4, { target: 'b' }],
      [5, 'This row is not valid UTF-8'],
      [6, { target: 'c' }],
    ]);
  });

  it('tells the columns of a beginning that ends within a row', async () => {
    expect(await csvColumns(Buffer.from('a,b\n1,"2'))).toEqual(['a', 'b']);
  });
});

it('other work is done while one large piece is read', async () => {
  let cycles = 0;
  // Not a timer: all of it may take less than the millisecond of one.
  let next = setImmediate(function cycle() {
    cycles += 1;
    next = setImmediate(cycle);
  });
  const text = `"${'x'.repeat(300_000)}"`;
  const values: unknown[] = [];
  for await (const { value } of bulkRows('ndjson', inPieces(text, 1_000_000))) values.push(value);
  clearImmediate(next);
  expect(values).toEqual([JSON.parse(text)]);
  expect(cycles).toBeGreaterThanOrEqual(9);
});

/** When the exports of the fixtures are read. */
const nowMs = Date.parse('2026-12-01T00:00:00Z');

async function rowsOf(name: string) {
  const file = fileURLToPath(new URL(`../../fixtures/exports/${name}`, import.meta.url));
  const source = await openImportSource(file, 'auto', nowMs);
  const rows: unknown[] = [];
  for await (const { values } of source.rows(() => undefined)) {
    rows.push(...values.map((one) => (one instanceof Failure ? one.faults[0]?.code : one)));
  }
  return { format: source.format, rows };
}

describe('what the tools write', () => {
  it('Bitly: the custom link wins over the generated one, the title is the name', async () => {
    expect(await rowsOf('bitly.csv')).toEqual({
      format: 'bitly',
      rows: [
        {
          target: 'https://example.com/menu?season=spring',
          slug: 'spring',
          name: 'Spring menu, outdoors',
          tags: ['menu', 'berlin'],
          metadata: {
            import: {
              from: 'bitly',
              shortUrl: 'https://go.example.org/spring',
              createdAt: '2023-04-05T00:00:00.000Z',
              clicks: 1_204,
            },
          },
        },
        {
          target: 'https://example.com/plain',
          slug: '3QrStUv',
          metadata: {
            import: {
              from: 'bitly',
              shortUrl: 'https://bit.ly/3QrStUv',
              createdAt: '2022-11-30T00:00:00.000Z',
              clicks: 0,
            },
          },
        },
      ],
    });
  });

  const imported = (fields: object) => ({ metadata: { import: fields } });

  it.each([
    [
      'dub.csv',
      'dub',
      [
        { slug: 'launch', tags: ['press', '2024'], ...imported({ clicks: 57 }) },
        // A key of several segments stays whole.
        { slug: 'guide/api', target: 'https://example.com/docs' },
      ],
    ],
    [
      'shlink-web.csv',
      'shlink',
      [
        { slug: 'hall3', name: 'Fair, hall 3', tags: ['fair', 'print'] },
        { slug: 'aB3xY' },
        { slug: 'fair/hall/5' },
      ],
    ],
    [
      'shlink-list.csv',
      'shlink',
      [{ slug: 'hall4', tags: ['fair', 'print'], ...imported({ clicks: 7 }) }],
    ],
    [
      'shlink.json',
      'shlink',
      [
        {
          slug: 'summer',
          target: 'https://example.com/summer',
          expiresAt: '2031-08-31T22:00:00.000Z',
          scanLimit: 380,
          ...imported({ clicks: 120, createdAt: '2023-06-01T08:00:00.000Z' }),
        },
        // Its visits are used up: it must not come to life again.
        { slug: 'used-up', expiresAt: '1970-01-01T00:00:00.000Z' },
        { slug: 'menu/winter' },
      ],
    ],
    [
      'kutt.json',
      'kutt',
      [
        {
          slug: 'flyer7',
          name: 'Flyer no. 7',
          target: 'https://example.com/flyer?n=7',
          expiresAt: '2032-01-01T00:00:00.000Z',
          ...imported({ clicks: 42, createdAt: '2021-05-06T07:08:09.000Z' }),
        },
        // Refused, not opened to everyone.
        'password',
        'banned',
      ],
    ],
    [
      'kutt.csv',
      'kutt',
      [{ slug: 'flyer8', ...imported({ createdAt: '2021-05-06T07:08:09.000Z' }) }],
    ],
    [
      'yourls-plugin.csv',
      'yourls',
      [
        { slug: 'ozh', target: 'https://example.com/ozh', ...imported({ clicks: 12 }) },
        { slug: 'two', target: 'https://example.com/a,b' },
        { slug: '1', target: 'https://example.com/first' },
        { slug: 'help/print', target: 'https://example.com/docs?v=1' },
      ],
    ],
    [
      'yourls-table.csv',
      'yourls',
      [
        {
          slug: 'a1',
          name: 'First',
          ...imported({ clicks: 99, createdAt: '2019-08-09T10:11:12.000Z' }),
        },
        { slug: '2' },
      ],
    ],
    [
      'yourls.json',
      'yourls',
      [{ slug: 'b2', ...imported({ clicks: 5 }) }, { slug: 'c3' }, { slug: '3' }],
    ],
    ['yourls-phpmyadmin.json', 'yourls', [{ slug: 'd4', name: 'Fourth' }]],
  ])('%s', async (file, format, rows) => {
    expect(await rowsOf(file)).toMatchObject({ format, rows });
  });
});

describe('values', () => {
  const dub = (row: Record<string, unknown>) => vendorCode('dub', row, nowMs).values[0];

  it('titles become names of one line that fit', () => {
    const title = `a\tb\n${'x'.repeat(200)}`;
    const value = dub({ 'Short link': 'dub.sh/a', 'Destination URL': 'https://x', title });
    expect(value).toMatchObject({
      name: `a b ${'x'.repeat(115)}…`,
      metadata: { import: { title } },
    });
  });

  it('a tag list is cut to what a code takes, and the rest is reported', () => {
    const tags = Array.from({ length: 22 }, (_, at) => `t${at}`);
    const { values, lost } = vendorCode('dub', { url: 'https://x', key: 'a', tags }, nowMs);
    expect(values).toMatchObject([{ tags: tags.slice(0, 20) }]);
    expect(lost).toEqual(['these tags exceed 20: t20, t21']);
  });

  it('an expiry that cannot be read is kept, to be refused', () => {
    expect(dub({ url: 'https://x', key: 'a', expiresAt: 'soon' })).toMatchObject({
      expiresAt: 'soon',
    });
  });

  it('other columns are not recognized', () => {
    expect(recognizeVendorExport(['target', 'name'])).toBeUndefined();
    expect(recognizeVendorExport([])).toBeUndefined();
  });
});
