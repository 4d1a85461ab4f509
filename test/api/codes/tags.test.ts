/** Tags from outside: one thing has one tag, however it is written. */
import { expect, test } from 'vitest';
import { type Answer, word } from '../../support/client.ts';
import { openTestClient } from '../../support/test-client.ts';

const { service, client } = await openTestClient();

const target = 'https://example.com/menu';

async function create(tags: readonly string[]): Promise<Answer> {
  return await client.call('POST', '/v1/qr-codes', { body: { target, tags } });
}

async function tagged(tag: string): Promise<number> {
  const { json } = await client.call('GET', `/v1/qr-codes?tag=${encodeURIComponent(tag)}`);
  return Number(json.total);
}

async function tagsOf(query: string): Promise<unknown[]> {
  const { items } = await client.call('GET', `/v1/qr-codes/tags?${query}`);
  return items.map(({ tag, count }) => [tag, count]);
}

test('what is written later takes the spelling that is there, in every way to write it', async () => {
  expect((await create(['Summer 24', 'Café'])).json.tags).toEqual(['Summer 24', 'Café']);
  expect((await create(['summer 24', 'CAFE'])).json.tags).toEqual(['Summer 24', 'Café']);
  expect((await create([' SUMMER  24', 'Summer 24', 'x'])).json.tags).toEqual(['Summer 24', 'x']);
  const body = [
    { target, tags: ['sUMMER 24'] },
    { target, tags: ['New'] },
    { target, tags: ['new'] },
  ];
  const bulk = await client.call('POST', '/v1/qr-codes/bulk', { body });
  expect(JSON.stringify(bulk.json.results)).not.toMatch(/sUMMER|"new"/);
  const plain = await create([]);
  const path = `/v1/qr-codes/${word(plain.json.id)}`;
  const patched = await client.call('PATCH', path, { body: { tags: ['cafe', 'new'] } });
  expect(patched.json.tags).toEqual(['Café', 'New']);
  const put = await client.call('PUT', path, { body: { target, tags: ['SUMMER 24'] } });
  expect(put.json.tags).toEqual(['Summer 24']);
  expect(await tagsOf('search=sümmer')).toEqual([['Summer 24', 5]]);
  expect(await tagsOf('limit=2')).toEqual([
    ['Summer 24', 5],
    ['Café', 2],
  ]);
  expect(await tagsOf('search=nothing')).toEqual([]);
});

test('tags of one code keep their order, each once', async () => {
  const { json } = await create(['order b', 'order A', 'ORDER B', 'order c', 'Order a']);
  expect(json.tags).toEqual(['order b', 'order A', 'order c']);
});

test('the filter takes any case and accents, alone and with others, and so does the table', async () => {
  await create(['Größe', 'two']);
  await create(['grösse']);
  for (const tag of ['Größe', 'GRÖSSE', 'grosse', ' größe '])
    expect([tag, await tagged(tag)]).toEqual([tag, 2]);
  const both = await client.call('GET', '/v1/qr-codes?tag=GROSSE&search=menu&dynamic=true&limit=1');
  expect([both.json.total, both.items.length]).toEqual([2, 1]);
  const table = await client.call('GET', '/v1/qr-codes/export.csv?tag=grosse');
  expect(table.text.trim().split('\n')).toHaveLength(3);
});

test('a spelling goes with its last code, and a code that alone has a tag may spell it anew', async () => {
  const { json } = await create(['sping']);
  const path = `/v1/qr-codes/${word(json.id)}`;
  const events = async (): Promise<number> =>
    (await client.call('GET', '/v1/events?event=qr.updated&limit=100')).items.length;
  const before = await events();
  const respelled = await client.call('PATCH', path, { body: { tags: ['Sping'] } });
  expect(respelled.json.tags).toEqual(['Sping']);
  expect(await tagsOf('search=sping')).toEqual([['Sping', 1]]);
  expect(await events()).toBe(before + 1);
  await client.call('PATCH', path, { body: { tags: ['Sping'] } });
  expect(await events()).toBe(before + 1);
  await client.call('PATCH', path, { body: { tags: ['spring'] } });
  expect(await tagsOf('search=sping')).toEqual([]);
  await client.call('DELETE', path);
  expect(await tagsOf('search=spring')).toEqual([]);
  expect((await create(['SPRING'])).json.tags).toEqual(['SPRING']);
});

test('another workspace sees none of them and spells as it likes; no key is 401', async () => {
  await create(['Ours']);
  const stranger = { ...service.actor, workspaceNo: service.actor.workspaceNo + 1 };
  const made = await service.codes.create(stranger, { target, tags: ['OURS'] });
  expect(made.tags).toEqual(['OURS']);
  const theirs = await service.codes.tags(stranger.workspaceNo, { search: '', limit: 10 });
  expect(theirs).toEqual({ data: [{ tag: 'OURS', codes: 1 }], total: 1 });
  expect(await tagsOf('search=ours')).toEqual([['Ours', 1]]);
  expect((await client.call('GET', '/v1/qr-codes/tags', { key: undefined })).status).toBe(401);
});

test('tags whose letters fold to many still fit into the index', async () => {
  const long = ['\ufdfa'.repeat(64), 'İ'.repeat(64), 'ΐ'.repeat(64), '\u{1f600}'.repeat(32)];
  const { json, status } = await create(long);
  expect([status, json.tags]).toEqual([201, long]);
  for (const tag of long) expect(await tagged(tag)).toBe(1);
});

test('bad queries are refused by name', async () => {
  for (const query of ['limit=0', 'limit=1001', `search=${'x'.repeat(65)}`]) {
    const { status, faults } = await client.call('GET', `/v1/qr-codes/tags?${query}`);
    expect([status, faults[0]?.path]).toEqual([422, query.split('=')[0]]);
  }
});
