/** `externalId` from outside: one code of a workspace has it, and is found by it. */
import { expect, test } from 'vitest';
import { type Answer, word } from '../../support/client.ts';
import { openTestClient } from '../../support/test-client.ts';

const target = 'https://example.com/menu';
const codes = '/v1/qr-codes';
const { client } = await openTestClient();

const create = async (externalId: string): Promise<Answer> =>
  await client.call('POST', codes, { body: { target, externalId } });
const idsOf = async (externalId: string): Promise<unknown[]> =>
  (await client.call('GET', `${codes}?externalId=${externalId}`)).items.map(({ id }) => id);
const taken = [409, 'external_id_taken', [{ path: 'externalId', code: 'external_id_taken' }]];
const shortened = ({ status, json, faults }: Answer): unknown[] => [
  status,
  json.code,
  faults.map(({ path, code }) => ({ path, code })),
];

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
  const { json } = await client.call('POST', `${codes}/bulk`, { body });
  expect(json).toMatchObject({
    created: 2,
    results: [{ status: 201 }, { status: 409, error: { code: 'external_id_taken' } }, {}],
  });
});

test('PATCH and PUT change and clear it, a deleted code frees it', async () => {
  const own = `${codes}/${word((await create('sku-4')).json.id)}`;
  const other = `${codes}/${word((await create('sku-5')).json.id)}`;
  const change = async (method: string, body: object): Promise<Answer> =>
    await client.call(method, other, { body });
  expect(shortened(await change('PATCH', { externalId: 'sku-4' }))).toEqual(taken);
  expect((await change('PATCH', { externalId: 'sku-5', name: 'same' })).status).toBe(200);
  expect((await change('PUT', { target, externalId: 'sku-6' })).json.externalId).toBe('sku-6');
  expect([await idsOf('sku-5'), await idsOf('sku-6')]).toMatchObject([[], [expect.any(String)]]);
  expect((await change('PATCH', { externalId: null })).json.externalId).toBeNull();
  expect(await idsOf('sku-6')).toEqual([]);
  await client.call('DELETE', own);
  expect((await change('PATCH', { externalId: 'sku-4' })).status).toBe(200);
});

test('it goes with no other filter', async () => {
  const { json, faults } = await client.call('GET', `${codes}?externalId=sku-1&tag=a`);
  expect([json.status, faults[0]?.path, faults[0]?.code]).toEqual([
    422,
    'externalId',
    'goes_alone',
  ]);
});
