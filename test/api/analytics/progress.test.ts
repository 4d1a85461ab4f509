/** Answers as events: what is refused while nobody reads them, and that a table stays one. */
import { expect, onTestFinished, test } from 'vitest';
import { Client } from '../../support/client.ts';
import { startTestApi } from '../../support/test-app.ts';

const headers = { accept: 'text/event-stream' };

async function openClient(): Promise<Client> {
  const service = await startTestApi();
  onTestFinished(() => service.close());
  const client = new Client(service.url, service.apiKey);
  onTestFinished(() => client.close());
  return client;
}

test('a refusal that nobody reads is no defect: HEAD, and a connection that closes', async () => {
  const unhandled: unknown[] = [];
  const onUnhandled = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', onUnhandled);
  onTestFinished(() => void process.off('unhandledRejection', onUnhandled));
  const client = await openClient();
  const path = '/v1/qr-codes/qr_01k3zq8m4hd2v7c5x9ab/analytics';
  expect((await client.call('HEAD', path, { headers })).status).toBe(200);
  const closing = { headers: { ...headers, connection: 'close' } };
  const { text } = await client.call('GET', path, closing);
  expect(text).toMatch(/^event: problem\ndata: .*"code":"not_found"/m);
  expect(unhandled).toEqual([]);
});

test('a table is a table, whatever is accepted', async () => {
  const client = await openClient();
  const path = '/v1/analytics/timeseries?from=2026-11-01&to=2026-11-02&format=csv';
  const answer = await client.call('GET', path, { headers });
  expect(answer.headers['content-type']).toMatch(/^text\/csv/);
  expect(answer.text.split('\r\n')[0]).toBe('start,scans');
});
