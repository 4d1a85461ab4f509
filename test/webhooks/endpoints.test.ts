/** Endpoints on a real store: who listens, what signs, and what a restart knows. */
import { getRandomValues } from 'node:crypto';
import { expect, test } from 'vitest';
import { createIdSource } from '../../src/model/ids.ts';
import type { EndpointRecord } from '../../src/model/webhook.ts';
import { Outbox } from '../../src/outbox/outbox.ts';
import {
  Endpoints,
  endpointsMax,
  type NewEndpoint,
} from '../../src/webhooks/endpoints/endpoints.ts';
import { HandClock, temporaryManagement } from '../store/temporary-management.ts';

const owner = { workspaceNo: 1, userId: 'usr_00000000000000000001' };
const other = { workspaceNo: 2, userId: 'usr_00000000000000000002' };
const wanted: NewEndpoint = {
  url: 'https://example.com/hook',
  events: ['qr.created'],
  maxBatch: 100,
};
const hourMs = 3_600_000;

function openBook() {
  const temporary = temporaryManagement();
  const clock = new HandClock();
  const ids = createIdSource(clock, getRandomValues);
  const state = { lastBlock: 7, opened: 0, prefix: 'sealed.' };
  const open = (): Endpoints =>
    new Endpoints({
      store: temporary.store,
      ids,
      clock,
      randomBytes: getRandomValues,
      seal: {
        close: (text) => `${state.prefix}${Buffer.from(text).toString('hex')}`,
        open: (sealed) => {
          state.opened += 1;
          if (!sealed.startsWith(state.prefix)) return undefined;
          return Buffer.from(sealed.slice(state.prefix.length), 'hex').toString();
        },
      },
      urlFault: (url) =>
        url.includes('bad') ? { path: 'url', code: 'blocked_ip', message: 'No' } : undefined,
      lastBlock: () => state.lastBlock,
    });
  const outbox = new Outbox(temporary.store, ids, clock);
  return { temporary, clock, state, outbox, open, book: open() };
}

const codeOf = (code: string) => expect.objectContaining({ code });

test('an endpoint hears what it subscribes to, in its workspace, while enabled', async () => {
  const { book } = openBook();
  const one = (await book.create(owner, wanted)).endpoint;
  const all = (await book.create(owner, { ...wanted, events: ['*'] })).endpoint;
  const heard = (workspaceNo: number, kind: EndpointRecord['events'][number]): number[] =>
    kind === '*' ? [] : book.forEvent(workspaceNo, kind).map(({ no }) => no);
  expect([one.no, all.no]).toEqual([1, 2]);
  expect(heard(1, 'qr.created')).toEqual([1, 2]);
  expect(heard(1, 'qr.scanned')).toEqual([2]);
  expect(heard(2, 'qr.created')).toEqual([]);
  expect([book.isAnyFor('qr.scanned'), book.isAnyFor('member.joined')]).toEqual([true, true]);
  await book.change(1, all.id, { enabled: false });
  expect([heard(1, 'qr.created'), book.isAnyFor('qr.scanned')]).toEqual([[1], false]);
  await book.change(1, one.id, { events: ['qr.scanned', 'qr.deleted'] });
  expect([heard(1, 'qr.created'), heard(1, 'qr.scanned')]).toEqual([[], [1]]);
  await book.remove(1, one.id);
  expect([book.isAnyFor('qr.scanned'), book.byNo(1)]).toEqual([false, undefined]);
});

test('starts after the events of its creation, and of each new enabling', async () => {
  const { book, outbox, temporary, state } = openBook();
  const happen = async (): Promise<void> => {
    await temporary.store.environment.transaction(() => outbox.append('member.joined', 1, {}));
  };
  await happen();
  const { endpoint } = await book.create(owner, wanted);
  expect(endpoint).toMatchObject({ firstEvent: 1, firstBlock: 7 });
  await happen();
  state.lastBlock = 9;
  expect(await book.change(1, endpoint.id, { enabled: true })).toMatchObject({ firstEvent: 1 });
  const off = await book.change(1, endpoint.id, { enabled: false });
  expect(off).toMatchObject({ status: 'disabled', disabledReason: 'by_hand', firstEvent: 1 });
  const on = await book.change(1, endpoint.id, { enabled: true });
  expect(on).toMatchObject({ status: 'enabled', firstEvent: 2, firstBlock: 9 });
  expect(on).not.toHaveProperty('disabledReason');
  expect(on).not.toHaveProperty('disabledAtMs');
});

test('secrets: sealed at rest, all valid ones sign, newest first, at most three', async () => {
  const { book, clock, temporary, state } = openBook();
  const first = await book.create(owner, wanted);
  const { id, no } = first.endpoint;
  expect(first.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(JSON.stringify(temporary.store.webhooks.endpoints.get(no))).not.toContain(first.secret);
  const second = await book.rotateSecret(1, id, hourMs);
  clock.move(hourMs / 2);
  const third = await book.rotateSecret(1, id, 4 * hourMs);
  expect(book.secretsOf(no)).toEqual([third.secret, second.secret, first.secret]);
  expect(book.overlapEndMs(third.endpoint)).toBe(clock.now() + 4 * hourMs);
  await expect(book.rotateSecret(1, id, hourMs)).rejects.toEqual(codeOf('conflict'));
  clock.move(hourMs / 2 - 1);
  expect(book.secretsOf(no)).toContain(first.secret);
  clock.move(1);
  expect(book.secretsOf(no)).toEqual([third.secret, second.secret]);
  const fourth = await book.rotateSecret(1, id, 0);
  expect(book.secretsOf(no)).toEqual([fourth.secret]);
  expect(book.overlapEndMs(fourth.endpoint)).toBeUndefined();
  const before = state.opened;
  book.secretsOf(no);
  expect(state.opened).toBe(before);
});

test('two rotations at once leave three secrets, and the newest of the record signs first', async () => {
  const { book } = openBook();
  const { endpoint, secret } = await book.create(owner, wanted);
  const two = await Promise.all([1, 2].map(() => book.rotateSecret(1, endpoint.id, hourMs)));
  const valid = book.secretsOf(endpoint.no);
  expect(new Set(valid)).toEqual(new Set([secret, ...two.map((made) => made.secret)]));
  expect(valid.at(-1)).toBe(secret);
});

test('a restart knows endpoints and their secrets, and gives no number twice', async () => {
  const { book, temporary, open } = openBook();
  const kept = await book.create(owner, { ...wanted, description: 'Till' });
  const gone = await book.create(owner, wanted);
  await book.remove(1, gone.endpoint.id);
  await temporary.reopen();
  const again = open();
  expect(again.list(1)).toEqual([kept.endpoint]);
  expect(again.secretsOf(kept.endpoint.no)).toEqual([kept.secret]);
  expect(again.forEvent(1, 'qr.created')).toHaveLength(1);
  expect((await again.create(owner, wanted)).endpoint.no).toBe(gone.endpoint.no + 1);
});

test('without the key that sealed its secrets an endpoint is off until it has a new one', async () => {
  const { book, temporary, open, state } = openBook();
  const { endpoint } = await book.create(owner, wanted);
  await temporary.reopen();
  state.prefix = 'another.';
  const again = open();
  const { id, no } = endpoint;
  expect(again.get(1, id)).toMatchObject({ status: 'disabled', disabledReason: 'failing' });
  expect([again.secretsOf(no), again.isAnyFor('qr.created')]).toEqual([[], false]);
  expect(await again.change(1, id, { enabled: true })).toMatchObject({ status: 'disabled' });
  const { secret } = await again.rotateSecret(1, id, hourMs);
  expect([again.secretsOf(no), again.isAnyFor('qr.created')]).toEqual([[secret], true]);
});

test('a workspace has a bounded number of them, counted where it is stored', async () => {
  const { book } = openBook();
  const asked = Array.from({ length: endpointsMax + 5 }, async () => {
    return await book.create(owner, wanted);
  });
  const settled = await Promise.allSettled(asked);
  expect(settled.filter(({ status }) => status === 'rejected')).toHaveLength(5);
  await expect(book.create(owner, wanted)).rejects.toEqual(codeOf('conflict'));
  await book.create(other, wanted);
  const [newest] = book.list(1);
  await book.remove(1, newest?.id ?? '');
  await book.create(owner, wanted);
  expect(book.list(1)).toHaveLength(endpointsMax);
});

test('another workspace’s id is unknown, and a refused address changes nothing', async () => {
  const { book } = openBook();
  const { endpoint } = await book.create(owner, wanted);
  const { id } = endpoint;
  const unknown = codeOf('not_found');
  expect(() => book.get(2, id)).toThrow(unknown);
  await expect(book.change(2, id, { enabled: false })).rejects.toEqual(unknown);
  await expect(book.remove(2, id)).rejects.toEqual(unknown);
  await expect(book.rotateSecret(2, id, 0)).rejects.toEqual(unknown);
  await expect(book.change(1, id, { url: 'http://bad/' })).rejects.toEqual(
    codeOf('validation_failed'),
  );
  await expect(book.create(owner, { ...wanted, url: 'http://bad/' })).rejects.toEqual(
    codeOf('validation_failed'),
  );
  expect(book.list(1)).toEqual([endpoint]);
});

test('the dispatcher disables what is gone; listeners hear of every change', async () => {
  const { book } = openBook();
  const heard: Array<readonly [number, string | undefined]> = [];
  book.onChange((no, record) => heard.push([no, record?.disabledReason ?? record?.status]));
  const { endpoint } = await book.create(owner, wanted);
  await book.disable(endpoint.no, 'gone');
  await book.disable(endpoint.no, 'failing');
  expect(book.byNo(endpoint.no)).toMatchObject({ disabledReason: 'gone' });
  expect(await book.change(1, endpoint.id, { enabled: false, description: 'x' })).toMatchObject({
    disabledReason: 'gone',
    description: 'x',
  });
  await book.change(1, endpoint.id, { enabled: true, description: null });
  expect(book.byNo(endpoint.no)).not.toHaveProperty('description');
  const removing = book.remove(1, endpoint.id);
  await Promise.all([removing, book.disable(endpoint.no, 'failing')]);
  expect(heard).toEqual([
    [1, 'enabled'],
    [1, 'gone'],
    [1, 'gone'],
    [1, 'enabled'],
    [1, undefined],
  ]);
});

test('an id comes back with the effect that the caller keeps beside it', async () => {
  const { book, temporary } = openBook();
  const kept: string[] = [];
  const made = await book.create(owner, wanted, ({ endpoint }) => {
    kept.push(endpoint.id);
    temporary.store.meta.put('kept', 1);
  });
  const turned = await book.rotateSecret(1, made.endpoint.id, 0, ({ secret }) => {
    kept.push(secret);
  });
  expect(kept).toEqual([made.endpoint.id, turned.secret]);
  expect(temporary.store.meta.get('kept')).toBe(1);
});
