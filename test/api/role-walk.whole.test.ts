/**
 * Every operation of the OpenAPI document: with every role, and with another workspace's key and ids; openapi.test.ts
 * calls each without a key. The document is the list, so an operation without a walk fails here. access/permissions.txt is
 * the same list on one page: a changed permission is a changed line.
 */
import { expect, test } from 'vitest';
import { type Role, roleAtLeast, roles } from '../../src/model/workspace.ts';
import { roundLogo } from '../product/images/sample-designs.ts';
import { type Answer, type Json, word } from '../support/client.ts';
import { makeStranger, useTestApi } from '../support/test-client.ts';

/** `none`: no key, or a signature of the body. */
type Access = Role | 'person' | 'none';

type Operation = ReturnType<typeof describeOne>;

const { service, client } = await useTestApi({
  environment: {
    QZ_TRUSTED_PROXIES: '127.0.0.1',
    // Nobody listens at the endpoint's address: what is sent there fails at once.
    QZ_WEBHOOKS_ALLOW_NETWORKS: '127.0.0.1/32',
  },
});
const target = 'https://example.com/';
const logoData = `data:image/svg+xml;base64,${Buffer.from(roundLogo).toString('base64')}`;

const document = (await client.get('/v1/openapi.json')).json;
const operations = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => describeOne(path, method, operation)),
);

function describeOne(path: string, method: string, operation: Json) {
  const id = word(operation.operationId);
  return { id, method: method.toUpperCase(), path, access: accessIn(word(operation.description)) };
}

/** What the last sentence of a description says. */
function accessIn(description: string): Access {
  if (description.endsWith(' Needs no key.')) return 'none';
  if (description.endsWith(' For signed-in users, not for API keys.')) return 'person';
  const least = / Least role: (\w+)\.$/.exec(description)?.[1];
  const role = roles.find((one) => one === least);
  if (role === undefined) throw new Error(`Cannot find the permission in: ${description}`);
  return role;
}

/** Bodies that pass the schema, so that what refuses is the guard or the id. */
const bodies: Readonly<Record<string, unknown>> = {
  createQrCode: { target },
  createQrCodes: [{ target }],
  createLogo: { data: logoData },
  updateQrCode: { name: 'n' },
  replaceQrCode: { target },
  createApiKey: { name: 'k', role: 'viewer' },
  rotateApiKey: {},
  updateMember: { role: 'viewer' },
  updateWorkspace: { name: 'n' },
  previewPage: { reason: 'expired', language: 'en' },
  openCheckout: { plan: 'pro', interval: 'month' },
  changeSubscription: { plan: 'pro' },
  createCampaign: { name: 'n', startDate: '2026-03-01', qrCodeIds: [] },
  updateCampaign: { name: 'n' },
  updateDigest: { frequency: 'off' },
  createReport: { qrCodeId: 'qr_00000000000000000000' },
  createWatch: { target: true },
  updateWatch: { target: true },
  createConversion: { qrCodeId: 'qr_00000000000000000000' },
  createWebhook: { url: 'http://127.0.0.1:1/', events: ['member.joined'] },
  updateWebhook: { description: 'n' },
  testWebhook: { event: 'qr.created' },
  replayDeadLetters: { from: '2026-01-01', to: '2026-01-02' },
};
let invited = 0;
const bodyOf = (id: string): unknown => {
  if (id !== 'createInvite') return bodies[id];
  return { email: `walk${(invited += 1)}@example.com`, role: 'viewer' };
};

const queries: Readonly<Record<string, string>> = {
  getBreakdown: '?by=os',
  exportBreakdown: '?by=os',
  getCampaignBreakdown: '?by=os',
  exportCampaignBreakdown: '?by=os',
  getWorkspaceBreakdown: '?by=os',
  exportWorkspaceBreakdown: '?by=os',
  streamEvents: '?once=true',
};
const queryOf = (id: string): string => queries[id] ?? '';

let deliveryId: string | undefined;
async function madeDelivery(
  made: (address: string, body: unknown) => Promise<string>,
): Promise<string> {
  const endpoint = await made('/v1/webhooks', bodies.createWebhook);
  const sample = { body: bodies.testWebhook };
  const { json } = await client.call('POST', `/v1/webhooks/${endpoint}/test`, sample);
  return word(json.deliveryId);
}

const reusable = new Map<string, string>();

/** An id of the first workspace; one of its own where the operation may use it up. */
async function idFor(operation: Operation, isUsedUp = operation.method !== 'GET'): Promise<string> {
  const [kind = ''] = operation.path.split('/{');
  const id = (isUsedUp ? undefined : reusable.get(kind)) ?? (await makeOne(operation));
  if (!isUsedUp) reusable.set(kind, id);
  return id;
}

async function makeOne({ path }: Operation): Promise<string> {
  const made = async (address: string, body: unknown): Promise<string> =>
    word((await client.post(address, body)).json.id);
  if (path.startsWith('/qr-codes')) return await made('/v1/qr-codes', { target });
  if (path.startsWith('/logos')) return await made('/v1/logos', bodies.createLogo);
  if (path.startsWith('/campaigns')) return await made('/v1/campaigns', bodies.createCampaign);
  if (path.startsWith('/reports')) {
    return await made('/v1/reports', { qrCodeId: await made('/v1/qr-codes', { target }) });
  }
  if (path.startsWith('/watches')) return await made('/v1/watches', bodies.createWatch);
  if (path.startsWith('/api-keys'))
    return await made('/v1/api-keys', { name: 'x', role: 'viewer' });
  if (path.startsWith('/team/invites')) {
    return await made('/v1/team/invites', bodyOf('createInvite'));
  }
  if (path.startsWith('/team/members')) {
    const user = { email: `m${(invited += 1)}@example.com`, name: 'M' };
    return (await service.workspaces.users.create(1, 'viewer', user)).id;
  }
  if (path.startsWith('/webhooks/de')) return (deliveryId ??= await madeDelivery(made));
  if (path.startsWith('/webhooks')) return await made('/v1/webhooks', bodies.createWebhook);
  if (path.startsWith('/workspaces')) return service.workspaces.workspaces.find(1)?.id ?? '';
  return 'chk_00000000000000000000';
}

async function send(operation: Operation, id: string, options: { key: string }): Promise<Answer> {
  const path = `/v1${operation.path.replace(/\{\w+\}/, id)}${queryOf(operation.id)}`;
  return await client.call(operation.method, path, { ...options, body: bodyOf(operation.id) });
}

const mayEnter = (role: Role, access: Access): boolean => {
  if (access === 'none') return true;
  return access !== 'person' && roleAtLeast(role, access);
};

test('permissions are those of the golden page', async () => {
  const line = ({ id, method, path, access }: Operation): string =>
    `${access.padEnd(7)} ${method.padEnd(6)} ${path.padEnd(54)} ${id}\n`;
  await expect(operations.map(line).join('')).toMatchFileSnapshot('access/permissions.txt');
});

test.each(roles)('%s may do exactly what the document says', async (role) => {
  const key = await service.keyOf(role);
  for (const operation of operations) {
    const { id, access } = operation;
    if (access === 'none') continue;
    const one = operation.path.includes('{') ? await idFor(operation) : '';
    const answer = await send(operation, one, { key });
    const isForbidden = answer.status === 403;
    expect(`${id} ${isForbidden ? 'refused' : 'let in'}`).toBe(
      `${id} ${mayEnter(role, access) ? 'let in' : 'refused'}`,
    );
    expect(answer.status).toBeLessThan(500);
  }
});

test('another workspace’s ids are as unknown ones, and change nothing', async () => {
  const key = await makeStranger(service);
  for (const operation of operations.filter(({ path }) => path.includes('{'))) {
    if (operation.access === 'person') continue;
    const id = await idFor(operation, false);
    const unknown = id.replace(/(?<=[_:]).*/, (rest) => '0'.repeat(rest.length));
    const other = await send(operation, id, { key });
    const missing = await send(operation, unknown, { key });
    const strip = ({ status, json }: Answer): unknown => [status, { ...json, requestId: '' }];
    expect([operation.id, other.status]).toEqual([operation.id, 404]);
    expect(strip(other)).toEqual(strip(missing));
  }
  expect((await client.get('/v1/qr-codes', { key })).items).toEqual([]);
});
