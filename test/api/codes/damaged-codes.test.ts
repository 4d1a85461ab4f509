/** A code whose record is damaged: refused by its id, left out of lists that say so, and its neighbours as ever. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { StoredBytes } from '../../support/stored-bytes.ts';
import { openTestApp } from '../../support/test-app.ts';

it('answers 503 for a damaged code, and says how many a list leaves out', async () => {
  const app = await openTestApp();
  const targets = [1, 2, 3].map((no) => `https://example.com/${no}`);
  const codes = [];
  for (const target of targets) codes.push(await app.codes.create(app.actor, { target }));
  const stored = new StoredBytes(join(app.dataDir, 'management.mdb'));
  stored.flip('codes', stored.keys('codes')[1]!, 300);
  await stored.close();
  app.store.environment.refresh();
  // From here on it writes by itself, and two handles of one thread on an LMDB file may wait for each other.
  await app.listen();
  const ask = async (path: string, more: RequestInit = {}): Promise<Response> =>
    await fetch(`${app.url}/v1${path}`, {
      ...more,
      headers: { Authorization: `Bearer ${app.apiKey}`, 'Content-Type': 'application/json' },
    });
  const one = await ask(`/qr-codes/${codes[1]!.id}`);
  expect([one.status, await one.json()]).toMatchObject([503, { code: 'data_damaged' }]);
  const body = JSON.stringify({ target: 'https://example.org/' });
  expect((await ask(`/qr-codes/${codes[1]!.id}`, { method: 'PATCH', body })).status).toBe(503);
  expect((await ask(`/qr-codes/${codes[0]!.id}`, { method: 'PATCH', body })).status).toBe(200);
  const page: { data: Array<{ id: string }> } = JSON.parse(await (await ask('/qr-codes')).text());
  expect(page).toMatchObject({ total: 3, unreadable: 1 });
  expect(page.data.map(({ id }) => id)).toEqual([codes[2]!.id, codes[0]!.id]);
  expect(await (await ask('/qr-codes?search=example.com')).json()).toMatchObject({
    total: 1,
    unreadable: 1,
  });
  const lines = (await (await ask('/qr-codes/export.csv')).text()).trim().split(/\r?\n/);
  expect(lines).toHaveLength(4);
  expect(lines[3]).toBe('"unreadable: 1 left out, their records are damaged"');
});
