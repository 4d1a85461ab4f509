/** Endpoints on a real store: who listens, what signs, and what a restart knows; signatures against vectors and verifiers. */
import { getRandomValues } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Webhook } from 'standardwebhooks';
import StripeClient from 'stripe';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { EventKind } from '../../src/model/event.ts';
import { createIdSource } from '../../src/model/ids.ts';
import type { EndpointRecord } from '../../src/model/webhook.ts';
import { Outbox } from '../../src/webhooks/outbox.ts';
import { Endpoints, type NewEndpoint } from '../../src/webhooks/endpoints/endpoints.ts';
import { isFor } from '../../src/webhooks/endpoints/endpoint-index.ts';
import { signHeaders } from '../../src/webhooks/attempt/signature.ts';
import { temporaryManagement } from '../store/temporary-management.ts';
import { TestClock } from '../support/fakes/test-clock.ts';

const owner = { workspaceNo: 1, userId: 'usr_00000000000000000001' };
const wanted: NewEndpoint = { url: 'https://a.example/', events: ['qr.created'], maxBatch: 100 };
const hourMs = 3_600_000;

function openEndpoints() {
  const temporary = temporaryManagement();
  const clock = new TestClock();
  const ids = createIdSource(clock, getRandomValues);
  const state = { lastBlock: 7, prefix: 'encrypted.' };
  const changes: Array<readonly [number, string | undefined]> = [];
  const open = (): Endpoints =>
    new Endpoints({
      management: temporary.store,
      ids,
      clock,
      randomBytes: getRandomValues,
      cipher: {
        encrypt: (text) => `${state.prefix}${Buffer.from(text).toString('hex')}`,
        decrypt: (encrypted) => {
          if (!encrypted.startsWith(state.prefix)) return undefined;
          return Buffer.from(encrypted.slice(state.prefix.length), 'hex').toString();
        },
      },
      urlFault: () => undefined,
      lastBlock: () => state.lastBlock,
      onChange: (no, record) => changes.push([no, record?.disabledReason ?? record?.status]),
    });
  const outbox = new Outbox(temporary.store, ids, clock);
  const happen = async (): Promise<void> => {
    await temporary.store.environment.transaction(() => outbox.append('member.joined', 1, {}));
  };
  return { temporary, clock, state, changes, happen, open, store: open() };
}

test('an endpoint listens to what it subscribes to, in its workspace, while enabled', async () => {
  const { store } = openEndpoints();
  const one = (await store.create(owner, wanted)).endpoint;
  const all = (await store.create(owner, { ...wanted, events: ['*'] })).endpoint;
  const listening = (workspaceNo: number, kind: EventKind): number[] =>
    store.forEvent(workspaceNo, kind).map(({ no }) => no);
  expect([one.no, all.no]).toEqual([1, 2]);
  expect(listening(1, 'qr.created')).toEqual([1, 2]);
  expect(listening(1, 'qr.scanned')).toEqual([2]);
  expect(listening(2, 'qr.created')).toEqual([]);
  expect([store.isAnyFor('qr.scanned'), store.isAnyFor('member.joined')]).toEqual([true, true]);
  await store.change(1, all.id, { status: 'disabled' });
  // What came before that is for it still, and nothing that comes after it.
  expect([listening(1, 'qr.created'), store.isAnyFor('qr.scanned')]).toEqual([[1, 2], true]);
  expect(isFor(store.byNo(2)!, 'qr.created', 1)).toBe(false);
  expect(isFor(store.byNo(1)!, 'qr.created', 1)).toBe(true);
  await store.delete(1, all.id);
  expect([listening(1, 'qr.created'), store.isAnyFor('qr.scanned')]).toEqual([[1], false]);
  await store.change(1, one.id, { events: ['qr.scanned', 'qr.deleted'] });
  expect([listening(1, 'qr.created'), listening(1, 'qr.scanned')]).toEqual([[], [1]]);
  await store.delete(1, one.id);
  expect([store.isAnyFor('qr.scanned'), store.byNo(1)]).toEqual([false, undefined]);
});

test('starts after the events of its creation, and leaves out those while it is disabled', async () => {
  const { store, happen, state } = openEndpoints();
  await happen();
  const { endpoint } = await store.create(owner, wanted);
  expect(endpoint).toMatchObject({ firstEvent: 1, firstBlock: 7 });
  await happen();
  state.lastBlock = 9;
  const from = { event: 2, block: 9 };
  expect(await store.change(1, endpoint.id, { status: 'enabled' })).not.toHaveProperty('pauses');
  const off = await store.change(1, endpoint.id, { status: 'disabled' });
  expect(off).toMatchObject({ status: 'disabled', disabledReason: 'by_hand', pauses: [{ from }] });
  await happen();
  state.lastBlock = 12;
  const again = await store.change(1, endpoint.id, { status: 'disabled' });
  expect(again.pauses).toEqual([{ from }]);
  const on = await store.change(1, endpoint.id, { status: 'enabled' });
  const to = { event: 3, block: 12 };
  expect(on).toMatchObject({ status: 'enabled', firstEvent: 1, firstBlock: 7 });
  expect(on.pauses).toEqual([{ from, to }]);
  expect(on).not.toHaveProperty('disabledReason');
  expect(on).not.toHaveProperty('disabledAtMs');
  const all: EndpointRecord = { ...on, events: ['*'] };
  expect([1, 2, 3, 4].filter((event) => isFor(on, 'qr.created', event))).toEqual([2, 4]);
  const blocks = [7, 8, 9, 10, 12, 13].filter((block) => isFor(all, 'qr.scanned', block));
  expect(blocks).toEqual([8, 9, 13]);
});

test('of kinds that it subscribes to later it gets what comes from then on', async () => {
  const { store, happen, state } = openEndpoints();
  const { endpoint } = await store.create(owner, wanted);
  const { id } = endpoint;
  const change = (events: EndpointRecord['events']) => store.change(1, id, { events });
  await happen();
  state.lastBlock = 9;
  const more = await change(['qr.created', 'qr.scanned', 'qr.deleted']);
  const then = { event: 1, block: 9 };
  expect(more.since).toEqual({ 'qr.scanned': then, 'qr.deleted': then });
  expect([1, 2].filter((event) => isFor(more, 'qr.created', event))).toEqual([1, 2]);
  expect([1, 2].filter((event) => isFor(more, 'qr.deleted', event))).toEqual([2]);
  expect([8, 9, 10].filter((block) => isFor(more, 'qr.scanned', block))).toEqual([10]);
  await happen();
  // What stays keeps its beginning, also where all is asked for; what was left begins again.
  expect((await store.change(1, id, { description: 'x' })).since).toEqual(more.since);
  const fewer = await change(['qr.created', 'qr.deleted']);
  expect(fewer.since).toEqual({ 'qr.deleted': then });
  expect(isFor(fewer, 'qr.scanned', 10)).toBe(false);
  const all = await change(['*']);
  expect(all.since).toMatchObject({
    'qr.deleted': then,
    'qr.scanned': { event: 2, block: 9 },
    'member.joined': { event: 2, block: 9 },
  });
  expect(all.since).not.toHaveProperty('qr.created');
  expect((await change(['qr.created'])).since).toEqual({});
});

test('secrets: encrypted at rest, valid to the millisecond, newest first', async () => {
  const { store, clock, temporary } = openEndpoints();
  const first = await store.create(owner, wanted);
  const { id, no } = first.endpoint;
  expect(first.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(JSON.stringify(temporary.store.webhooks.endpoints.get(no))).not.toContain(first.secret);
  const second = await store.rotateSecret(1, id, hourMs);
  clock.move(hourMs / 2);
  const third = await store.rotateSecret(1, id, 4 * hourMs);
  expect(store.secretsOf(no)).toEqual([third.secret, second.secret, first.secret]);
  clock.move(hourMs / 2 - 1);
  expect(store.secretsOf(no)).toContain(first.secret);
  clock.move(1);
  expect(store.secretsOf(no)).toEqual([third.secret, second.secret]);
});

test('two rotations at once leave three secrets, and the newest of the record signs first', async () => {
  const { store } = openEndpoints();
  const { endpoint, secret } = await store.create(owner, wanted);
  const two = await Promise.all([1, 2].map(() => store.rotateSecret(1, endpoint.id, hourMs)));
  const valid = store.secretsOf(endpoint.no);
  expect(new Set(valid)).toEqual(new Set([secret, ...two.map((created) => created.secret)]));
  expect(valid.at(-1)).toBe(secret);
});

test('a restart knows endpoints and their secrets, and gives no number twice', async () => {
  const { store, temporary, open } = openEndpoints();
  const kept = await store.create(owner, { ...wanted, description: 'Till' });
  const gone = await store.create(owner, wanted);
  await store.delete(1, gone.endpoint.id);
  await temporary.reopen();
  const again = open();
  expect(again.list(1)).toEqual([kept.endpoint]);
  expect(again.secretsOf(kept.endpoint.no)).toEqual([kept.secret]);
  expect(again.forEvent(1, 'qr.created')).toHaveLength(1);
  expect((await again.create(owner, wanted)).endpoint.no).toBe(gone.endpoint.no + 1);
});

test('without the key that encrypted its secrets an endpoint is disabled until it has a new one', async () => {
  const { store, temporary, open, state } = openEndpoints();
  const { endpoint } = await store.create(owner, wanted);
  await temporary.reopen();
  state.prefix = 'another.';
  const again = open();
  const { id, no } = endpoint;
  expect(again.get(1, id)).toMatchObject({ status: 'disabled', disabledReason: 'secret_lost' });
  expect([again.secretsOf(no), again.isAnyFor('qr.created')]).toEqual([[], false]);
  expect(await again.change(1, id, { status: 'enabled' })).toMatchObject({ status: 'disabled' });
  const { secret } = await again.rotateSecret(1, id, hourMs);
  expect([again.secretsOf(no), again.isAnyFor('qr.created')]).toEqual([[secret], true]);
});

test('an endpoint that is gone is disabled; every change is reported', async () => {
  const { store, changes } = openEndpoints();
  const { endpoint } = await store.create(owner, wanted);
  await store.disable(endpoint.no, 'gone');
  await store.disable(endpoint.no, 'failing');
  expect(store.byNo(endpoint.no)).toMatchObject({ disabledReason: 'gone' });
  const again = await store.change(1, endpoint.id, { status: 'disabled', description: 'x' });
  expect(again).toMatchObject({ disabledReason: 'gone', description: 'x' });
  await store.change(1, endpoint.id, { status: 'enabled', description: null });
  expect(store.byNo(endpoint.no)).not.toHaveProperty('description');
  const removing = store.delete(1, endpoint.id);
  await Promise.all([removing, store.disable(endpoint.no, 'failing')]);
  expect(changes).toEqual([
    [1, 'enabled'],
    [1, 'gone'],
    [1, 'gone'],
    [1, 'enabled'],
    [1, undefined],
  ]);
});

test('another maxBatch counts for what comes later, and the last changes are remembered', async () => {
  const { store, state } = openEndpoints();
  const { id } = (await store.create(owner, wanted)).endpoint;
  await store.change(1, id, { maxBatch: 100, description: 'the same' });
  expect(store.byNo(1)?.batches).toBeUndefined();
  for (let maxBatch = 1; maxBatch <= 10; maxBatch++) {
    state.lastBlock += 1;
    await store.change(1, id, { maxBatch });
  }
  const remembered = Array.from({ length: 8 }, (_, at) => ({ upTo: 10 + at, maxBatch: at + 2 }));
  expect(store.byNo(1)).toMatchObject({ maxBatch: 10, batches: remembered });
});

interface SignatureVector {
  readonly name: string;
  readonly secrets: readonly string[];
  readonly id: string;
  readonly timestamp: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

const vectorsFile = '../fixtures/signature-vectors.json';
const { vectors } = JSON.parse(readFileSync(new URL(vectorsFile, import.meta.url), 'utf8')) as {
  vectors: readonly SignatureVector[];
};
const stripe = new StripeClient('sk_test_unused');
const sign = ({ secrets, id, timestamp, body }: Omit<SignatureVector, 'headers'>) =>
  signHeaders({ body: Buffer.from(body), id, timestampSeconds: timestamp, secrets });

test.each(vectors)('a signature of $name is that of the vector', ({ headers, ...input }) => {
  expect(sign(input)).toEqual(headers);
});

test.each(vectors)(
  'a signature of $name is good for both public verifiers, with each of its secrets',
  (vector) => {
    const { body, secrets, timestamp } = vector;
    onTestFinished(() => void vi.useRealTimers());
    vi.useFakeTimers({ toFake: ['Date'], now: timestamp * 1_000 + 999 });
    const signed = sign(vector);
    for (const secret of secrets) {
      new Webhook(secret).verify(body, { ...signed }, { jsonParse: false });
      const header = signed['X-Service-Signature'];
      // Stripe's takes the time 0 for a header without one.
      if (timestamp === 0) continue;
      expect(stripe.webhooks.signature?.verifyHeader(body, header, secret, 300)).toBe(true);
    }
  },
);

test.each(['', 'whsec_', 'secret', 'whsec'])('the secret %j signs nothing', (secret) => {
  const input = { body: Buffer.from('{}'), id: 'evt_1', timestampSeconds: 1 };
  expect(() => signHeaders({ ...input, secrets: [secret] })).toThrow(/Cannot sign/);
});
