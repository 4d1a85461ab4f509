/**
 * The OpenAPI document against the service: no operation works without a key, and every answer has
 * the shape that the document gives it.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { expect, test, vi } from 'vitest';
import { eventKinds } from '../../src/model/event.ts';
import { soon } from '../support/soon.ts';
import { type Answer, type CallOptions, type Json, word } from '../support/client.ts';
import { OffsetClock } from '../support/fakes/offset-clock.ts';
import { liftLimits, useTestApi } from '../support/test-client.ts';

const { service, client, makeCode } = await useTestApi({
  clock: new OffsetClock(),
  environment: {
    QZ_TRUSTED_PROXIES: '127.0.0.1',
    // Nobody listens at the endpoint's address: what is sent there fails at once.
    QZ_WEBHOOKS_ALLOW_NETWORKS: '127.0.0.1/32',
    QZ_WEBHOOKS_RETRY_DELAYS_MS: '1',
  },
});

const { text } = await client.get('/v1/openapi.json', { key: undefined });
const document = closed(JSON.parse(text));
const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
ajv.addSchema(document, 'openapi');

/** What every HTTP answer has, or none of ours has a meaning in. */
const plainHeaders =
  /^(?:date|connection|keep-alive|content-(?:type|length)|transfer-encoding|cache-control|x-content-type-options|x-robots-tag|uwebsockets|strict-transport-security)$/;

interface Asked {
  /** `GET /qr-codes/{id}`. */
  readonly operation: string;
  readonly answer: Answer;
}

interface Request extends CallOptions {
  /** In place of the one in the path. */
  readonly id?: unknown;
  readonly query?: string;
}

async function ask(
  operation: string,
  { id, query = '', ...options }: Request = {},
): Promise<Asked> {
  const [method = '', path = ''] = operation.split(' ');
  const address = `/v1${path.replace(/\{\w+\}/, word(id))}${query}`;
  return { operation, answer: await client.call(method, address, options) };
}

function described(operation: string): Json {
  const [method = '', path = ''] = operation.split(' ');
  return document.paths?.[path]?.[method.toLowerCase()] ?? {};
}

/** Headers of an answer that its description does not name. */
function unknownHeaders({ operation, answer: { status, headers } }: Asked): string[] {
  const { responses } = described(operation);
  const response = responses?.[status] ?? responses?.default;
  const name = response?.$ref === undefined ? '' : word(response.$ref).split('/').at(-1);
  const own = response?.headers ?? document.components?.responses?.[name ?? '']?.headers;
  const known = new Set(Object.keys(own ?? {}).map((known) => known.toLowerCase()));
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

function shapeOf({ operation, answer }: Asked): ValidateFunction {
  const [method = '', path = ''] = operation.split(' ');
  const responses = ['paths', path, method.toLowerCase(), 'responses', String(answer.status)];
  const { [answer.status]: own, default: other } = described(operation).responses ?? {};
  const shared = (own ?? other)?.$ref;
  const response = shared === undefined ? responses : word(shared).split('/').slice(1);
  return schemaAt([...response, 'content', String(answer.headers['content-type']), 'schema']);
}

test('the example of every parameter is what its schema asks for', () => {
  const shared = Object.keys(document.components?.parameters ?? {});
  const own = operations().flatMap(([name, { parameters = [] }]) => {
    const [method = '', path = ''] = name.split(' ');
    return Object.keys(parameters).map((at) => [
      'paths',
      path,
      method.toLowerCase(),
      'parameters',
      at,
    ]);
  });
  const examples = [...shared.map((name) => ['components', 'parameters', name]), ...own].flatMap(
    (steps) => {
      const pointer = [...steps, 'schema'];
      const parameter = steps.reduce((part: Json, step) => part[step] ?? {}, document);
      const values: unknown[] = Object.values(parameter.schema?.examples ?? {});
      return values.map((value) => ({ pointer, value }));
    },
  );
  expect(examples.length).toBeGreaterThan(20);
  for (const { pointer, value } of examples) {
    const validate = schemaAt(pointer);
    expect([pointer.join(' '), value, validate(value)]).toEqual([pointer.join(' '), value, true]);
  }
});

/** @param steps to a schema of the document */
function schemaAt(steps: readonly string[]): ValidateFunction {
  const pointer = steps.map((step) => encodeURIComponent(step.replace(/\//g, '~1'))).join('/');
  const found = ajv.getSchema(`openapi#/${pointer}`);
  if (found === undefined) throw new Error(`Cannot find ${steps.join(' ')} in the document`);
  return found;
}

function expectShape(asked: Asked): void {
  const validate = shapeOf(asked);
  const isOf = validate(asked.answer.json);
  expect([asked.operation, isOf, validate.errors]).toEqual([asked.operation, true, null]);
}

function operations(): Array<[name: string, operation: Json]> {
  return Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): [string, Json] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  );
}

test('every operation is 401 without a key, in the documented shape', async () => {
  for (const [index, [name, { security }]] of operations().entries()) {
    if (word(security) === '[]') continue;
    const headers = { 'x-forwarded-for': `198.51.100.${index + 1}` };
    const asked = await ask(name, { id: 'qr_00000000000000000000', key: undefined, headers });
    expect([name, asked.answer.status]).toEqual([name, 401]);
    expectShape(asked);
  }
});

test('real answers have the shapes the document gives them', async () => {
  const calls = [
    ...(await codeCalls()),
    ...(await peopleCalls()),
    ...(await webhookCalls()),
    ...(await campaignAndWatchCalls()),
    ...(await billingCalls()),
  ];
  for (const asked of calls) {
    expect([asked.operation, unknownHeaders(asked)]).toEqual([asked.operation, []]);
    expectShape(asked);
  }
});

const target = 'https://example.com/';

async function codeCalls(): Promise<Asked[]> {
  const fields = { name: 'n', expiresAt: '2040-01-01T00:00:00Z', scanLimit: 5, metadata: { a: 1 } };
  const made = await ask('POST /qr-codes', { body: { target, ...fields } });
  const still = await ask('POST /qr-codes', { body: { target, dynamic: false } });
  const { id } = made.answer.json;
  const retarget = { id: still.answer.json.id, body: { target: `${target}x` } };
  return [
    made,
    still,
    await ask('POST /qr-codes', { raw: '{' }),
    await ask('POST /qr-codes', { body: {} }),
    await ask('POST /qr-codes', { raw: '{}', headers: { 'content-type': 'a/b' } }),
    await ask('GET /qr-codes', { query: '?limit=1' }),
    await ask('GET /qr-codes', { query: '?limit=x' }),
    await ask('GET /qr-codes/{id}', { id }),
    await ask('GET /qr-codes/{id}', { id: 'qr_0' }),
    await ask('PATCH /qr-codes/{id}', { id, body: { name: 'm' } }),
    await ask('PATCH /qr-codes/{id}', retarget),
    await ask('PUT /qr-codes/{id}', { id, body: { target } }),
    await ask('GET /qr-codes/{id}/analytics', { id }),
    await ask('GET /qr-codes/{id}/analytics/timeseries', { id }),
    await ask('GET /qr-codes/{id}/analytics/breakdown', { id, query: '?by=os' }),
    await ask('GET /qr-codes/{id}/scans', { id }),
    await ask('GET /analytics/summary'),
    await ask('GET /analytics/timeseries'),
    await ask('GET /analytics/breakdown', { query: '?by=os' }),
    await ask('GET /events', { query: '?limit=2' }),
    await ask('DELETE /qr-codes/{id}', { id }),
  ];
}

async function peopleCalls(): Promise<Asked[]> {
  const invite = { email: 'shape@example.com', role: 'viewer' };
  const key = await ask('POST /api-keys', { body: { name: 'k' } });
  const invited = await ask('POST /team/invites', { body: invite });
  const { token } = invited.answer.json;
  const preview = await ask('POST /team/invites/preview', { body: { token } });
  const person = { token, name: 'S', password: 'a good password' };
  const joined = await ask('POST /team/invites/accept', { body: person });
  const { email } = invite;
  const { id } = key.answer.json;
  const { userId } = joined.answer.json;
  return [
    key,
    await ask('POST /api-keys/{id}/rotate', { id }),
    await ask('DELETE /api-keys/{id}', { id }),
    invited,
    await ask('POST /team/invites', { body: invite }),
    preview,
    joined,
    await ask('POST /auth/sign-in', { body: { email, password: person.password } }),
    await ask('PATCH /team/members/{userId}', { id: userId, body: invite }),
    await ask('PATCH /team/members/{userId}', { id: userId, body: { role: 'editor' } }),
    await ask('GET /api-keys'),
    await ask('GET /team/invites'),
    await ask('GET /team/members'),
    await ask('GET /workspaces'),
    await ask('GET /session'),
    await ask('GET /billing/usage'),
    await ask('DELETE /team/members/{userId}', { id: userId }),
  ];
}

async function campaignAndWatchCalls(): Promise<Asked[]> {
  const { id } = await makeCode();
  const draft = { name: 'Spring', startDate: '2026-03-01', qrCodeIds: [id] };
  const campaign = await ask('POST /campaigns', { body: draft });
  const order = { qrCodeId: id, value: 2, externalId: 'o-1' };
  const rules = { qrCodeId: id, silentHours: 24, target: true };
  const watch = await ask('POST /watches', { body: rules });
  return [
    watch,
    await ask('GET /watches'),
    await ask('GET /watches/incidents'),
    await ask('GET /watches/{id}', { id: watch.answer.json.id }),
    campaign,
    await ask('GET /campaigns'),
    await ask('GET /campaigns/{id}/analytics', { id: campaign.answer.json.id }),
    await ask('POST /conversions', { body: order }),
    await ask('POST /conversions', { body: order }),
    await ask('GET /qr-codes/{id}/conversions', { id }),
  ];
}

/** A confirmed checkout and a change give the workspace a plan of their own, with its limits. */
async function billingCalls(): Promise<Asked[]> {
  const none = await ask('GET /billing/subscription');
  const terms = { plan: 'pro', interval: 'month' };
  const checkout = await ask('POST /billing/checkout', { body: terms });
  const { id } = checkout.answer.json;
  const opened = await ask('GET /billing/checkout/{id}', { id });
  const confirmed = await ask('POST /billing/checkout/{id}/confirm', { id });
  await liftLimits(service);
  const changed = await ask('PATCH /billing/subscription', { body: { plan: 'business' } });
  await liftLimits(service);
  return [
    none,
    await ask('GET /billing/plans'),
    checkout,
    opened,
    confirmed,
    changed,
    await ask('GET /billing/subscription'),
    await ask('DELETE /billing/subscription'),
    await ask('POST /billing/subscription/resume'),
    await ask('DELETE /billing/subscription'),
    await ask('POST /billing/portal'),
  ];
}

test('real events have the shapes that the document gives its webhooks', async () => {
  const { items } = await client.get('/v1/events?limit=100');
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

async function webhookCalls(): Promise<Asked[]> {
  const body = { url: 'http://127.0.0.1:1/', events: ['qr.created'] };
  const made = await ask('POST /webhooks', { body });
  const { id } = made.answer.json;
  await makeCode();
  const dead = await eventually(() => ask('GET /webhooks/dead-letters'));
  const sample = await ask('POST /webhooks/{id}/test', { id, body: { event: 'qr.scanned' } });
  const { deliveryId } = sample.answer.json;
  const letter = { id: dead.answer.items[0]?.id };
  const range = { from: '2026-01-01', to: '2026-01-02' };
  return [
    made,
    await ask('GET /webhooks'),
    await ask('GET /webhooks/{id}', { id }),
    await ask('PATCH /webhooks/{id}', { id, body: { description: 'Till' } }),
    await ask('POST /webhooks/{id}/rotate-secret', { id }),
    sample,
    await ask('GET /webhooks/{id}/deliveries', { id }),
    await ask('GET /webhooks/deliveries/{id}', { id: deliveryId }),
    await ask('POST /webhooks/deliveries/{id}/redeliver', { id: deliveryId }),
    dead,
    await ask('POST /webhooks/dead-letters/{id}/replay', letter),
    await ask('POST /webhooks/dead-letters/replay', { body: range }),
    await ask('DELETE /webhooks/{id}', { id }),
  ];
}

/** The list once it has something. */
async function eventually(list: () => Promise<Asked>): Promise<Asked> {
  return await vi.waitUntil(async () => {
    const asked = await list();
    return asked.answer.items.length > 0 && asked;
  }, soon);
}

test('answers have a design and an image, and a static code has no short URL', () => {
  const { QrCode, QrCodeItem } = document.components?.schemas ?? {};
  expect(QrCode?.required).toContain('design');
  expect(QrCodeItem?.required).toContain('imageUrl');
  expect(QrCodeItem?.required).not.toContain('shortUrl');
});
