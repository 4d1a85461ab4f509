/** The live stream over real sockets: nothing late, twice or skipped; filters, bounds, clients that do not read or leave. */
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { Positions } from '../../../src/api/kernel/positions.ts';
import { type CountedCode, type ScanOptions, useCountedApi } from '../analytics/counted-api.ts';
import { Browser } from '../../support/browser.ts';
import { word } from '../../support/client.ts';
import { collectGarbage } from '../../support/garbage.ts';

/** An EventSource of our own: lines to messages, as the standard reads them. */
class Listener {
  /** Data is parsed; undefined when a message has none. */
  readonly messages: Array<{ id: string; kind: string; data?: { id: string; event: string } }> = [];
  readonly comments: string[] = [];
  lastEventId = '';
  isEnded = false;
  readonly #response: IncomingMessage;
  #rest = '';

  constructor(response: IncomingMessage) {
    this.#response = response;
    response.setEncoding('utf8');
    response.on('data', (text: string) => this.#take(text));
    response.on('close', () => (this.isEnded = true));
  }

  get status(): number {
    return this.#response.statusCode ?? 0;
  }
  get headers(): IncomingMessage['headers'] {
    return this.#response.headers;
  }
  events(): string[] {
    return this.messages.flatMap(({ data }) => (data === undefined ? [] : [data.id]));
  }
  close(): void {
    this.#response.destroy();
  }

  #take(text: string): void {
    const blocks = (this.#rest + text).split('\n\n');
    this.#rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = new Map<string, string>();
      for (const line of block.split('\n')) {
        const [name = '', ...rest] = line.split(':');
        if (name === '') this.comments.push(rest.join(':').trim());
        else fields.set(name, rest.join(':').trimStart());
      }
      this.lastEventId = fields.get('id') ?? this.lastEventId;
      const data = fields.get('data');
      if (data === undefined) continue;
      const kind = fields.get('event') ?? 'message';
      this.messages.push({ id: this.lastEventId, kind, data: JSON.parse(data) });
    }
  }
}

/** It ends a hang: what comes, comes at once. */
const waitMsMax = 45_000;
const { engine, service, client, code: create, scan: scanOf } = await useCountedApi(Date.now());
const code = await create();

function scan(of: CountedCode, scans: number, more: ScanOptions = {}): void {
  service.clock.move(1);
  scanOf(of, service.clock.now(), scans, more);
  engine.settle();
  service.windows.fire();
}

/** @param headers undefined leaves one out */
async function listen(
  query = '',
  headers: Record<string, string | undefined> = {},
): Promise<Listener> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const all = { authorization: `Bearer ${service.apiKey}`, ...headers };
    const given = Object.entries(all).filter(([, value]) => value !== undefined);
    const sent = request(`${service.url}/v1/events/stream${query}`, {
      headers: Object.fromEntries(given),
      agent: false,
    });
    sent.on('response', resolve).on('error', reject).end();
  });
  const listener = new Listener(response);
  onTestFinished(() => listener.close());
  // The first piece says that it follows from here on.
  if (listener.status === 200) await until(() => listener.lastEventId !== '');
  return listener;
}

/** Soon: what comes, comes at once. */
const until = (isDone: () => boolean) => vi.waitUntil(isDone, { timeout: waitMsMax, interval: 2 });

/** Comments with words: a heartbeat has none, and comes whenever it is quiet for long. */
const told = ({ comments }: Listener): string[] => comments.filter((comment) => comment !== '');

const kindsOf = (listener: Listener) => listener.messages.map(({ data }) => data?.event ?? '');

/** Ids of one kind carry rising times. */
function inOrder(listener: Listener, kind: string): boolean {
  const own = listener.messages.filter(({ data }) => data?.event === kind);
  const times = own.map(({ data }) => data?.id.slice(0, 13) ?? '');
  return times.every((time, at) => at === 0 || time >= (times[at - 1] ?? ''));
}

test('changes and scans come as they happen, in the form that webhooks carry', async () => {
  const listener = await listen();
  expect(listener.headers['content-type']).toBe('text/event-stream');
  expect(listener.headers['cache-control']).toBe('no-store');
  expect(listener.headers['x-ratelimit-limit']).toBeDefined();
  const made = await create();
  await until(() => listener.messages.length === 1);
  scan(made, 2);
  await until(() => listener.messages.length === 3);
  expect(kindsOf(listener)).toEqual(['qr.created', 'qr.scanned', 'qr.scanned']);
  expect(listener.messages.map(({ kind }) => kind)).toEqual(Array(3).fill('message'));
  const listed = await client.get('/v1/events?limit=3');
  const newestFirst = listed.items.map((event) => word(event.id));
  expect(listener.events().toSorted()).toEqual(newestFirst.toSorted());
});

test('only the kinds and the code asked for come', async () => {
  const kinds = await listen('?event=qr.updated,qr.deleted');
  const one = await listen(`?code=${code.id}`);
  const made = await create();
  scan(made, 3);
  scan(code, 1);
  // Sent before the change is made: of what one piece holds, changes come first.
  await until(() => one.messages.length === 1);
  const path = `/v1/qr-codes/${code.id}`;
  await client.patch(path, { name: 'Another' });
  await client.delete(`/v1/qr-codes/${made.id}`);
  await until(() => kinds.messages.length === 2 && one.messages.length === 2);
  expect(kindsOf(kinds)).toEqual(['qr.updated', 'qr.deleted']);
  expect(kindsOf(one)).toEqual(['qr.scanned', 'qr.updated']);
  service.outbox.append('qr.silent', service.actor.workspaceNo, { qrCodeId: code.id });
  await until(() => one.messages.length === 3);
});

describe('going on', () => {
  test('from any id, by header or by query: nothing twice, nothing missing', async () => {
    const listener = await listen();
    const first = listener.lastEventId;
    for (let round = 0; round < 5; round++) {
      const made = await create();
      scan(made, 3);
      scan(code, 2);
    }
    await until(() => listener.messages.length === 30);
    listener.close();
    const wanted = listener.events();
    for (const at of [-1, 0, 7, 15, 29]) {
      const id = at === -1 ? first : (listener.messages[at]?.id ?? '');
      const byQuery = at % 2 === 0;
      const again = await listen(
        byQuery ? `?lastEventId=${id}` : '',
        byQuery ? {} : { 'last-event-id': id },
      );
      await until(() => again.messages.length === 29 - at);
      // What had come one by one comes in larger pieces now: changes first, then scans.
      expect(again.events().toSorted()).toEqual(wanted.slice(at + 1).toSorted());
      expect(inOrder(again, 'qr.scanned')).toBe(true);
      expect(inOrder(again, 'qr.created')).toBe(true);
      again.close();
    }
  });

  test('from an id of a store that was restored since: a gap, then what is new', async () => {
    const positions = new Positions(service.workspaces.positionCipher).of(1, 'stream');
    const id = positions.encrypt('999999-999999.0');
    const listener = await listen('', { 'last-event-id': id });
    await until(() => listener.messages.length === 1);
    expect(listener.messages[0]).toMatchObject({ kind: 'gap', data: { reason: 'not_kept' } });
    scan(code, 1);
    await until(() => listener.messages.length === 2);
    expect(listener.messages[1]?.data?.event).toBe('qr.scanned');
  });

  test.each(['lastEventId=x', 'event=qr.nothing', 'event=', 'code=x'])('%s is 422', async (query) =>
    expect((await listen(`?${query}`)).status).toBe(422),
  );
});

test('a revoked key gets no more events', async () => {
  const made = await client.post('/v1/api-keys', { name: 'k', role: 'viewer' });
  const headers = { authorization: `Bearer ${word(made.json.key)}` };
  const listener = await listen('', headers);
  expect(listener.status).toBe(200);
  await client.delete(`/v1/api-keys/${word(made.json.id)}`);
  scan(code, 1);
  await until(() => listener.isEnded);
  expect(listener.events()).toEqual([]);
  expect((await listen('', headers)).status).toBe(401);
});

test('a session that signs out gets no more events; the other sessions of its user do', async () => {
  const email = service.config.bootstrap.email;
  const password = 'a password';
  await service.workspaces.accounts.resetPassword(email, password);
  const stays = new Browser(service);
  const leaves = new Browser(service);
  await stays.signIn(email, password);
  await leaves.signIn(email, password);
  const listenAs = ({ cookie }: Browser) => listen('', { authorization: undefined, cookie });
  const [kept, ended] = await Promise.all([listenAs(stays), listenAs(leaves)]);
  expect([kept.status, ended.status]).toEqual([200, 200]);
  expect((await leaves.post('/v1/auth/sign-out')).status).toBe(200);
  // Nothing has happened in the workspace: it is the signing out that ends it.
  await until(() => ended.isEnded);
  expect(told(ended)).toEqual(['signed out']);
  scan(code, 1);
  await until(() => kept.messages.length === 1);
  expect(ended.events()).toEqual([]);
  await service.workspaces.accounts.resetPassword(email, 'another password');
  await until(() => kept.isEnded);
  expect(told(kept)).toEqual(['signed out']);
  await Promise.all([stays.close(), leaves.close()]);
});

describe('bounds', () => {
  test('one request of quota, however much comes', async () => {
    const left = async (): Promise<number> => {
      const { headers } = await client.get('/v1/session');
      return Number(headers['x-ratelimit-remaining']);
    };
    const before = await left();
    const listener = await listen();
    scan(code, 10);
    await until(() => listener.messages.length === 10);
    expect(before - (await left())).toBe(2);
  });

  test('16 a key; one that leaves frees its place at once', async () => {
    const open = await Promise.all(Array.from({ length: 16 }, async () => await listen()));
    const refused = await listen();
    expect(refused.status).toBe(503);
    expect(refused.headers['retry-after']).toBe('15');
    for (const listener of open) listener.close();
    const isTaken = async (): Promise<boolean> => (await listen()).status === 200;
    await vi.waitUntil(isTaken, { timeout: waitMsMax });
  });

  test('HEAD opens nothing', async () => {
    for (let asked = 0; asked < 20; asked++) {
      expect((await client.call('HEAD', '/v1/events/stream')).status).toBe(200);
    }
    const listener = await listen();
    expect(listener.status).toBe(200);
  });

  test('a client that does not read holds up nobody and loses nothing', async () => {
    const start = await listen();
    const socket = connect(service.port, '127.0.0.1');
    const head = `GET /v1/events/stream?lastEventId=${start.lastEventId} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.apiKey}\r\n\r\n`;
    socket.pause();
    socket.write(head);
    collectGarbage();
    const before = process.memoryUsage().arrayBuffers;
    for (let round = 0; round < 8; round++) scan(code, 500);
    await until(() => start.messages.length === 4_000);
    collectGarbage();
    // 4,000 events are 1.2 MB: the paused one has a piece of 64 KB, and what the kernel took.
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64_000_000);
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    socket.resume();
    const ids = () => [...text.matchAll(/"id":"(evt_\w+)"/g)].map((match) => match[1]);
    await until(() => text.split('data: ').length > 4_000 && ids().length >= 4_000);
    expect(ids()).toEqual(start.events());
    socket.destroy();
  });

  test('ends with a comment when the service stops', async () => {
    const listener = await listen();
    service.stopping.fire();
    await until(() => listener.isEnded);
    expect(listener.comments).toContain('the service stops');
  });
});
