/** POST /qr-codes/bulk and GET /qr-codes/export.csv over real sockets: every form in and out, and bad input. */
import { connect } from 'node:net';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { standardBounds } from '../../src/api/codes/bulk-gate.ts';
import { memoryBytesMin, memoryShares } from '../../src/app/machine/machine-plan.ts';
import { type Answer, Client, type Json, word } from '../support/client.ts';
import { type RawAnswer, sendRaw } from '../support/raw-http.ts';
import { startTestApi, type TestApp } from '../support/test-app.ts';
import { useTestApi } from '../support/test-client.ts';
import { soon } from '../support/soon.ts';

const { service, client } = await useTestApi();
const path = '/v1/qr-codes/bulk';
const target = 'https://example.com/';
const json = { 'content-type': 'application/json' };
const ndjson = { 'content-type': 'application/x-ndjson' };
const csv = { 'content-type': 'text/csv' };

async function send(raw: string | Uint8Array, headers: Record<string, string>): Promise<Answer> {
  return await client.post(path, undefined, { raw, headers });
}
/** The headers of a body of so many bytes: it is refused before it comes, and who still sends it may lose the answer. */
const declare = ({ url, apiKey }: TestApp, bytes: number): Promise<RawAnswer> =>
  sendRaw(Number(new URL(url).port), [
    `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${apiKey}\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`,
  ]);
function resultOf({ text, status }: Answer): { created: number; failed: number; results: Json[] } {
  expect([status, text.slice(0, 2_000)]).toEqual([200, expect.any(String)]);
  return JSON.parse(text);
}
/** By the path of their targets: a word alone is in one of 11,000 random short codes now and then. */
const total = async (name: string): Promise<unknown> => {
  const search = encodeURIComponent(`${target}${name}`);
  return (await client.get(`/v1/qr-codes?search=${search}&limit=1`)).json.total;
};
const faultsOf = ({ error }: Json): unknown[] =>
  Object.values(error?.errors ?? {}).map((fault) => [fault.path, fault.code]);

describe('what comes in', () => {
  it('a JSON list: a row that fails says why and stops no other', async () => {
    const rows = [
      { target: `${target}list`, slug: 'bulk-one', tags: ['b'], metadata: { table: 1 } },
      { target: 'javascript:alert(1)', name: '' },
      { target, slug: 'BULK-ONE' },
      { target: 'hello', type: 'text' },
      { target, unknown: 1 },
      7,
    ];
    const { created, failed, results } = resultOf(await send(JSON.stringify(rows), json));
    expect([created, failed]).toEqual([2, 4]);
    expect(results.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(results.map(({ status }) => status)).toEqual([201, 422, 409, 201, 422, 422]);
    const single = await client.get(`/v1/qr-codes/${word(results[0]?.qrCode?.id)}`);
    expect(results[0]?.qrCode).toEqual(single.json);
    expect(results.map((line) => faultsOf(line))).toEqual([
      [],
      [
        ['name', 'too_small'],
        ['target', 'invalid_url'],
      ],
      [['slug', 'slug_taken']],
      [],
      [['unknown', 'unknown_field']],
      [['', 'wrong_type']],
    ]);
    expect(results[2]?.error?.code).toBe('slug_taken');
    expect(service.links.live.get('BULK-ONE')?.target).toBe(`${target}list`);
    const events = await client.get('/v1/events?limit=2');
    expect(events.items.map(({ event }) => event)).toEqual(['qr.created', 'qr.created']);
  });

  it('NDJSON: a line that is no JSON is a row that fails', async () => {
    const text = `{"target":"${target}"}\n\nnonsense\n{"target":"${target}","a":1,"a":2}\r\n{"target":"${target}"}`;
    const { results } = resultOf(await send(text, ndjson));
    expect(results.map(({ status, error }) => [status, error?.code])).toEqual([
      [201, undefined],
      [400, 'invalid_json'],
      [400, 'invalid_json'],
      [201, undefined],
    ]);
  });

  it('CSV: every column, in any order', async () => {
    const text = [
      '\ufeffname,target,type,dynamic,slug,tags,expiresAt,scanLimit,externalId,metadata.table,metadata.hall',
      `"Table, 1",${target}csv,url,TRUE,csv-one,a; b|c,2031-01-02T03:04:05Z,12,e-1,1,B`,
      `,"WIFI:S:a;;",wifi,false,,,,,,,`,
      `,${target},,maybe,,,,1.5,,,`,
      `,,,,,,,,,,`,
    ].join('\r\n');
    const { results } = resultOf(await send(text, csv));
    const metadata = { table: '1', hall: 'B' };
    const fields = { name: 'Table, 1', slug: 'csv-one', tags: ['a', 'b', 'c'], metadata };
    expect(results[0]?.qrCode).toMatchObject({ ...fields, scanLimit: 12 });
    expect(results[1]?.qrCode).toMatchObject({ type: 'wifi', dynamic: false });
    expect(faultsOf(results[2]!)).toEqual([
      ['dynamic', 'wrong_type'],
      ['scanLimit', 'wrong_type'],
    ]);
    expect(faultsOf(results[3]!)).toEqual([['target', 'required']]);
  });

  it('no rows at all create nothing', async () => {
    for (const [text, headers] of [
      ['[]', json],
      ['\n', ndjson],
      ['target\n', csv],
    ] as const) {
      expect(resultOf(await send(text, headers))).toEqual({ created: 0, failed: 0, results: [] });
    }
  });

  it.each([
    ['', json, 400, 'invalid_json'],
    ['[{"target":"https://example.com/never"},', json, 400, 'invalid_json'],
    ['{"target":"https://example.com/never"}', json, 422, 'validation_failed'],
    ['target,colour\nhttps://example.com/never,red\n', csv, 422, 'validation_failed'],
    ['name\nnever\n', csv, 422, 'validation_failed'],
    ['target\n"https://example.com/never\n', csv, 422, 'validation_failed'],
    ['[]', { 'content-type': 'text/plain' }, 415, 'unsupported_media_type'],
    ['[]', { 'content-type': 'application/json; charset=latin1' }, 415, 'unsupported_media_type'],
  ])('refuses %j (%o) as a whole', async (text, headers, status, code) => {
    const answer = await send(text, { ...headers });
    expect([answer.status, answer.json.code]).toEqual([status, code]);
    expect(await total('never')).toBe(0);
  });

  it('names the columns that are none', async () => {
    const names = ['colour', 'metadata.', 'design', 'rules', 'utm.sauce', 'utm.', 'utm'];
    const { faults } = await send(`target,${names.join(',')}\nx,1,2,3,4,5,6,7\n`, csv);
    expect(faults.map(({ path: name, code }) => `${name} ${code}`)).toEqual(
      names.map((name) => `${name} unknown_column`),
    );
  });

  it('more rows than 10,000 create nothing; 24 MB are read, and no byte more', async () => {
    const many = `[${Array.from({ length: 10_001 }, () => `{"target":"${target}toomany"}`).join(',')}]`;
    const answer = await send(many, json);
    expect([answer.status, answer.faults[0]?.code]).toEqual([422, 'too_many_rows']);
    expect(await total('toomany')).toBe(0);
    const { bodyBytesMax } = standardBounds;
    expect((await send(Buffer.alloc(bodyBytesMax, 0x20), json)).json.code).toBe('invalid_json');
    const large = await declare(service, bodyBytesMax + 1);
    expect(large.statuses).toEqual([413]);
    expect(large.text).toContain('body_too_large');
    // 10,000 rows of the longest targets are fewer bytes.
    const row = { target: 'x'.repeat(2_048), name: 'n'.repeat(120), slug: 's'.repeat(64) };
    expect(10_000 * `${JSON.stringify(row)}\n`.length).toBeLessThan(bodyBytesMax);
  });

  it('10,000 short rows fit in a container of 256 MB, and no body that it cannot hold', async () => {
    const scarce = memoryShares({ cores: 2, memoryBytes: memoryBytesMin });
    const small = await startTestApi({ scarce });
    const there = new Client(small.url, small.apiKey);
    const rows = Array.from(
      { length: 10_000 },
      // Refused one by one, which is fast: the bound is that of the body.
      (_, row) => `{"target":"httpx://a.example/${row}"}`,
    );
    const sent = await there.post(path, undefined, { raw: `[${rows.join(',')}]`, headers: json });
    expect(resultOf(sent)).toMatchObject({ created: 0, failed: 10_000 });
    expect((await declare(small, scarce!.bulk.bodyBytesMax + 1)).statuses).toEqual([413]);
    await there.close();
  });

  it('costs one request', async () => {
    const before = Number((await client.get('/v1/session')).headers['x-ratelimit-remaining']);
    const rows = Array.from({ length: 120 }, () => ({ target }));
    const answer = await send(JSON.stringify(rows), json);
    expect(resultOf(answer).created).toBe(120);
    expect(Number(answer.headers['x-ratelimit-remaining'])).toBe(before - 1);
  });
});

it('a request is carried out whole when its client goes', async () => {
  const rows = Array.from({ length: 150 }, (_, at) => ({ target: `${target}gone/${at}` }));
  const text = JSON.stringify(rows);
  const socket = connect(Number(new URL(service.url).port));
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${service.apiKey}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
  );
  await expect.poll(async () => await total('gone'), soon).not.toBe(0);
  socket.destroy();
  await expect.poll(async () => await total('gone'), soon).toBe(150);
});

it('the service answers others while it creates many rows', async () => {
  const rows = Array.from({ length: 1_000 }, (_, at) => `{"target":"${target}mass/${at}"}`);
  let answered = 0;
  const state = { areDone: false };
  const others = (async () => {
    while (!state.areDone) {
      expect((await client.get('/v1/qr-codes?limit=1')).status).toBe(200);
      answered += 1;
    }
  })();
  const answer = await send(`[${rows.join(',')}]`, json);
  state.areDone = true;
  await others;
  expect(resultOf(answer)).toMatchObject({ created: 1_000, failed: 0 });
  // 20 batches, and others are answered between two of them.
  expect(answered).toBeGreaterThan(5);
});

it('makes its rows once under an Idempotency-Key, and is a conflict with any other request', async () => {
  const rows = Array.from({ length: 130 }, (_, at) => ({ target: `${target}same/${at}` }));
  const body = JSON.stringify([...rows, { target: 'x' }]);
  const key = { 'idempotency-key': 'bulk-same' };
  const answers = await Promise.all(
    [1, 2, 3].map(async () => await send(body, { ...json, ...key })),
  );
  answers.push(await send(body, { ...json, ...key }));
  const replayed = answers.filter(({ headers }) => headers['idempotent-replayed'] === 'true');
  expect([replayed.length, new Set(answers.map(({ text }) => text)).size]).toEqual([3, 1]);
  expect(await total('same')).toBe(130);
  const others = [
    await send('[]', { ...json, ...key }),
    await client.post('/v1/qr-codes', { target }, { headers: key }),
  ];
  for (const other of others) expect(other.json.code).toBe('idempotency_conflict');
});

it('the export has every code of the filter, whatever the page, and reads back', async () => {
  const rows = Array.from({ length: 620 }, (_, at) => ({
    target: `${target}${at}`,
    name: at === 0 ? '=1+1' : `Table "${at}", hall`,
    tags: ['export', at % 2 === 0 ? 'even' : 'odd'],
    ...(at === 0 ? { metadata: { a: 1 } } : {}),
  }));
  await send(JSON.stringify(rows), json);
  const answer = await client.get('/v1/qr-codes/export.csv?tag=export&limit=1&page=3');
  expect(answer.headers['x-unknown-parameters']).toBe('limit,page');
  expect(answer.headers['content-type']).toContain('text/csv');
  const table: Array<Record<string, string>> = parse(answer.text, { columns: true });
  expect(table).toHaveLength(620);
  expect(new Set(table.map(({ id }) => id)).size).toBe(620);
  expect(table.at(-1)).toMatchObject({
    target: `${target}0`,
    name: `'=1+1`,
    tags: 'export;even',
    'metadata.a': '1',
    scans: '0',
  });
  const odd = await client.get('/v1/qr-codes/export.csv?tag=export&search=hall');
  expect(parse(odd.text)).toHaveLength(620);
  const none = await client.get('/v1/qr-codes/export.csv?tag=nothing');
  expect(parse(none.text)).toHaveLength(1);
});
