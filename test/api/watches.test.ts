/** /watches: what is taken, what is refused with all its faults, lists, and whose they are. */
import { describe, expect, test } from 'vitest';
import { eventSchemas } from '../../src/api/events/event-schemas.ts';
import { incident } from '../../src/api/watches/watch-schemas.ts';
import { watchesMax } from '../../src/model/watches/watch.ts';
import { type Answer, word } from '../support/client.ts';
import { useTestApi } from '../support/test-client.ts';

const { service, client, makeCode } = await useTestApi();
const code = word((await makeCode({ name: 'Poster' })).id);

async function made(body: unknown): Promise<string> {
  const { status, json } = await client.post('/v1/watches', body);
  expect(status).toBe(201);
  return word(json.id);
}

const faultsOf = ({ faults }: Answer) => faults.map(({ path, code: fault }) => `${path} ${fault}`);
const ids = ({ items }: Answer): string[] => items.map(({ id }) => word(id));

describe('a watch', () => {
  test('is made, read, changed, listed by its code and deleted', async () => {
    const body = { qrCodeId: code, silentHours: 24, target: true, mail: true };
    const first = await client.post('/v1/watches', body);
    const { id, ...rest } = first.json;
    expect(first.headers.location).toBe(`/v1/watches/${word(id)}`);
    expect(rest).toMatchObject({
      qrCodeId: code,
      campaignId: null,
      name: 'Poster',
      silentHours: 24,
      spikeFactor: null,
      target: true,
      mailTo: [service.first.user.id],
      state: 'pending',
      since: null,
      incidents: [],
    });
    expect((await client.get(`/v1/watches/${word(id)}`)).json).toEqual(first.json);
    const change = { silentHours: null, spikeFactor: 3, mail: false };
    const changed = await client.patch(`/v1/watches/${word(id)}`, change);
    const rules = { silentHours: null, spikeFactor: 3, target: true, mailTo: [] };
    expect(changed.json).toMatchObject(rules);
    await made({ silentHours: 6 });
    const of = await client.get(`/v1/watches?qrCodeId=${code}`);
    expect(of.json).toMatchObject({ total: 1, data: [{ id }] });
    const deleted = await client.delete(`/v1/watches/${word(id)}`);
    expect(deleted.json).toEqual({ deleted: true, id });
  });

  const campaignId = 'cmp_00000000000000000000';
  test.each([
    [{}, [' nothing_to_watch']],
    [{ target: true, qrCodeId: 'qr_00000000000000000000' }, ['qrCodeId unknown_code']],
    [{ target: true, qrCodeId: code, campaignId }, ['campaignId invalid']],
    [
      { silentHours: 5, mailTo: ['usr_00000000000000000000'], campaignId },
      ['campaignId unknown_campaign', 'mailTo.0 unknown_member'],
    ],
  ])('as %j is refused', async (body, faults) => {
    expect(faultsOf(await client.post('/v1/watches', body))).toEqual(faults);
  });

  test('on a static code looks for its target alone, on a text for nothing', async () => {
    const fixed = word((await makeCode({ dynamic: false })).id);
    const text = word((await makeCode({ target: 'hello', type: 'text' })).id);
    const refused = async (body: object) => faultsOf(await client.post('/v1/watches', body));
    expect(await refused({ qrCodeId: fixed, silentHours: 5 })).toEqual(['silentHours static_code']);
    expect(await refused({ qrCodeId: text, target: true })).toEqual(['target no_address']);
    await made({ qrCodeId: fixed, target: true });
  });
});

test('lists page by page and by cursor, newest first', async () => {
  for (let more = 0; more < 3; more++) await made({ silentHours: 7 + more });
  const all = await client.get('/v1/watches');
  expect(ids(all)).toEqual(ids(all).toSorted().toReversed());
  const first = await client.get('/v1/watches?limit=2');
  const next = await client.get(`/v1/watches?limit=2&cursor=${word(first.json.nextCursor)}`);
  expect([...ids(first), ...ids(next)]).toEqual(ids(all).slice(0, 4));
  const incidents = await client.get('/v1/watches/incidents?open=true');
  expect(incidents.json).toEqual({ data: [], limit: 20 });
});

test('an incident is in its watch, in the lists and in an event of its shape', async () => {
  const { store, watches: module, outbox } = service;
  const id = await made({ qrCodeId: code, silentHours: 24, target: true });
  const watch = module.watches.get(1, id);
  const url = 'https://example.com/menu';
  const begun = await store.environment.transaction(() => {
    const sinceMs = service.clock.now() - 86_400_000;
    const quiet = { kind: 'silent', name: 'Poster', sinceMs, hours: 24, expected: 12.5 } as const;
    const silent = { incidentId: module.incidents.begin(watch, { ...quiet, seen: 0 }), sinceMs };
    const spike = { kind: 'spiking', name: 'Poster', sinceMs, expected: 2, seen: 40 } as const;
    module.incidents.end(watch, module.incidents.begin(watch, spike), 'recovered');
    const fails = { kind: 'target_failing', name: 'Poster', sinceMs, url, fault: 'dns' } as const;
    const incidentId = module.incidents.begin(watch, fails);
    const findings = { ...module.watches.findingsOf(id), silent };
    const failing = [{ url, sinceMs, incidentId }];
    store.watches.findings.put(id, { ...findings, failing });
    return incidentId;
  });
  const shown = await client.get(`/v1/watches/${id}`);
  expect(shown.json).toMatchObject({
    state: 'target_failing',
    incidents: [{ kind: 'target_failing', fault: 'dns', status: null }, { kind: 'silent' }],
  });
  const open = await client.get(`/v1/watches/incidents?open=true&watchId=${id}`);
  expect(open.items.map(({ kind }) => kind)).toEqual(['target_failing', 'silent']);
  const all = `/v1/watches/incidents?limit=2&qrCodeId=${code}`;
  const first = await client.get(all);
  const rest = await client.get(`${all}&cursor=${word(first.json.nextCursor)}`);
  expect([...first.items, ...rest.items].map(({ kind, endedBy }) => [kind, endedBy])).toEqual([
    ['target_failing', null],
    ['spiking', 'recovered'],
    ['silent', null],
  ]);
  for (const item of open.items) expect(incident.parse(item)).toEqual(item);
  await store.environment.transaction(() => module.incidents.end(watch, begun, 'recovered', 200));
  const events = outbox.after(0, 1_000).filter(({ kind }) => /^qr\.(s[ip]|target)/.test(kind));
  expect(events.map(({ kind }) => kind)).toEqual([
    'qr.silent',
    'qr.spiked',
    'qr.target_failed',
    'qr.target_recovered',
  ]);
  for (const { kind, body } of events) {
    const event: unknown = JSON.parse(body);
    expect(eventSchemas.get(kind)?.parse(event)).toEqual(event);
  }
});

test('a workspace has a bounded number', async () => {
  const { watches } = service.watches;
  const had = watches.idsOf(1).length;
  const draft = { subject: { kind: 'workspace' }, silentHours: 5, target: false } as const;
  await Promise.all(
    Array.from({ length: watchesMax - had }, () => watches.create(service.actor, draft)),
  );
  const { status } = await client.post('/v1/watches', { silentHours: 5 });
  expect([status, watches.idsOf(1).length]).toEqual([409, watchesMax]);
});
