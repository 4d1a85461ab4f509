/** GET /qr-codes/:id/resolve: what a scan would get, without one. */
import { expect, test } from 'vitest';
import { isoTime } from '../../../src/model/day.ts';
import { word } from '../../support/client.ts';
import { openTestClient } from '../../support/test-client.ts';

const { service, client } = await openTestClient();

const target = 'https://example.com/menu';

async function create(body: object): Promise<string> {
  const made = await client.call('POST', '/v1/qr-codes', { body: { target, ...body } });
  expect(made.status).toBe(201);
  return word(made.json.id);
}

async function resolve(id: string, query = ''): Promise<unknown> {
  const { status, json } = await client.call('GET', `/v1/qr-codes/${id}/resolve?${query}`);
  expect(status).toBe(200);
  return json;
}

const to = (location: string, label: string, reason = 'rule') => ({
  status: 302,
  location,
  label,
  reason,
});

test('rules, by what is said of the scan; the target without', async () => {
  const id = await create({
    utm: { source: '{label}' },
    passQuery: true,
    rules: [
      { label: 'ios', if: { os: ['iOS'], device: ['mobile'] }, then: { target: 'https://e.co/i' } },
      {
        label: 'de',
        if: { language: ['de'], country: ['AT'] },
        then: { target: 'https://e.co/d' },
      },
      { label: 'table', if: { query: { table: '*' } }, then: { target: 'https://e.co/t' } },
      {
        label: 'lunch',
        if: { time: { from: '11:00', to: '14:00', timezone: 'America/New_York' } },
        then: { target: 'https://e.co/l' },
      },
    ],
  });
  const night = 'at=2026-07-01T04:00:00Z';
  // A system without a device is on what it is mostly on.
  expect(await resolve(id, `os=iOS&${night}`)).toEqual(to('https://e.co/i?utm_source=ios', 'ios'));
  expect(await resolve(id, `os=iOS&device=tablet&${night}`)).toEqual(
    to(`${target}?utm_source=target`, 'target', 'target'),
  );
  expect(await resolve(id, `language=fr;q=0.5,de-AT&country=AT&${night}`)).toEqual(
    to('https://e.co/d?utm_source=de', 'de'),
  );
  expect(await resolve(id, `query=${encodeURIComponent('table=4&utm_source=x')}&${night}`)).toEqual(
    to('https://e.co/t?utm_source=table&table=4', 'table'),
  );
  // Half past ten in New York in winter, half past eleven in summer.
  expect(await resolve(id, 'at=2026-01-01T15:30:00Z')).toMatchObject({ label: 'target' });
  expect(await resolve(id, 'at=2026-07-01T15:30:00Z')).toMatchObject({ label: 'lunch' });
});

test('a split shows all its variants, of a rule and of the code', async () => {
  const variant = (label: string, weight: number) => ({
    label,
    target: `https://e.co/${label}`,
    weight,
  });
  const id = await create({
    rules: [
      { label: 'x', if: { os: ['Android'] }, then: { split: [variant('a', 1), variant('b', 3)] } },
    ],
    split: [variant('c', 2), variant('d', 2)],
  });
  expect(await resolve(id, 'os=Android')).toEqual({
    ...to('https://e.co/b', 'b', 'split'),
    variants: [
      { label: 'a', location: 'https://e.co/a', share: 0.25 },
      { label: 'b', location: 'https://e.co/b', share: 0.75 },
    ],
  });
  expect(await resolve(id)).toMatchObject({ label: 'c', reason: 'split' });
});

test('states, in the order of a redirect, with and without a fallback', async () => {
  const startsAt = isoTime(service.clock.now() + 60_000);
  const expiresAt = isoTime(service.clock.now() + 120_000);
  const id = await create({ startsAt, expiresAt, scanLimit: 5 });
  const ended = (reason: string, status = 410) => ({
    status,
    location: null,
    label: reason,
    reason,
  });
  expect(await resolve(id)).toEqual(ended('not_started', 404));
  expect(await resolve(id, `at=${startsAt}`)).toEqual(to(target, 'target', 'target'));
  expect(await resolve(id, `at=${expiresAt}`)).toEqual(ended('expired'));
  service.scans.lifetime.set(service.codes.find(service.actor.workspaceNo, id)?.no ?? 0, 5);
  expect(await resolve(id, `at=${startsAt}`)).toEqual(ended('used_up'));
  const body = { paused: true, fallbackUrl: 'https://e.co/later' };
  await client.call('PATCH', `/v1/qr-codes/${id}`, { body });
  expect(await resolve(id)).toEqual(to('https://e.co/later', 'paused', 'paused'));
});

test('what cannot be asked is refused, all faults at once', async () => {
  const id = await create({});
  const answer = await client.call(
    'GET',
    `/v1/qr-codes/${id}/resolve?device=fridge&os=BeOS&country=de&at=noon&language=${'x'.repeat(1_025)}`,
  );
  expect(answer.status).toBe(422);
  const paths = new Set(answer.faults.map(({ path }) => path));
  expect(paths).toEqual(new Set(['device', 'os', 'country', 'language', 'at']));
  const fixed = await create({ dynamic: false });
  const statics = await client.call('GET', `/v1/qr-codes/${fixed}/resolve`);
  expect([statics.status, statics.json.code]).toEqual([409, 'static_code']);
  const unknown = await client.call('GET', '/v1/qr-codes/qr_01k3zq8m4hd2v7c5x9ab/resolve');
  expect(unknown.status).toBe(404);
});
