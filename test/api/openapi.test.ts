/**
 * The OpenAPI document against the service: no operation works without a key, and every answer has
 * the shape that the document gives it.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventKinds } from '../../src/model/event.ts';
import { Client, type Answer, type Json, word } from '../support/client.ts';
import { OffsetClock } from '../support/fakes/offset-clock.ts';
import { startTestApi, type TestApp } from '../support/test-app.ts';

let service: TestApp;
let client: Client;
let document: Json;
let ajv: Ajv2020;

beforeAll(async () => {
  service = await startTestApi({
    clock: new OffsetClock(),
    environment: {
      QZ_TRUSTED_PROXIES: '127.0.0.1',
      // Nobody listens at the endpoint's address: what is sent there fails at once.
      QZ_WEBHOOKS_ALLOW_NETWORKS: '127.0.0.1/32',
      QZ_WEBHOOKS_RETRY_DELAYS_MS: '1',
    },
  });
  await liftLimits();
  client = new Client(service.url, service.apiKey);
  const { text } = await client.call('GET', '/v1/openapi.json', { key: undefined });
  document = closed(JSON.parse(text));
  ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  ajv.addSchema(document, 'openapi');
});
afterAll(async () => {
  await client.close();
  await service.close();
});

/** A plan of its own; a checkout gives the workspace another one. */
async function liftLimits(): Promise<void> {
  const limits = { perMinute: 100_000, perDay: undefined };
  await service.workspaces.workspaces.setPlan(1, 'enterprise', limits);
}

/** What every HTTP answer has, or none of ours has a meaning in. */
const plainHeaders =
  /^(?:date|connection|keep-alive|content-(?:type|length)|transfer-encoding|cache-control|x-content-type-options|x-robots-tag|uwebsockets|strict-transport-security)$/;

/** Headers of an answer that its description does not name. */
function unknownHeaders(path: string, method: string, { status, headers }: Answer): string[] {
  const responses = document.paths?.[path]?.[method]?.responses;
  const response = responses?.[status] ?? responses?.default;
  const name = response?.$ref === undefined ? '' : word(response.$ref).split('/').at(-1);
  const described = response?.headers ?? document.components?.responses?.[name ?? '']?.headers;
  const known = new Set(Object.keys(described ?? {}).map((known) => known.toLowerCase()));
  return Object.keys(headers).filter((name) => !plainHeaders.test(name) && !known.has(name));
}

/** Answers may have more fields one day; today they have those that are described. */
function closed(open: Json): Json {
  const isOpen = (value: Json): boolean =>
    value?.properties !== undefined && value.additionalProperties === undefined;
  return JSON.parse(JSON.stringify(open), (_key: string, value: Json): unknown =>
    isOpen(value) ? { ...value, additionalProperties: false } : value,
  );
}

function shapeOf(path: string, method: string, answer: Answer): ValidateFunction {
  const type = String(answer.headers['content-type']);
  const responses = ['paths', path, method, 'responses', String(answer.status)];
  const { [answer.status]: own, default: other } =
    document.paths?.[path]?.[method]?.responses ?? {};
  const shared = (own ?? other)?.$ref;
  const response = shared === undefined ? responses : word(shared).split('/').slice(1);
  const steps = [...response, 'content', type, 'schema'];
  const pointer = steps.map((step) => encodeURIComponent(step.replace(/\//g, '~1'))).join('/');
  const found = ajv.getSchema(`openapi#/${pointer}`);
  if (found === undefined) throw new Error(`Cannot find ${steps.join(' ')} in the document`);
  return found;
}

test('is OpenAPI 3.1 with one server, one scheme and unique operation ids', () => {
  expect(document.openapi).toMatch(/^3\.1\./);
  expect(document.servers).toMatchObject([{ url: 'http://localhost:8080/v1' }]);
  const ids = operations().map(([, , operation]) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.length).toBeGreaterThanOrEqual(10);
});

function operations(): Array<[path: string, method: string, operation: Json]> {
  return Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): [string, string, Json] => [
      path,
      method,
      operation,
    ]),
  );
}

test('every operation is 401 without a key, in the documented shape', async () => {
  for (const [index, [path, method, { security }]] of operations().entries()) {
    if (word(security) === '[]') continue;
    const address = `/v1${path.replace(/\{\w+\}/, 'qr_00000000000000000000')}`;
    const answer = await client.call(method.toUpperCase(), address, {
      key: undefined,
      headers: { 'x-forwarded-for': `198.51.100.${index + 1}` },
    });
    expect([path, method, answer.status]).toEqual([path, method, 401]);
    const validate = shapeOf(path, method, answer);
    expect([validate(answer.json), validate.errors]).toEqual([true, null]);
  }
});

test('real answers have the shapes the document gives them', async () => {
  const target = 'https://example.com/';
  const made = await client.call('POST', '/v1/qr-codes', {
    body: {
      target,
      name: 'n',
      expiresAt: '2040-01-01T00:00:00Z',
      scanLimit: 5,
      metadata: { a: 1 },
    },
  });
  const still = await client.call('POST', '/v1/qr-codes', { body: { target, dynamic: false } });
  const one = `/v1/qr-codes/${word(made.json.id)}`;
  const calls: ReadonlyArray<readonly [string, string, Answer]> = [
    ['/qr-codes', 'post', made],
    ['/qr-codes', 'post', still],
    ['/qr-codes', 'post', await client.call('POST', '/v1/qr-codes', { raw: '{' })],
    ['/qr-codes', 'post', await client.call('POST', '/v1/qr-codes', { body: {} })],
    [
      '/qr-codes',
      'post',
      await client.call('POST', '/v1/qr-codes', { raw: '{}', headers: { 'content-type': 'a/b' } }),
    ],
    ['/qr-codes', 'get', await client.call('GET', '/v1/qr-codes?limit=1')],
    ['/qr-codes', 'get', await client.call('GET', '/v1/qr-codes?limit=x')],
    ['/qr-codes/{id}', 'get', await client.call('GET', one)],
    ['/qr-codes/{id}', 'get', await client.call('GET', '/v1/qr-codes/qr_0')],
    ['/qr-codes/{id}', 'patch', await client.call('PATCH', one, { body: { name: 'm' } })],
    [
      '/qr-codes/{id}',
      'patch',
      await client.call('PATCH', `/v1/qr-codes/${word(still.json.id)}`, {
        body: { target: `${target}x` },
      }),
    ],
    ['/qr-codes/{id}', 'put', await client.call('PUT', one, { body: { target } })],
    ['/qr-codes/{id}/analytics', 'get', await client.call('GET', `${one}/analytics`)],
    [
      '/qr-codes/{id}/analytics/timeseries',
      'get',
      await client.call('GET', `${one}/analytics/timeseries`),
    ],
    [
      '/qr-codes/{id}/analytics/breakdown',
      'get',
      await client.call('GET', `${one}/analytics/breakdown?by=os`),
    ],
    ['/qr-codes/{id}/scans', 'get', await client.call('GET', `${one}/scans`)],
    ['/analytics/summary', 'get', await client.call('GET', '/v1/analytics/summary')],
    ['/analytics/timeseries', 'get', await client.call('GET', '/v1/analytics/timeseries')],
    ['/analytics/breakdown', 'get', await client.call('GET', '/v1/analytics/breakdown?by=os')],
    ['/events', 'get', await client.call('GET', '/v1/events?limit=2')],
    ['/qr-codes/{id}', 'delete', await client.call('DELETE', one)],
    ...(await peopleCalls()),
    ...(await webhookCalls()),
    ...(await campaignAndBillingCalls()),
  ];
  for (const [path, method, answer] of calls) {
    const validate = shapeOf(path, method, answer);
    expect([path, method, unknownHeaders(path, method, answer)]).toEqual([path, method, []]);
    expect([path, method, validate(answer.json), validate.errors]).toEqual([
      path,
      method,
      true,
      null,
    ]);
  }
});

async function peopleCalls(): Promise<Array<readonly [string, string, Answer]>> {
  const email = 'shape@example.com';
  const key = await client.call('POST', '/v1/api-keys', { body: { name: 'k' } });
  const invite = { body: { email, role: 'viewer' } };
  const invited = await client.call('POST', '/v1/team/invites', invite);
  const accept = { token: invited.json.token, name: 'S', password: 'a good password' };
  const shown = { body: { token: accept.token } };
  const preview = await client.call('POST', '/v1/team/invites/preview', shown);
  const joined = await client.call('POST', '/v1/team/invites/accept', { body: accept });
  const member = `/v1/team/members/${word(joined.json.userId)}`;
  const signIn = { body: { email, password: accept.password } };
  const get = async (path: string): Promise<readonly [string, string, Answer]> => [
    path,
    'get',
    await client.call('GET', `/v1${path}`),
  ];
  return [
    ['/api-keys', 'post', key],
    [
      '/api-keys/{id}/rotate',
      'post',
      await client.call('POST', `/v1/api-keys/${word(key.json.id)}/rotate`),
    ],
    ['/api-keys/{id}', 'delete', await client.call('DELETE', `/v1/api-keys/${word(key.json.id)}`)],
    ['/team/invites', 'post', invited],
    ['/team/invites', 'post', await client.call('POST', '/v1/team/invites', invite)],
    ['/team/invites/preview', 'post', preview],
    ['/team/invites/accept', 'post', joined],
    ['/auth/sign-in', 'post', await client.call('POST', '/v1/auth/sign-in', signIn)],
    ['/team/members/{userId}', 'patch', await client.call('PATCH', member, { body: invite.body })],
    [
      '/team/members/{userId}',
      'patch',
      await client.call('PATCH', member, { body: { role: 'editor' } }),
    ],
    await get('/api-keys'),
    await get('/team/invites'),
    await get('/team/members'),
    await get('/workspaces'),
    await get('/session'),
    await get('/billing/usage'),
    ['/team/members/{userId}', 'delete', await client.call('DELETE', member)],
  ];
}

async function campaignAndBillingCalls(): Promise<Array<readonly [string, string, Answer]>> {
  const call = async (method: string, path: string, body?: object): Promise<Answer> =>
    await client.call(method, `/v1${path}`, body === undefined ? {} : { body });
  const { id } = (await call('POST', '/qr-codes', { target: 'https://example.com/' })).json;
  const draft = { name: 'Spring', startDate: '2026-03-01', qrCodeIds: [id] };
  const campaign = await call('POST', '/campaigns', draft);
  const conversion = await call('POST', '/conversions', {
    qrCodeId: id,
    value: 2,
    externalId: 'o-1',
  });
  const again = await call('POST', '/conversions', { qrCodeId: id, value: 2, externalId: 'o-1' });
  const checkout = await call('POST', '/billing/checkout', { plan: 'pro', interval: 'month' });
  const confirm = `/billing/checkout/${word(checkout.json.id)}/confirm`;
  const confirmed = await call('POST', confirm);
  await liftLimits();
  const changed = await call('PATCH', '/billing/subscription', { plan: 'business' });
  await liftLimits();
  const watch = await call('POST', '/watches', { qrCodeId: id, silentHours: 24, target: true });
  return [
    ['/watches', 'post', watch],
    ['/watches', 'get', await call('GET', '/watches')],
    ['/watches/incidents', 'get', await call('GET', '/watches/incidents')],
    ['/watches/{id}', 'get', await call('GET', `/watches/${word(watch.json.id)}`)],
    ['/campaigns', 'post', campaign],
    ['/campaigns', 'get', await call('GET', '/campaigns')],
    [
      '/campaigns/{id}/analytics',
      'get',
      await call('GET', `/campaigns/${word(campaign.json.id)}/analytics`),
    ],
    ['/conversions', 'post', conversion],
    ['/conversions', 'post', again],
    ['/qr-codes/{id}/conversions', 'get', await call('GET', `/qr-codes/${word(id)}/conversions`)],
    ['/billing/plans', 'get', await call('GET', '/billing/plans')],
    ['/billing/checkout', 'post', checkout],
    ['/billing/checkout/{id}/confirm', 'post', confirmed],
    ['/billing/subscription', 'patch', changed],
    ['/billing/subscription', 'get', await call('GET', '/billing/subscription')],
    ['/billing/subscription', 'delete', await call('DELETE', '/billing/subscription')],
  ];
}

test('real events have the shapes that the document gives its webhooks', async () => {
  await liftLimits();
  const { items } = await client.call('GET', '/v1/events?limit=100');
  const kinds = new Set(items.map(({ event }) => word(event)));
  // These need scans, and time.
  const late = new Set(['qr.scanned', 'campaign.ended']);
  const watched = new Set(['qr.silent', 'qr.spiked', 'qr.target_failed', 'qr.target_recovered']);
  const isMade = (kind: string): boolean => !late.has(kind) && !watched.has(kind);
  const withoutScans = eventKinds.filter(isMade).toSorted();
  expect([...kinds].toSorted()).toEqual(withoutScans);
  for (const item of items) {
    const pointer = `webhooks/${word(item.event)}/post/requestBody/content/application~1json/schema`;
    const validate = ajv.getSchema(`openapi#/${pointer}`);
    expect([item.event, validate?.(item), validate?.errors]).toEqual([item.event, true, null]);
  }
});

async function webhookCalls(): Promise<Array<readonly [string, string, Answer]>> {
  const one = '/webhooks/{id}';
  const call = async (method: string, path: string, body?: object): Promise<Answer> =>
    await client.call(method, `/v1${path}`, body === undefined ? {} : { body });
  const url = 'http://127.0.0.1:1/';
  const made = await call('POST', '/webhooks', { url, events: ['qr.created'] });
  const path = `/webhooks/${word(made.json.id)}`;
  await call('POST', '/qr-codes', { target: 'https://example.com/' });
  const dead = await eventually(async () => await call('GET', '/webhooks/dead-letters'));
  const sample = await call('POST', `${path}/test`, { event: 'qr.scanned' });
  const list = await call('GET', `${path}/deliveries`);
  const delivery = `/webhooks/deliveries/${word(sample.json.deliveryId)}`;
  const again = await call('POST', `${delivery}/redeliver`);
  const { id } = dead.items[0] ?? {};
  const replayed = await call('POST', `/webhooks/dead-letters/${word(id)}/replay`);
  const range = { from: '2026-01-01', to: '2026-01-02' };
  return [
    ['/webhooks', 'post', made],
    ['/webhooks', 'get', await call('GET', '/webhooks')],
    [one, 'get', await call('GET', path)],
    [one, 'patch', await call('PATCH', path, { description: 'Till' })],
    [`${one}/rotate-secret`, 'post', await call('POST', `${path}/rotate-secret`)],
    [`${one}/test`, 'post', sample],
    [`${one}/deliveries`, 'get', list],
    ['/webhooks/deliveries/{id}', 'get', await call('GET', delivery)],
    ['/webhooks/deliveries/{id}/redeliver', 'post', again],
    ['/webhooks/dead-letters', 'get', dead],
    ['/webhooks/dead-letters/{id}/replay', 'post', replayed],
    [
      '/webhooks/dead-letters/replay',
      'post',
      await call('POST', '/webhooks/dead-letters/replay', range),
    ],
    [one, 'delete', await call('DELETE', path)],
  ];
}

/** The list once it has something. */
async function eventually(list: () => Promise<Answer>): Promise<Answer> {
  const deadlineMs = performance.now() + 30_000;
  for (;;) {
    const answer = await list();
    if (answer.items.length > 0) return answer;
    if (performance.now() > deadlineMs) throw new Error('Cannot wait longer: the list is empty');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test('a conversion that was counted before is described as its 200', () => {
  const post = document.paths?.['/conversions']?.post;
  expect(Object.keys(post?.responses ?? {})).toEqual(expect.arrayContaining(['200', '201']));
});

test('what the document calls required and closed is so', () => {
  const create = document.components?.schemas?.QrCodeCreate;
  expect(create).toMatchObject({ required: ['target'], additionalProperties: false });
  const qrCode = document.components?.schemas?.QrCode;
  expect(qrCode?.required).toContain('design');
  const item = document.components?.schemas?.QrCodeItem;
  expect(item?.required).not.toContain('shortUrl');
  expect(item?.required).toContain('imageUrl');
});
