/** Problems have the id of the answer that carries them, and paths that echo nothing harmful and stay short. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Client } from '../../support/client.ts';
import { startTestApi, type TestApp } from '../../support/test-app.ts';

let service: TestApp;
let client: Client;

beforeAll(async () => {
  service = await startTestApi();
  const limits = { perMinute: 100_000, perDay: undefined };
  await service.workspaces.workspaces.setPlan(1, 'enterprise', limits);
  client = new Client(service.url, service.apiKey);
});
afterAll(async () => {
  await client.close();
  await service.close();
});

describe('requestId', () => {
  test('of a replayed problem is that of this answer', async () => {
    const options = { body: { name: '' }, headers: { 'idempotency-key': 'problem' } };
    const first = await client.call('POST', '/v1/campaigns', options);
    const again = await client.call('POST', '/v1/campaigns', options);
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(again.json.requestId).toBe(again.headers['x-request-id']);
    expect(again.json.requestId).not.toBe(first.json.requestId);
    expect({ ...again.json, requestId: '' }).toEqual({ ...first.json, requestId: '' });
  });
});

describe('errors[].path', () => {
  const hostile: Array<[string, string]> = [
    ['half a surrogate pair', '\ud800'],
    ['a line break', 'a\r\nb'],
    ['a turned text', '\u202e'],
    ['a command to a terminal', '\u001b[2J'],
    ['5,000 characters', 'x'.repeat(5_000)],
  ];

  test.each(hostile)(
    'of a name that is %s is well-formed, on one line and short',
    async (_, name) => {
      for (const value of [1, 1e21, '\udfff']) {
        const raw = JSON.stringify({ target: 'https://a.example/', metadata: {}, [name]: value });
        const { status, text, faults } = await client.call('POST', '/v1/qr-codes', { raw });
        expect(status).toBe(422);
        expect(text).not.toMatch(/\\u/);
        for (const { path = '' } of faults) expect(path).toMatch(/^[^\p{Cc}\p{Cs}\u202e]{1,200}$/u);
      }
    },
  );

  test('many faults below a long name make no long answer', async () => {
    const values = Array.from({ length: 4_000 }, () => 1e21);
    const raw = JSON.stringify({ ['k'.repeat(30_000)]: values });
    const { status, text, faults } = await client.call('POST', '/v1/qr-codes', { raw });
    expect([status, faults.length]).toEqual([422, 100]);
    expect(text.length).toBeLessThan(60_000);
  });

  test('and of a CSV’s columns', async () => {
    const names = [...hostile.map(([, name]) => `"${name}"`), ...Array(40).keys()];
    const raw = `target,${names.join(',')}\nhttps://a.example/\n`;
    const headers = { 'content-type': 'text/csv' };
    const { status, text, faults } = await client.call('POST', '/v1/qr-codes/bulk', {
      raw,
      headers,
    });
    expect(status).toBe(422);
    expect(text.length).toBeLessThan(20_000);
    for (const { path = '' } of faults) expect(path).toMatch(/^[^\p{Cc}\p{Cs}\u202e]{1,200}$/u);
  });

  test('many unknown names make no long answer', async () => {
    const names = Array.from({ length: 5_000 }, (_, at) => [`n${at}`, 1]);
    const raw = JSON.stringify(Object.fromEntries(names));
    expect((await client.call('POST', '/v1/campaigns', { raw })).faults).toHaveLength(100);
  });
});
