/**
 * Where clients continue: by ids of the stream, cursors of lists and ids of events. They show nothing about other
 * workspaces, and work in their own alone.
 */
import { afterAll, describe, expect, test } from 'vitest';
import { makeStranger } from '../../support/test-client.ts';
import { startMs } from '../../support/fakes/test-clock.ts';
import { type ScanOptions, useCountedApi } from '../analytics/counted-api.ts';
import { Client, word } from '../../support/client.ts';
import { startTestApi } from '../../support/test-app.ts';

const { engine, service, client, code: create, scan: scanOf } = await useCountedApi(startMs);
const stranger = new Client(service.url, await makeStranger(service));
const code = await create();
afterAll(() => stranger.close());

function scan(more: ScanOptions = {}): void {
  scanOf(code, service.clock.now(), 1, more);
  engine.settle();
  service.windows.fire();
}

const makeStrangerCode = () => stranger.post('/v1/qr-codes', { target: 'https://a.example/' });

/** What the stream has now: its last id, whether there is a gap, ids of the events. */
async function poll(from?: string, by = client) {
  const headers = from === undefined ? {} : { 'last-event-id': from };
  const { status, text } = await by.get('/v1/events/stream?once=true', { headers });
  const ids = [...text.matchAll(/^id: (.*)$/gm)].map(([, id = '']) => id);
  const events = [...text.matchAll(/^data: \{"id":"(evt_\w+)"/gm)].map(([, id = '']) => id);
  return { status, id: ids.at(-1) ?? '', hasGap: text.includes('event: gap'), events };
}

const newest = async (): Promise<string> =>
  word((await client.get('/v1/events?limit=1')).items[0]?.id);

describe('an id of the stream', () => {
  test('says nothing of what happens elsewhere, nor that nothing does', async () => {
    const first = await poll();
    const second = await poll();
    expect(first.id).not.toBe(second.id);
    await makeStrangerCode();
    scan({ workspaceNo: 7 });
    const third = await poll();
    for (const { id } of [first, second, third]) expect(id).toMatch(/^[\w-]{59}$/);
    expect(await poll(first.id)).toMatchObject({ hasGap: false, events: [] });
  });

  test.each(['one of another workspace', 'a changed one'])(
    '%s starts from now, with a gap',
    async (which) => {
      const { id } = await poll(undefined, which.includes('another') ? stranger : client);
      await create();
      const middle = id.at(20) === 'A' ? 'B' : 'A';
      const changed = id.slice(0, 20) + middle + id.slice(21);
      const from = which.includes('changed') ? changed : id;
      expect(await poll(from)).toMatchObject({ status: 200, hasGap: true, events: [] });
    },
  );

  test('of one history holds after a restart', async () => {
    const app = await startTestApi();
    const api = new Client(app.url, app.apiKey);
    const { id } = await poll(undefined, api);
    await api.post('/v1/qr-codes', { target: 'https://a.example/' });
    await api.close();
    const again = await app.restart();
    await again.listen();
    const back = new Client(again.url, app.apiKey);
    const { hasGap, events } = await poll(id, back);
    expect([hasGap, events.length]).toEqual([false, 1]);
    await back.close();
  });
});

describe('an id of GET /events goes on in the stream', () => {
  test('behind a change: nothing skipped, no change repeated', async () => {
    await create();
    const from = await newest();
    const made = [await create(), await create()];
    const { hasGap, events } = await poll(from);
    const { items } = await client.get('/v1/events?limit=2');
    expect(hasGap).toBe(false);
    expect(items.map(({ data }) => word(data?.id))).toEqual(made.map(({ id }) => id).toReversed());
    expect(events.filter((id) => items.some((item) => word(item.id) === id))).toHaveLength(2);
    expect(events).not.toContain(from);
  });

  test('behind a scan: nothing skipped, no scan repeated', async () => {
    service.clock.move(10_000);
    scan();
    service.clock.move(5);
    scan();
    const from = await newest();
    expect(await poll(from)).toMatchObject({ hasGap: false, events: [] });
    service.clock.move(5);
    scan();
    await create();
    const { items } = await client.get('/v1/events?limit=2');
    const { events } = await poll(from);
    expect(events.toSorted()).toEqual(items.map(({ id }) => word(id)).toSorted());
  });

  test('behind a change that came before scans which were not counted yet', async () => {
    service.clock.move(10_000);
    await create();
    const from = await newest();
    scan();
    const { events } = await poll(from);
    const { items } = await client.get('/v1/events?type=qr.scanned&limit=1');
    expect(events).toEqual([word(items[0]?.id)]);
  });

  test('of another workspace and one that never was are alike', async () => {
    await makeStrangerCode();
    const { items } = await stranger.get('/v1/events?limit=1');
    for (const id of [word(items[0]?.id), 'evt_01k3zq8m4hd2v7c5x9ab']) {
      expect(await poll(id)).toMatchObject({ status: 200, hasGap: true, events: [] });
    }
  });
});

describe('cursors', () => {
  test('read as nothing, and work for their own workspace and list alone', async () => {
    for (const name of ['one', 'two']) {
      const body = { name, startDate: '2026-03-01', qrCodeIds: [] };
      await client.post('/v1/campaigns', body);
      await create();
      scan();
    }
    const lists = ['/qr-codes', '/campaigns', '/events', `/qr-codes/${code.id}/scans`];
    const page = async (list: string, cursor: string, by = client) =>
      await by.get(`/v1${list}?limit=1&cursor=${cursor}`);
    for (const list of lists) {
      const { json, items } = await client.get(`/v1${list}?limit=1`);
      const cursor = word(json.nextCursor);
      const again = await client.get(`/v1${list}?limit=1`);
      expect(cursor).toMatch(/^[\w-]{59,}$/);
      expect(again.json.nextCursor).not.toBe(cursor);
      const next = await page(list, cursor);
      expect([next.status, next.items.length]).toEqual([200, 1]);
      expect(next.items[0]?.id).not.toBe(items[0]?.id);
      for (const another of lists) {
        if (another !== list) expect((await page(another, cursor)).status).toBe(422);
      }
      if (!list.endsWith('/scans')) expect((await page(list, cursor, stranger)).status).toBe(422);
    }
  });

  test.each(['1', '1.2.3', 'eyJvIjo5fQ', '%00', 'A'.repeat(60)])(
    '%s that a client made up is 422 in every list',
    async (cursor) => {
      const body = { url: 'https://hooks.example/', events: ['*'] };
      const { json } = await client.post('/v1/webhooks', body);
      const lists = [
        '/qr-codes',
        '/campaigns',
        '/events',
        '/team/members',
        '/webhooks',
        '/webhooks/dead-letters',
        `/webhooks/${word(json.id)}/deliveries`,
        `/qr-codes/${code.id}/scans`,
      ];
      for (const list of lists) {
        const { status, faults } = await client.get(`/v1${list}?cursor=${cursor}`);
        expect([list, status, faults[0]?.path]).toEqual([list, 422, 'cursor']);
      }
      await client.delete(`/v1/webhooks/${word(json.id)}`);
    },
  );
});

test('an invited person’s address is for admins, in the list and in the stream', async () => {
  const { id } = await poll();
  const email = 'new.colleague@a.example';
  await client.post('/v1/team/invites', { email, role: 'viewer' });
  for (const role of ['viewer', 'editor', 'admin', 'owner'] as const) {
    const key = await service.keyOf(role);
    const headers = { 'last-event-id': id };
    const texts = [
      (await client.get('/v1/events?type=member.invited', { key })).text,
      (await client.get('/v1/events/stream?once=true', { key, headers })).text,
    ];
    const isAdmin = role === 'admin' || role === 'owner';
    for (const text of texts) {
      expect(text).toContain('"role":"viewer"');
      expect([
        role,
        text.includes(email),
        text.includes('"email":"hidden@hidden.invalid"'),
      ]).toEqual([role, isAdmin, !isAdmin]);
    }
  }
});

test('16 streams a key and 64 a workspace, all at one address', async () => {
  const keys: string[] = [];
  // All at once: a new key ends the streams.
  for (let one = 0; one < 5; one++) keys.push(await service.keyOf('viewer'));
  const last = keys.pop()!;
  const ends = new AbortController();
  const open = async (by: string): Promise<number> => {
    const headers = { authorization: `Bearer ${by}` };
    const answer = await fetch(`${service.url}/v1/events/stream`, { headers, signal: ends.signal });
    // Counted from its first piece on.
    await answer.body?.getReader().read();
    return answer.status;
  };
  for (const key of keys) {
    for (let one = 0; one < 16; one++) expect(await open(key)).toBe(200);
    if (key === keys[0]) expect(await open(key)).toBe(503);
  }
  expect(await open(last)).toBe(503);
  ends.abort();
});
