/** Where a code leads, through /v1/qr-codes: what is sent comes back, what is absent is a default, events say what changed. */
import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import { importedDrafts } from '../../../src/api/codes/code-bodies.ts';
import { type Answer, type Json, word } from '../../support/client.ts';
import { useTestApi } from '../../support/test-client.ts';

const { client, makeCode } = await useTestApi();

const target = 'https://example.com/menu';
const store = 'https://apps.apple.com/app/id1';
const plain = {
  rules: [],
  split: null,
  utm: null,
  passQuery: false,
  startsAt: null,
  paused: false,
  fallbackUrl: null,
};
const full = {
  rules: [
    {
      label: 'everything',
      if: {
        device: ['mobile', 'tablet'],
        os: ['iOS'],
        browser: ['Safari', 'Samsung Internet'],
        country: ['DE', 'ZZ'],
        language: ['pt-BR', 'de'],
        time: { days: ['mon', 'sun'], from: '22:00', to: '24:00', timezone: 'Europe/Berlin' },
      },
      then: { target: store },
    },
    {
      label: 'winter',
      if: {
        date: { from: '2026-12-01T00:00:00.000Z', to: '2027-01-01T00:00:00.000Z' },
        query: { table: '*', Ümlaut: 'ä b' },
      },
      then: {
        split: [
          { label: 'a', target: 'https://example.com/a', weight: 1 },
          { label: 'b', target: 'https://example.com/b', weight: 1_000 },
        ],
      },
    },
  ],
  split: [
    { label: 'c', target: 'https://example.com/c', weight: 30 },
    { label: 'd', target: 'https://example.com/d', weight: 70 },
  ],
  utm: { source: 'qr', campaign: '{campaign} {slug} {label}' },
  passQuery: true,
  startsAt: '2026-01-01T00:00:00.000Z',
  paused: false,
  fallbackUrl: 'https://example.com/closed',
};

const pathOf = ({ id }: Json): string => `/v1/qr-codes/${word(id)}`;
const get = async (code: Json): Promise<Json> => (await client.get(pathOf(code))).json;
const send = async (method: string, code: Json, body: object): Promise<Answer> =>
  await client.call(method, pathOf(code), { body });
async function changesOf(code: Json): Promise<Json[]> {
  const { items } = await client.get('/v1/events?type=qr.updated&limit=100');
  return items.flatMap(({ data = {} }) => (data.id === code.id ? [data] : []));
}

test('what is sent comes back, of a create, a get, a replacement and a patch', async () => {
  const made = await makeCode(full);
  expect(made).toMatchObject({ ...full, target, status: 'active' });
  expect(await get(made)).toEqual(made);
  const other = await makeCode();
  expect(other).toMatchObject(plain);
  const replaced = await send('PUT', other, { target, ...full });
  expect([replaced.status, replaced.json]).toEqual([200, expect.objectContaining(full)]);
  const changed = await send('PATCH', await makeCode(), full);
  expect([changed.status, changed.json]).toEqual([200, expect.objectContaining(full)]);
});

test('values are kept in one form: hrefs, times in UTC, nothing twice', async () => {
  const rows = [
    ['os', ['iOS', 'Android', 'iOS'], ['iOS', 'Android']],
    ['country', ['DE', 'DE'], ['DE']],
    ['language', ['de', 'DE', 'en', 'De'], ['de', 'en']],
    ['date', { from: '2026-12-01T01:00:00+01:00' }, { from: '2026-12-01T00:00:00.000Z' }],
    [
      'time',
      { days: ['sun', 'mon', 'sun'], timezone: 'europe/berlin' },
      { days: ['sun', 'mon'], timezone: 'Europe/Berlin' },
    ],
  ] as const;
  const ruleOf = (column: 1 | 2, target: string) => {
    const conditions = Object.fromEntries(rows.map((row) => [row[0], row[column]]));
    return { label: 'a', if: conditions, then: { target } };
  };
  const made = await makeCode({
    rules: [ruleOf(1, 'HTTPS://EXAMPLE.com')],
    startsAt: '2026-01-01T01:00:00+01:00',
    fallbackUrl: 'https://EXAMPLE.com/ü',
    utm: { source: null, term: 'x' },
  });
  expect(made).toMatchObject({
    rules: [ruleOf(2, 'https://example.com/')],
    startsAt: '2026-01-01T00:00:00.000Z',
    fallbackUrl: 'https://example.com/%C3%BC',
  });
  expect(made.utm).toEqual({ term: 'x' });
});

describe('a change', () => {
  test('takes lists as a whole, merges utm, and null resets each', async () => {
    const code = await makeCode(full);
    const merged = await send('PATCH', code, {
      utm: { source: null, medium: 'print' },
      rules: full.rules.slice(1),
    });
    const { utm: _merged, ...rest } = full;
    expect(merged.json).toMatchObject({ ...rest, rules: full.rules.slice(1) });
    expect(merged.json.utm).toEqual({ medium: 'print', campaign: full.utm.campaign });
    for (const [field, value] of Object.entries(plain)) {
      const { status, json } = await send('PATCH', code, { [field]: null });
      expect([field, status, json[field]]).toEqual([field, 200, value]);
    }
    const without = await send('PATCH', await makeCode({ utm: { term: 'x' } }), {
      utm: { term: null },
    });
    expect(without.json.utm).toBe(null);
  });

  test('of other fields leaves them; a replacement without them resets them', async () => {
    const code = await makeCode(full);
    expect((await send('PATCH', code, { name: 'Table 12' })).json).toMatchObject(full);
    expect((await send('PUT', code, { target })).json).toMatchObject(plain);
  });

  test('is in the event, whole, by its public names, and only what changed', async () => {
    const code = await makeCode();
    await send('PATCH', code, full);
    await send('PATCH', code, full);
    await send('PATCH', code, { rules: [], name: 'x' });
    await send('PUT', code, { target, name: 'x' });
    const [last, second, first, ...more] = await changesOf(code);
    expect(more).toEqual([]);
    const { paused: _same, ...changed } = full;
    const { paused: _default, ...before } = plain;
    expect([first?.before, first?.after]).toEqual([before, changed]);
    expect([second?.before, second?.after]).toEqual([
      { rules: full.rules, name: null },
      { rules: [], name: 'x' },
    ]);
    const { rules: _rules, ...rest } = changed;
    const { rules: _none, ...defaults } = before;
    expect([last?.before, last?.after]).toEqual([rest, defaults]);
  });

  test('warns of rules that never win, and keeps them', async () => {
    const rules = [
      { label: 'apple', if: { os: ['iOS', 'macOS'] }, then: { target: store } },
      { label: 'iphone', if: { os: ['iOS'], device: ['mobile'] }, then: { target: store } },
    ];
    const warnings = [
      { path: 'rules.1', code: 'unreachable', message: expect.stringContaining('apple') },
    ];
    const made = await client.post('/v1/qr-codes', { target, rules });
    expect([made.status, made.json.rules, made.json.warnings]).toEqual([201, rules, warnings]);
    expect(await get(made.json)).not.toHaveProperty('warnings');
    const renamed = await send('PATCH', made.json, { name: 'x' });
    expect(renamed.json.warnings).toEqual(warnings);
    expect((await send('PUT', made.json, { target, rules })).json.warnings).toEqual(warnings);
    const turned = await send('PATCH', made.json, { rules: rules.toReversed() });
    expect(turned.json).not.toHaveProperty('warnings');
  });

  test('warns of an end before the creation, in answers to a change alone', async () => {
    const body = { target, expiresAt: '2020-01-01T00:00:00Z' };
    const made = await client.post('/v1/qr-codes', body);
    const warnings = [{ path: 'expiresAt', code: 'past', message: expect.any(String) }];
    expect([made.status, made.json.warnings]).toEqual([201, warnings]);
    expect(await get(made.json)).not.toHaveProperty('warnings');
    const later = await send('PATCH', made.json, { expiresAt: '2100-01-01T00:00:00Z' });
    expect(later.json).not.toHaveProperty('warnings');
  });
});

test('the service takes every example of the guide, and shows it again', async () => {
  const { text } = await client.get('/docs/routes', { key: undefined });
  const examples = [...text.matchAll(/ -d &#39;(\{[^]*?\})&#39;/g)].map(([, body = '']): object =>
    JSON.parse(body.replaceAll('&quot;', '"')),
  );
  expect(examples).toHaveLength(6);
  for (const body of examples) {
    const answer = await send('PATCH', await makeCode(), body);
    expect([answer.status, answer.json]).toEqual([200, expect.objectContaining(body)]);
  }
});

test('an import reads the fields of a create', () => {
  const { startsAt, ...rest } = full;
  const draft = importedDrafts('http://localhost:8081')({ target, ...full });
  expect(draft).toMatchObject({ ...rest, startsAtMs: Date.parse(startsAt) });
});

describe('many at once', () => {
  async function bulk(type: string, raw: string): Promise<readonly Json[]> {
    const headers = { 'content-type': type };
    const { json } = await client.post('/v1/qr-codes/bulk', undefined, { raw, headers });
    return Object.values(json.results ?? {});
  }

  test.each(['json', 'x-ndjson'])('as %s, by the rules of one', async (type) => {
    const bad = { target, rules: [{ label: 'target', if: {}, then: { target: 'x' } }] };
    const rows = [{ target, ...full }, bad];
    const lines = rows.map((row) => JSON.stringify(row)).join('\n');
    const text = type === 'json' ? JSON.stringify(rows) : lines;
    const [good, refused] = await bulk(`application/${type}`, text);
    expect(good).toMatchObject({ status: 201, qrCode: full });
    expect(refused?.status).toBe(422);
    expect(refused?.error?.errors).toMatchObject([
      { path: 'rules.0.if', code: 'required' },
      { path: 'rules.0.label', code: 'reserved' },
      { path: 'rules.0.then.target', code: 'invalid_url' },
    ]);
  });

  test('as CSV takes utm, start, pause and fallback, and the table has the same columns', async () => {
    const table =
      'target,utm.source,utm.content,startsAt,paused,fallbackUrl,tags\r\n' +
      `${target},qr,{label},2026-01-01T00:00:00Z,TRUE,https://example.com/closed,csv-routes\r\n` +
      `${target},,,,,,csv-routes\r\n` +
      `${target},,,,perhaps,nowhere,\r\n`;
    const [first, second, third] = await bulk('text/csv', table);
    const { fallbackUrl, startsAt } = full;
    const utm = { source: 'qr', content: '{label}' };
    expect(first?.qrCode).toMatchObject({ utm, startsAt, paused: true, fallbackUrl });
    expect(second?.qrCode).toMatchObject(plain);
    expect(third?.error?.errors).toMatchObject([
      { path: 'paused', code: 'wrong_type' },
      { path: 'fallbackUrl', code: 'invalid_url' },
    ]);
    const { text } = await client.get('/v1/qr-codes/export.csv?tag=csv-routes');
    const rows: ReadonlyArray<Record<string, string>> = parse(text, { columns: true });
    const columns = ['utm.source', 'utm.content', 'startsAt', 'paused', 'fallbackUrl'];
    expect(rows.map((row) => columns.map((column) => row[column]))).toEqual([
      ['', '', '', 'false', ''],
      ['qr', '{label}', startsAt, 'true', fallbackUrl],
    ]);
  });
});

test('a code at its bounds is made, and replaced by what it answers', async () => {
  const long = (name: string): string => `https://example.com/${name}-`.padEnd(2_048, 'x');
  const value = 'ü'.repeat(118);
  const table = Object.fromEntries([1, 2, 3, 4, 5].map((at) => [`table-${at}`, value + at]));
  const rules = Array.from({ length: 20 }, (_, at) => ({
    label: `rule-${at}`,
    if: { query: { ...table, 'table-5': `${at}` } },
    then: { target: long(`rule-${at}`) },
  }));
  const split = Array.from({ length: 8 }, (_, at) => ({
    label: `variant-${at}`,
    target: long(`variant-${at}`),
    weight: 1,
  }));
  const body = { target: long('own'), fallbackUrl: long('fallback'), rules, split };
  const made = await makeCode(body);
  expect(made.rules).toEqual(rules);
  for (const method of ['PUT', 'PATCH']) {
    expect((await send(method, made, body)).status).toBe(200);
  }
});
