/** What a machine of a cluster says in its answers: who does not follow a change yet, what may be old, what is unknown. */
import { connect } from 'node:net';
import { expect, test, vi } from 'vitest';
import type { ApiServices } from '../../../src/api/services.ts';
import { Signal } from '../../../src/model/signal.ts';
import type { Replicator } from '../../../src/store/replicated-transactions.ts';
import { Client } from '../../support/client.ts';
import { soon } from '../../support/soon.ts';
import { openTestApp, startTestApi, type TestApp } from '../../support/test-app.ts';

const target = 'https://example.com/menu';
const code = { target, slug: 'menu' };
const stale = 'x-quietzone-stale';

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

type Answers = Pick<
  ApiServices,
  'changesFollowed' | 'isStale' | 'changesRefused' | 'answerWithinMs'
>;

async function started(answers: Answers) {
  const app = await startTestApi({ answers });
  return new Client(app.url, app.apiKey);
}

test('a change says how many machines do not redirect by it yet', async () => {
  let behind = 2;
  const client = await started({ changesFollowed: async () => behind });
  const made = await client.call('POST', '/v1/qr-codes', { body: code });
  expect(made).toMatchObject({ status: 201, headers: { 'x-links-behind': '2' } });
  const read = await client.call('GET', '/v1/qr-codes');
  expect(read.headers).not.toHaveProperty('x-links-behind');
  const others = [
    await client.call('POST', '/v1/qr-codes', { body: code }),
    await client.call('POST', '/v1/qr-codes', { body: {}, key: 'not-a-key' }),
    await client.call('POST', '/v1/qr-codes/preview', { body: { target } }),
  ];
  expect(others.map(({ status }) => status)).toEqual([409, 401, 200]);
  for (const other of others) expect(other.headers).not.toHaveProperty('x-links-behind');
  behind = 0;
  const removed = await client.call('DELETE', `/v1/qr-codes/${textOf(made.json['id'])}`);
  expect(removed.status).toBe(200);
  expect(removed.headers).not.toHaveProperty('x-links-behind');
});

test('reads say that they may be old, while they may; nothing else does', async () => {
  let isStale = false;
  let refused: string | undefined;
  const client = await started({ isStale: () => isStale, changesRefused: () => refused });
  const made = await client.call('POST', '/v1/qr-codes', { body: code });
  const image = `/i/${textOf(made.json['id'])}.svg`;
  for (const path of ['/v1/qr-codes', image, image]) {
    expect((await client.call('GET', path)).headers).not.toHaveProperty(stale);
  }
  isStale = true;
  for (const path of ['/v1/qr-codes', image]) {
    const read = await client.call('GET', path);
    expect(read).toMatchObject({ status: 200, headers: { [stale]: '1' } });
  }
  const head = await client.call('HEAD', '/v1/qr-codes');
  expect(head.headers).toMatchObject({ [stale]: '1' });
  const renamed = { body: { name: 'Menu' } };
  const change = await client.call('PATCH', `/v1/qr-codes/${textOf(made.json['id'])}`, renamed);
  expect(change).toMatchObject({ status: 503, json: { code: 'not_active' } });
  refused = 'the brokers are out of storage';
  const full = await client.call('POST', '/v1/qr-codes', { body: code });
  const detail = `Cannot change anything here: ${refused}`;
  expect(full).toMatchObject({ status: 503, json: { code: 'not_active', detail } });
  for (const other of [change, await client.call('GET', '/health/live')]) {
    expect(other.headers).not.toHaveProperty(stale);
  }
});

test('a change is not refused by what may be old, and costs no quota while another machine may lead', async () => {
  let isStale = false;
  const client = await started({ isStale: () => isStale });
  const nowhere = '/v1/qr-codes/qr_01k3zq8m4hd2v7c5x9ab';
  const remaining = async (): Promise<number> =>
    Number((await client.call('GET', '/v1/qr-codes')).headers['x-ratelimit-remaining']);
  expect(await client.call('DELETE', nowhere)).toMatchObject({ status: 404 });
  const before = await remaining();
  isStale = true;
  const refusal = { status: 503, json: { code: 'not_active' } };
  expect(await client.call('DELETE', nowhere)).toMatchObject(refusal);
  expect(await client.call('POST', '/v1/qr-codes', { body: code, key: '' })).toMatchObject(refusal);
  expect(await remaining()).toBe(before - 1);
  let asked = 0;
  const later = await started({ isStale: () => asked++ > 0 });
  expect(await later.call('DELETE', nowhere)).toMatchObject(refusal);
  asked = 0;
  const made = await later.call('POST', '/v1/qr-codes', { body: code });
  expect(made.status).toBe(201);
});

/** A log that takes entries when a test lets it. */
class GatedLog implements Replicator {
  readonly lapsed = new Signal();
  readonly #app: TestApp;
  #gate = Promise.withResolvers<void>();
  entries = 0;

  constructor(app: TestApp) {
    this.#app = app;
    app.store.environment.replicateWith(this);
    this.open();
  }

  check(): void {}

  async commit(writes: Parameters<Replicator['commit']>[0]): Promise<void> {
    this.entries += 1;
    await this.#gate.promise;
    await this.#app.store.environment.applyWrites(writes, () => undefined);
  }

  open(): void {
    this.#gate.resolve();
  }

  shut(): void {
    this.#gate = Promise.withResolvers<void>();
    this.entries = 0;
  }
}

async function replicated(answerWithinMs: number) {
  const app = await openTestApp({ answers: { answerWithinMs } });
  const log = new GatedLog(app);
  await app.listen();
  return { app, log, client: new Client(app.url, app.apiKey) };
}

test('a change that waits for the log too long has an unknown outcome, and is made once all the same', async () => {
  const { log, client } = await replicated(300);
  const headers = { 'idempotency-key': 'menu-1' };
  const send = () => client.call('POST', '/v1/qr-codes', { body: code, headers });
  log.shut();
  const first = await send();
  expect(first).toMatchObject({
    status: 503,
    headers: { 'retry-after': '1', 'x-ratelimit-limit': expect.any(String) },
    json: { code: 'outcome_unknown' },
  });
  // While the first still waits, it is waited for.
  expect((await send()).status).toBe(503);
  const third = send();
  await vi.waitFor(() => expect(log.entries).toBe(1), soon);
  log.open();
  expect(await third).toMatchObject({ status: 201, headers: { 'idempotent-replayed': 'true' } });
  expect(await send()).toMatchObject({ status: 201, headers: { 'idempotent-replayed': 'true' } });
  expect((await client.call('GET', '/v1/qr-codes')).json['total']).toBe(1);
});

test('reads wait for nothing, and many changes by one request may take longer', async () => {
  const { log, client } = await replicated(100);
  log.shut();
  const bulk = client.call('POST', '/v1/qr-codes/bulk', { body: [code] });
  await vi.waitFor(() => expect(log.entries).toBe(1), soon);
  expect((await client.call('GET', '/v1/qr-codes')).status).toBe(200);
  await new Promise((resolve) => setTimeout(resolve, 200));
  log.open();
  expect(await bulk).toMatchObject({ status: 200, json: { created: 1 } });
});

test('the time of a body on its way does not count', async () => {
  const { app } = await replicated(300);
  const body = JSON.stringify(code);
  const socket = connect(app.port, '127.0.0.1');
  let answer = '';
  socket.on('data', (bytes) => (answer += bytes.toString()));
  socket.write(
    `POST /v1/qr-codes HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${app.apiKey}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
  );
  await new Promise((resolve) => setTimeout(resolve, 500));
  socket.write(body.slice(5));
  await expect.poll(() => answer, soon).toMatch(/^HTTP\/1.1 201 /);
  socket.destroy();
});
