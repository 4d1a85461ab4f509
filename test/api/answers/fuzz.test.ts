/** Whatever a query, a last id or a body holds: an answer below 500, its own request id, and bounded. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyText } from '../../model/any-text.ts';
import type { Answer } from '../../support/client.ts';
import { useTestApi } from '../../support/test-client.ts';
import { runs } from '../../seconds/runs.ts';

const { client } = await useTestApi();

function expectSound({ status, headers, json, text }: Answer): void {
  expect(status).toBeLessThan(500);
  expect(headers['x-content-type-options']).toBe('nosniff');
  expect(headers['x-unknown-parameters']?.length ?? 0).toBeLessThan(1_500);
  expect(text.length).toBeLessThan(200_000);
  if (status < 400) return;
  expect(json.requestId).toBe(headers['x-request-id']);
  expect(text).not.toMatch(/\\ud[89a-f]/i);
}

const lists = ['/events', '/events/stream', '/qr-codes', '/campaigns', '/webhooks/dead-letters'];
const names = [
  'cursor',
  'lastEventId',
  'endpointId',
  'type',
  'event',
  'code',
  'limit',
  'sort',
  '',
  'a,b',
];
const hostile = fc.constantFrom(
  '\u0000',
  '\ud800',
  '%',
  '\r\nX-Evil: 1',
  'evt_01k3zq8m4hd2v7c5x9ab',
  '1-2.3',
  '-'.repeat(59),
);
const value = fc.oneof(hostile, anyText({ maxLength: 80 }), fc.base64String({ minLength: 56 }));
const parameters = fc.array(fc.tuple(fc.oneof(fc.constantFrom(...names), value), value), {
  maxLength: 6,
});

test('any query of any list', async () => {
  const asked = fc.asyncProperty(fc.constantFrom(...lists), parameters, async (list, given) => {
    const query = new URLSearchParams(given);
    query.set('once', 'true');
    expectSound(await client.get(`/v1${list}?${query.toString()}`));
  });
  await fc.assert(asked, { numRuns: runs(150) });
});

test('any Last-Event-ID', async () => {
  const id = fc.oneof(fc.base64String(), fc.string({ maxLength: 90 }), fc.constant('A'.repeat(59)));
  const suffix = fc.constantFrom('', '.', '.0.0', '.999.999', '.1000.1', '.-1.0', '.1.1.1');
  const asked = fc.asyncProperty(id, suffix, async (text, end) => {
    const headers = { 'last-event-id': `${text.replaceAll('\u007f', '')}${end}` };
    expectSound(await client.get('/v1/events/stream?once=true', { headers }));
  });
  await fc.assert(asked, { numRuns: runs(100) });
});

test('any body, first and replayed', async () => {
  const paths = ['/qr-codes', '/campaigns', '/api-keys', '/webhooks/dead-letters/replay'];
  const field = fc.constantFrom(
    'name',
    'target',
    'tags',
    'metadata',
    '__proto__',
    'from',
    '\ud800',
    '\u202e',
  );
  const body = fc.oneof(
    fc.json(),
    anyText(),
    fc.dictionary(fc.oneof(field, anyText()), fc.jsonValue()).map((given) => JSON.stringify(given)),
    fc
      .array(value, { maxLength: 30 })
      .map((tags) => JSON.stringify({ target: 'https://a.example/', tags })),
  );
  let key = 0;
  const asked = fc.asyncProperty(fc.constantFrom(...paths), body, async (path, raw) => {
    const headers = { 'idempotency-key': `fuzz-${(key += 1)}` };
    const first = await client.call('POST', `/v1${path}`, { raw, headers });
    const again = await client.call('POST', `/v1${path}`, { raw, headers });
    expectSound(first);
    expectSound(again);
    expect(again.status).toBe(first.status);
  });
  await fc.assert(asked, { numRuns: runs(150) });
});
