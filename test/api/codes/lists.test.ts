/** GET /v1/qr-codes from outside: search, tags and the caller's own ids. */
import { describe, expect, test } from 'vitest';
import { type Answer, type Json, word } from '../../support/client.ts';
import { useTestApi } from '../../support/test-client.ts';

describe('search and tags', async () => {
  const { service, makeCode, client } = await useTestApi();
  const target = 'https://example.com/menu';
  const create = async (...tags: readonly string[]): Promise<Json> => await makeCode({ tags });
  const tagged = async (tag: string): Promise<unknown> =>
    (await client.get(`/v1/qr-codes?tag=${encodeURIComponent(tag)}`)).json.total;
  const tagsOf = async (query: string): Promise<unknown[]> => {
    const { items } = await client.get(`/v1/qr-codes/tags?${query}`);
    return items.map(({ tag, count }) => [tag, count]);
  };

  test('a search has ten words at most, the same word twice is one', async () => {
    await makeCode({ name: 'Table 7, Bakery' });
    const search = (text: string) => client.get(`/v1/qr-codes?search=${encodeURIComponent(text)}`);
    const words = Array.from({ length: 11 }, (_, at) => `w${at}`);
    const refused = await search(words.join(' '));
    expect([refused.status, refused.faults[0]?.path]).toEqual([422, 'search']);
    expect((await search(words.slice(1).join(' '))).status).toBe(200);
    expect((await search('bakery table '.repeat(9))).json.total).toBe(1);
  });

  test('what is written later takes the spelling that is there, in every way to write it', async () => {
    const rows = [
      [
        ['Summer 24', 'Café'],
        ['Summer 24', 'Café'],
      ],
      [
        ['summer 24', 'CAFE'],
        ['Summer 24', 'Café'],
      ],
      [
        [' SUMMER  24', 'Summer 24', 'x'],
        ['Summer 24', 'x'],
      ],
    ] as const;
    for (const [written, kept] of rows) expect((await create(...written)).tags).toEqual(kept);
    const body = [
      { target, tags: ['sUMMER 24'] },
      { target, tags: ['New'] },
      { target, tags: ['new'] },
    ];
    const bulk = await client.post('/v1/qr-codes/bulk', body);
    expect(JSON.stringify(bulk.json.results)).not.toMatch(/sUMMER|"new"/);
    const path = `/v1/qr-codes/${word((await create()).id)}`;
    const patched = await client.patch(path, { tags: ['cafe', 'new'] });
    expect(patched.json.tags).toEqual(['Café', 'New']);
    const put = await client.put(path, { target, tags: ['SUMMER 24'] });
    expect(put.json.tags).toEqual(['Summer 24']);
    expect(await tagsOf('search=sümmer')).toEqual([['Summer 24', 5]]);
    expect(await tagsOf('limit=2')).toEqual([
      ['Summer 24', 5],
      ['Café', 2],
    ]);
    expect(await tagsOf('search=nothing')).toEqual([]);
  });

  test('tags of one code keep their order, each once', async () => {
    const { tags } = await create('order b', 'order A', 'ORDER B', 'order c', 'Order a');
    expect(tags).toEqual(['order b', 'order A', 'order c']);
  });

  test('the filter takes any case and accents, alone and with others, and so does the table', async () => {
    await create('Größe', 'two');
    await create('grösse');
    for (const tag of ['Größe', 'GRÖSSE', 'grosse', ' größe '])
      expect([tag, await tagged(tag)]).toEqual([tag, 2]);
    const both = await client.get('/v1/qr-codes?tag=GROSSE&search=menu&dynamic=true&limit=1');
    expect([both.json.total, both.items.length]).toEqual([2, 1]);
    const table = await client.get('/v1/qr-codes/export.csv?tag=grosse');
    expect(table.text.trim().split('\n')).toHaveLength(3);
  });

  test('a spelling goes with its last code, and the only code with a tag may change its spelling', async () => {
    const path = `/v1/qr-codes/${word((await create('sping')).id)}`;
    const events = async (): Promise<number> =>
      (await client.get('/v1/events?event=qr.updated&limit=100')).items.length;
    const before = await events();
    const respelled = await client.patch(path, { tags: ['Sping'] });
    expect(respelled.json.tags).toEqual(['Sping']);
    expect(await tagsOf('search=sping')).toEqual([['Sping', 1]]);
    expect(await events()).toBe(before + 1);
    await client.patch(path, { tags: ['Sping'] });
    expect(await events()).toBe(before + 1);
    await client.patch(path, { tags: ['spring'] });
    expect(await tagsOf('search=sping')).toEqual([]);
    await client.delete(path);
    expect(await tagsOf('search=spring')).toEqual([]);
    expect((await create('SPRING')).tags).toEqual(['SPRING']);
  });

  test('another workspace sees none of them and spells as it likes', async () => {
    await create('Ours');
    const stranger = { ...service.actor, workspaceNo: service.actor.workspaceNo + 1 };
    const made = await service.codes.create(stranger, { target, tags: ['OURS'] });
    expect(made.tags).toEqual(['OURS']);
    const theirs = await service.codes.tags(stranger.workspaceNo, { search: '', limit: 10 });
    expect(theirs).toEqual({ data: [{ tag: 'OURS', codes: 1 }], total: 1 });
    expect(await tagsOf('search=ours')).toEqual([['Ours', 1]]);
  });

  test('tags whose letters fold to many still fit into the index', async () => {
    const long = ['\ufdfa'.repeat(64), 'İ'.repeat(64), 'ΐ'.repeat(64), '\u{1f600}'.repeat(32)];
    expect((await create(...long)).tags).toEqual(long);
    for (const tag of long) expect(await tagged(tag)).toBe(1);
  });
});

describe('externalId', async () => {
  const target = 'https://example.com/menu';
  const codes = '/v1/qr-codes';
  const { client } = await useTestApi();

  const create = (externalId: string) => client.post(codes, { target, externalId });
  const idsOf = async (externalId: string): Promise<unknown[]> =>
    (await client.get(`${codes}?externalId=${externalId}`)).items.map(({ id }) => id);
  const taken = [409, 'external_id_taken', [{ path: 'externalId', code: 'external_id_taken' }]];
  const shortened = ({ status, json, faults }: Answer): unknown[] => {
    return [status, json.code, faults.map(({ path, code }) => ({ path, code }))];
  };

  test('of creates at the same time one has it, and the list finds that one', async () => {
    const answers = await Promise.all([1, 2, 3, 4].map(async () => await create('sku-1')));
    const made = answers.filter(({ status }) => status === 201);
    expect(made).toHaveLength(1);
    for (const one of answers) if (one !== made[0]) expect(shortened(one)).toEqual(taken);
    expect(await idsOf('sku-1')).toEqual([made[0]?.json.id]);
    expect(await idsOf('sku-0')).toEqual([]);
  });

  test('a row that repeats one fails alone', async () => {
    const body = ['sku-2', 'sku-2', 'sku-3'].map((externalId) => ({ target, externalId }));
    const { json } = await client.post(`${codes}/bulk`, body);
    expect(json).toMatchObject({
      created: 2,
      results: [{ status: 201 }, { status: 409, error: { code: 'external_id_taken' } }, {}],
    });
  });

  test('PATCH and PUT change and clear it, a deleted code frees it', async () => {
    const own = `${codes}/${word((await create('sku-4')).json.id)}`;
    const other = `${codes}/${word((await create('sku-5')).json.id)}`;
    const change = (method: string, body: object) => client.call(method, other, { body });
    expect(shortened(await change('PATCH', { externalId: 'sku-4' }))).toEqual(taken);
    expect((await change('PATCH', { externalId: 'sku-5', name: 'same' })).status).toBe(200);
    expect((await change('PUT', { target, externalId: 'sku-6' })).json.externalId).toBe('sku-6');
    expect([await idsOf('sku-5'), await idsOf('sku-6')]).toMatchObject([[], [expect.any(String)]]);
    expect((await change('PATCH', { externalId: null })).json.externalId).toBeNull();
    expect(await idsOf('sku-6')).toEqual([]);
    await client.delete(own);
    expect((await change('PATCH', { externalId: 'sku-4' })).status).toBe(200);
  });

  test('it goes with no other filter', async () => {
    const { json, faults } = await client.get(`${codes}?externalId=sku-1&tag=a`);
    expect(json.status).toBe(422);
    expect(faults).toMatchObject([{ path: 'externalId', code: 'goes_alone' }]);
  });
});
