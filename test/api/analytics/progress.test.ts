/** Answers as events: what is refused while nobody reads them, what ends when nobody does, and that a table stays one. */
import { expect, onTestFinished, test } from 'vitest';
import type { RawControl } from '../../../src/scans/query/raw/raw-query.ts';
import { openEngine } from '../../scans/open-engine.ts';
import { Client } from '../../support/client.ts';
import { soon } from '../../support/soon.ts';
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
  const path = '/v1/analytics/timeseries/export.csv?from=2026-11-01&to=2026-11-02';
  const answer = await client.call('GET', path, { headers });
  expect(answer.headers['content-type']).toMatch(/^text\/csv/);
  expect(answer.text.split('\r\n')[0]).toBe('start,scans');
});

test('raw scans are read no further when the last client that waits for them has left', async () => {
  const passes: RawControl[] = [];
  const engine = openEngine({
    raw: {
      run: (_query, control) => {
        control!.share = 0.25;
        passes.push(control!);
        return new Promise(() => undefined);
      },
    },
  });
  const service = await startTestApi({ scans: engine.queries });
  onTestFinished(() => service.close());
  const ask = async () => {
    const leaving = new AbortController();
    const answer = await fetch(
      `${service.url}/v1/analytics/summary?from=2026-11-01&to=2026-11-02&os=Android`,
      {
        headers: { ...headers, authorization: `Bearer ${service.apiKey}` },
        signal: leaving.signal,
      },
    );
    const reader = answer.body!.getReader();
    const { value } = await reader.read();
    expect(Buffer.from(value ?? []).toString()).toBe('event: progress\ndata: {"share":0.25}\n\n');
    return leaving;
  };
  const [one, other] = await Promise.all([ask(), ask()]);
  expect(passes).toHaveLength(1);
  one.abort();
  // The other client goes on to be told.
  (await ask()).abort();
  expect(passes[0]!.isCanceled).toBe(false);
  other.abort();
  await expect.poll(() => passes[0]!.isCanceled, soon).toBe(true);
});
