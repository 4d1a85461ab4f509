/**
 * A management walk over a restart: what was answered before is there after, and what was counted is
 * still counted.
 */
import { expect, test } from 'vitest';
import { Client, word } from '../support/client.ts';
import { startTestApi } from '../support/test-app.ts';

test('keys, codes, kept answers and the minute’s count survive a restart', async () => {
  // Well inside one minute, so that the window is the same before and after.
  const nowMs = Date.UTC(2026, 2, 1, 12, 0, 10);
  const clock = { now: () => nowMs, monotonicMs: () => performance.now() };
  const first = await startTestApi({ clock, plan: 'free' });
  const before = new Client(first.url, first.apiKey);
  const headers = { 'idempotency-key': 'k1' };
  const body = { target: 'https://example.com/' };
  const made = await before.call('POST', '/v1/qr-codes', { body, headers });
  const remaining = Number(made.headers['x-ratelimit-remaining']);
  await before.close();

  const second = await first.restart();
  await second.listen();
  const after = new Client(second.url, first.apiKey);
  const again = await after.call('POST', '/v1/qr-codes', { body, headers });
  expect(again.text).toBe(made.text);
  expect(again.headers['idempotent-replayed']).toBe('true');
  expect(Number(again.headers['x-ratelimit-remaining'])).toBe(remaining - 1);
  const list = await after.call('GET', '/v1/qr-codes');
  expect(list.json).toMatchObject({ total: 1, data: [{ id: made.json.id }] });
  const events = await after.call('GET', '/v1/events');
  expect(events.items.map((event) => word(event.event))).toEqual(['qr.created']);
  await after.close();
});
