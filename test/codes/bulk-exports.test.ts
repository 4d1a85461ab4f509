/** Exports of other tools, as those write them (test/fixtures/exports), and what becomes of each link. */
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { vendorCode, recognizeVendorExport } from '../../src/codes/bulk/vendor-exports.ts';
import { Failure } from '../../src/model/failure.ts';
import { openImportSource } from '../../src/cli/import/source.ts';

/** When the exports of the fixtures are read. */
const nowMs = Date.parse('2026-12-01T00:00:00Z');

async function rowsOf(name: string) {
  const file = fileURLToPath(new URL(`../fixtures/exports/${name}`, import.meta.url));
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

  it('Dub: a key of several segments stays whole', async () => {
    const { format, rows } = await rowsOf('dub.csv');
    expect(format).toBe('dub');
    expect(rows).toMatchObject([
      { slug: 'launch', tags: ['press', '2024'], metadata: { import: { clicks: 57 } } },
      { slug: 'guide/api', target: 'https://example.com/docs' },
    ]);
  });

  it('Shlink: the CSV of its web client and of its command line, the JSON of its API', async () => {
    expect(await rowsOf('shlink-web.csv')).toMatchObject({
      format: 'shlink',
      rows: [
        { slug: 'hall3', name: 'Fair, hall 3', tags: ['fair', 'print'] },
        { slug: 'aB3xY' },
        { slug: 'fair/hall/5' },
      ],
    });
    expect(await rowsOf('shlink-list.csv')).toMatchObject({
      format: 'shlink',
      rows: [{ slug: 'hall4', tags: ['fair', 'print'], metadata: { import: { clicks: 7 } } }],
    });
    const { format, rows } = await rowsOf('shlink.json');
    expect(format).toBe('shlink');
    expect(rows).toMatchObject([
      {
        slug: 'summer',
        target: 'https://example.com/summer',
        expiresAt: '2031-08-31T22:00:00.000Z',
        scanLimit: 380,
        metadata: { import: { clicks: 120, createdAt: '2023-06-01T08:00:00.000Z' } },
      },
      // Its visits are used up: it must not come to life again.
      { slug: 'used-up', expiresAt: '1970-01-01T00:00:00.000Z' },
      { slug: 'menu/winter' },
    ]);
    expect(rows[1]).not.toHaveProperty('scanLimit');
  });

  it('Kutt: what asks for a password or is banned is refused, not opened to everyone', async () => {
    const { format, rows } = await rowsOf('kutt.json');
    expect(format).toBe('kutt');
    expect(rows).toMatchObject([
      {
        slug: 'flyer7',
        name: 'Flyer no. 7',
        target: 'https://example.com/flyer?n=7',
        expiresAt: '2032-01-01T00:00:00.000Z',
        metadata: { import: { clicks: 42, createdAt: '2021-05-06T07:08:09.000Z' } },
      },
      'password',
      'banned',
    ]);
    expect(await rowsOf('kutt.csv')).toMatchObject({
      format: 'kutt',
      rows: [{ slug: 'flyer8', metadata: { import: { createdAt: '2021-05-06T07:08:09.000Z' } } }],
    });
  });

  it('YOURLS: the plugin’s CSV, the table’s CSV, the API’s JSON, phpMyAdmin’s JSON', async () => {
    expect(await rowsOf('yourls-plugin.csv')).toMatchObject({
      format: 'yourls',
      rows: [
        { slug: 'ozh', target: 'https://example.com/ozh', metadata: { import: { clicks: 12 } } },
        { slug: 'two', target: 'https://example.com/a,b' },
        { slug: '1', target: 'https://example.com/first' },
        { slug: 'help/print', target: 'https://example.com/docs?v=1' },
      ],
    });
    expect(await rowsOf('yourls-table.csv')).toMatchObject({
      format: 'yourls',
      rows: [
        {
          slug: 'a1',
          name: 'First',
          metadata: { import: { clicks: 99, createdAt: '2019-08-09T10:11:12.000Z' } },
        },
        { slug: '2' },
      ],
    });
    expect(await rowsOf('yourls.json')).toMatchObject({
      format: 'yourls',
      rows: [{ slug: 'b2', metadata: { import: { clicks: 5 } } }, { slug: 'c3' }, { slug: '3' }],
    });
    expect(await rowsOf('yourls-phpmyadmin.json')).toMatchObject({
      format: 'yourls',
      rows: [{ slug: 'd4', name: 'Fourth' }],
    });
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
