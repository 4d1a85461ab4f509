/** GET /v1/qr-codes?search= from outside: every word, wherever it stands, however it is written. */
import { beforeAll, expect, test } from 'vitest';
import type { Answer } from '../../support/client.ts';
import { openTestClient } from '../../support/test-client.ts';

const { client } = await openTestClient();

beforeAll(async () => {
  const names = ['Café Zürich, table 12', 'Table 7, Bakery', 'Straßenfest Łódź'];
  for (const [at, name] of names.entries()) {
    const target = `https://example.com/menu/${at}`;
    // A drawn short code is searched too, and may hold a "12".
    const body = { target, name, externalId: `POS-${at}`, slug: `code-${'abc'[at]}` };
    await client.call('POST', '/v1/qr-codes', { body });
  }
});

async function search(text: string): Promise<Answer> {
  return await client.call('GET', `/v1/qr-codes?search=${encodeURIComponent(text)}`);
}

test.each([
  ['table 12', 1],
  ['12 TABLE', 1],
  ['cafe zurich', 1],
  ['CAFÉ', 1],
  ['Cafe\u0301', 1],
  ['strassen', 1],
  ['bak  tab\u00a07', 1],
  ['menu pos-1 table', 1],
  ['table', 2],
  ['menu', 3],
  ['table nothing', 0],
  ['tablemenu', 0],
  [' ', 3],
])('%j finds %i', async (text, total) => {
  const answer = await search(text);
  expect([answer.json.total, answer.items.length]).toEqual([total, total]);
});

test('more than ten words are refused with the field’s name, the same word twice is one', async () => {
  const words = Array.from({ length: 11 }, (_, at) => `w${at}`);
  const refused = await search(words.join(' '));
  expect([refused.status, refused.faults[0]?.path]).toEqual([422, 'search']);
  expect((await search(words.slice(1).join(' '))).status).toBe(200);
  expect((await search('table '.repeat(30))).json.total).toBe(2);
});
