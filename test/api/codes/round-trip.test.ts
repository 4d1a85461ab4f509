/** What goes out comes in: the CSV of codes is a bulk body, and its codes export the same rows again. */
import { parse } from 'csv-parse/sync';
import { expect, test } from 'vitest';
import { Client } from '../../support/client.ts';
import { startTestApi } from '../../support/test-app.ts';

const computed = ['id', 'shortUrl', 'imageUrl', 'scans', 'createdAt', 'updatedAt', 'status'];
const target = 'https://example.com/';
const codes: readonly object[] = [
  { target, name: '=1+1', tags: ['a;b', 'c|d', 'e\\', '-f'], slug: 'menu-1', externalId: "'=x" },
  { target: `${target}2`, metadata: { table: '12', hall: '＝B', constructor: 'x', 'a,"b': '\t1' } },
  { target: `${target}3`, metadata: { table: 12, '': { deep: [1, null] }, ' padded ': true } },
  { target: 'WIFI:S:a;T:WPA;P:b;;', type: 'wifi', name: 'Two\u2009words' },
  { target: 'Line 1\nLine "2"', type: 'text' },
  {
    target: `${target}6`,
    utm: { source: 'flyer', term: '+1' },
    startsAt: '2040-01-02T03:04:05.678Z',
    expiresAt: '2041-01-02T03:04:05.678Z',
    scanLimit: 3,
    paused: true,
    fallbackUrl: `${target}later`,
  },
];

async function installation(): Promise<Client> {
  const app = await startTestApi();
  return new Client(app.url, app.apiKey);
}

test('an export creates the same codes in another installation', async () => {
  const [from, to] = [await installation(), await installation()];
  const made = await from.call('POST', '/v1/qr-codes/bulk', { body: codes });
  expect(made.json).toMatchObject({ created: codes.length, failed: 0 });
  const table = async (client: Client) =>
    (await client.call('GET', '/v1/qr-codes/export.csv')).text;
  const sent = await table(from);
  const headers = { 'content-type': 'text/csv', 'idempotency-key': 'round-trip' };
  const send = async (client: Client) =>
    await client.call('POST', '/v1/qr-codes/bulk', { raw: sent, headers });
  const taken = await send(to);
  expect(taken.json).toMatchObject({ created: codes.length, failed: 0, ignoredColumns: computed });
  expect((await send(to)).json).toEqual(taken.json);
  const rows = (text: string): unknown[] => {
    const found: Array<Record<string, string>> = parse(text, { columns: true });
    const importable = found.map((row) =>
      Object.entries(row).filter(([name]) => !computed.includes(name)),
    );
    return importable.map((cells) => Object.fromEntries(cells)).toSorted(byTarget);
  };
  expect(rows(await table(to))).toEqual(rows(sent));
  const [, second, third] = rows(sent);
  expect(second).toMatchObject({ 'metadata.table': '12', 'metadata.hall': "'＝B", metadata: '' });
  expect(third).toMatchObject({ metadata: '{"":{"deep":[1,null]}," padded ":true}' });
  const first = (await to.call('GET', '/v1/qr-codes?search=menu-1')).items[0];
  expect(first).toMatchObject({ name: '=1+1', tags: ['a;b', 'c|d', 'e\\', '-f'] });
  await Promise.all([from.close(), to.close()]);
});

const byTarget = (one: { target?: string }, other: { target?: string }): number =>
  String(one.target).localeCompare(String(other.target), 'en');
