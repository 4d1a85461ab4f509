import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import type { CodeFilter } from '../../../src/product/codes/search/listing.ts';
import type { CodeStatus, QrCodeRecord } from '../../../src/model/code.ts';
import type { Failure } from '../../../src/model/failure.ts';
import { dayOf } from '../../../src/model/day.ts';
import { actor, openCodes, putCampaign, stranger, type CodesFixture } from './codes-fixture.ts';
import { runs } from '../../seconds/runs.ts';

const day = 86_400_000;
const campaigns = ['cmp_00000000000000000001', 'cmp_00000000000000000002'];
const drafts = [
  { target: 'https://example.com/spring', name: 'Spring poster', tags: ['a'], scanLimit: 3 },
  { target: 'https://example.com/static', dynamic: false, tags: ['b'] },
  { type: 'text' as const, target: 'Hello World', name: 'Café in der Straße', tags: ['a', 'b'] },
  { target: 'https://example.org/', slug: 'Own-Slug', campaignIds: [campaigns[0]!] },
  {
    target: 'https://example.net/x',
    externalId: 'EXT-7',
    campaignIds: [campaigns[1]!],
    tags: ['a'],
  },
];
const searches = [
  'SPRING',
  'own-slug-2',
  'ext-7',
  'nothing',
  '',
  'poster spring',
  'example ring POST',
  'cafe',
].concat([
  'CAFÉ strasse',
  'hello\u00a0café',
  'posterspring',
  'spring  nothing',
  ' spring ',
  'STRASSE der',
]);
/** Campaigns of the codes, by their ids. */
const campaignsOf = new Map<string, readonly string[]>();
const statuses = ['active', 'expired', 'used_up'] as const;

/** 50 codes over ten days, some changed, some deleted, and another workspace's among them. */
async function filled(): Promise<{ fixture: CodesFixture; model: QrCodeRecord[] }> {
  const fixture = await openCodes();
  const model: QrCodeRecord[] = [];
  for (const [at, id] of campaigns.entries()) await putCampaign(fixture, id, at + 1);
  for (let made = 0; made < 50; made++) {
    const { slug, externalId, ...draft } = drafts[made % drafts.length]!;
    const own = {
      ...(slug === undefined ? {} : { slug: `${slug}-${made}` }),
      ...(externalId === undefined ? {} : { externalId: `${externalId}-${made}` }),
    };
    // Of the dynamic ones some expire on a later day, some have been scanned as often as they may be, some both.
    const ends = made % 5 === 4 || made % 5 === 0 ? { expiresAtMs: fixture.clock.now() + day } : {};
    const bounds =
      made % 4 === 0 && draft.dynamic !== false && draft.type === undefined ? ends : {};
    const code = await fixture.codes.create(actor, { ...draft, ...own, ...bounds });
    fixture.scans.set(code.no, made % 6);
    model.push(code);
    campaignsOf.set(code.id, draft.campaignIds ?? []);
    if (made % 7 === 0) await fixture.codes.create(stranger, { ...draft, campaignIds: undefined });
    if (made % 5 === 4) fixture.clock.move(day);
  }
  for (const at of [3, 17, 29]) await fixture.codes.delete(actor, model[at]!.id);
  for (const at of [5, 20]) {
    const tags = ['b', 'c'];
    const campaignIds = [campaigns[1]!];
    model[at] = await fixture.codes.change(actor, model[at]!.id, { tags, campaignIds });
    campaignsOf.set(model[at].id, campaignIds);
  }
  return { fixture, model: model.filter((_, at) => ![3, 17, 29].includes(at)) };
}

function expected(
  model: readonly QrCodeRecord[],
  filter: CodeFilter,
  fixture?: CodesFixture,
): QrCodeRecord[] {
  const { status, type, dynamic, tag, campaignId, fromDay, toDay, search, sort } = filter;
  const words = (search ?? '').toLowerCase().split(/\s/).map(plain);
  const is = (wanted: unknown, found: unknown): boolean => wanted === undefined || wanted === found;
  const has = (wanted: string | undefined, all: readonly string[] = []): boolean =>
    wanted === undefined || all.includes(wanted);
  return model
    .filter((code) => {
      const { name = '', target, shortCode = '', externalId = '', id, createdAtMs } = code;
      const texts = [name, target, shortCode, externalId, id].map((text) =>
        plain(text.toLowerCase()),
      );
      return (
        is(type, code.type) &&
        is(dynamic, code.dynamic) &&
        (status === undefined || statusOf(fixture, code) === status) &&
        has(tag?.toLowerCase().replace('á', 'a'), code.tags) &&
        has(campaignId, campaignsOf.get(id)) &&
        dayOf(createdAtMs) >= (fromDay ?? 0) &&
        dayOf(createdAtMs) <= (toDay ?? Infinity) &&
        words.every((word) => texts.some((text) => text.includes(word)))
      );
    })
    .sort((one, other) => {
      const newestFirst = other.createdAtMs - one.createdAtMs || other.no - one.no;
      return sort === 'createdAt' ? -newestFirst : newestFirst;
    });
}

/** The only letters of these tests that are more than ASCII. */
const plain = (text: string): string => text.replaceAll('é', 'e').replaceAll('ß', 'ss');

function statusOf(fixture: CodesFixture | undefined, code: QrCodeRecord): CodeStatus {
  const { expiresAtMs = Infinity, scanLimit = Infinity, no } = code;
  if (fixture === undefined) throw new Error('A status needs the clock and the scans');
  if (expiresAtMs <= fixture.clock.now()) return 'expired';
  return (fixture.scans.get(no) ?? 0) >= scanLimit ? 'used_up' : 'active';
}

const ids = (codes: readonly QrCodeRecord[]): string[] => codes.map(({ id }) => id);

/** For tests that only read. */
const shared = await filled();
afterAll(() => shared.fixture.app.close());

test('any filter, by page and by cursor, equals a plain filter over all codes', async () => {
  const { fixture, model } = shared;
  const firstDay = dayOf(model[0]!.createdAtMs);
  const dayInRange = fc.option(fc.integer({ min: firstDay - 1, max: firstDay + 11 }), {
    nil: undefined,
  });
  const filters = fc.record({
    type: fc.constantFrom(undefined, undefined, 'url' as const, 'text' as const, 'wifi' as const),
    dynamic: fc.constantFrom(undefined, undefined, true, false),
    tag: fc.constantFrom(undefined, undefined, 'a', 'B', 'c', 'Á', 'none'),
    campaignId: fc.constantFrom(undefined, undefined, ...campaigns),
    fromDay: dayInRange,
    toDay: dayInRange,
    status: fc.constantFrom(undefined, undefined, ...statuses),
    search: fc.constantFrom(undefined, undefined, ...searches),
    sort: fc.constantFrom(undefined, '-createdAt' as const, 'createdAt' as const),
  });
  await fc.assert(
    fc.asyncProperty(filters, fc.integer({ min: 1, max: 60 }), async (filter, limit) => {
      const all = expected(model, filter, fixture);
      const walked: QrCodeRecord[] = [];
      let cursor: string | undefined;
      for (let page = 1; page <= Math.ceil(all.length / limit) + 1; page++) {
        const paged = await fixture.codes.list(1, { filter, limit, page });
        expect(paged.total).toBe(all.length);
        expect(ids(paged.data)).toEqual(ids(all.slice((page - 1) * limit, page * limit)));
        if (page > 1 && cursor === undefined) continue;
        const next = await fixture.codes.list(1, {
          filter,
          limit,
          ...(cursor ? { cursor } : {}),
        });
        expect(next.total).toBe(all.length);
        walked.push(...next.data);
        cursor = next.nextCursor;
      }
      expect(ids(walked)).toEqual(ids(all));
      expect(cursor).toBeUndefined();
    }),
    { numRuns: runs(80) },
  );
});

test('an id is found as an id, not by letters that happen to be in it', async () => {
  const { fixture, model } = shared;
  const { id } = expected(model, {})[0]!;
  const total = async (search: string): Promise<number> =>
    (await fixture.codes.list(1, { filter: { search }, limit: 1 })).total;
  expect(await total(id)).toBe(1);
  expect(await total(id.slice(0, -1))).toBeGreaterThanOrEqual(1);
  expect(await total(id.slice(-8))).toBe(0);
});

test('remembered totals end with the next change', async () => {
  const { fixture, model } = await filled();
  const total = async (): Promise<number> =>
    (await fixture.codes.list(1, { filter: { search: 'spring' }, limit: 1 })).total;
  const spring = expected(model, { search: 'spring' });
  expect(await total()).toBe(spring.length);
  expect(await total()).toBe(spring.length);
  await fixture.codes.delete(actor, spring[0]!.id);
  expect(await total()).toBe(spring.length - 1);
});

test('a status follows the clock and the scans: no total is remembered beyond them', async () => {
  const { fixture, model } = await filled();
  const check = async (): Promise<void> => {
    for (const status of statuses) {
      const { data, total } = await fixture.codes.list(1, { filter: { status }, limit: 100 });
      expect(ids(data)).toEqual(ids(expected(model, { status }, fixture)));
      expect(total).toBe(data.length);
    }
  };
  await check();
  const soon = await fixture.codes.create(actor, {
    target: 'https://example.com/soon',
    expiresAtMs: fixture.clock.now() + 1_000,
    scanLimit: 2,
  });
  model.unshift(soon);
  await check();
  fixture.scans.set(soon.no, 2);
  await check();
  expect(statusOf(fixture, soon)).toBe('used_up');
  fixture.clock.move(1_000);
  await check();
  expect(statusOf(fixture, soon)).toBe('expired');
});

test('a cursor goes on where its page ended, whatever was made or deleted meanwhile', async () => {
  const { fixture, model } = await filled();
  const all = expected(model, {});
  const first = await fixture.codes.list(1, { filter: {}, limit: 10 });
  await fixture.codes.create(actor, { target: 'https://example.com/new' });
  await fixture.codes.delete(actor, first.data[9]!.id);
  const second = await fixture.codes.list(1, {
    filter: {},
    limit: 10,
    cursor: first.nextCursor!,
  });
  expect(ids(second.data)).toEqual(ids(all.slice(10, 20)));
});

test('a text that is no cursor is refused', async () => {
  const { codes } = shared.fixture;
  for (const cursor of ['', 'x', '!'.repeat(14), 'A'.repeat(15), 'é'.repeat(14)]) {
    await expect(codes.list(1, { filter: {}, limit: 1, cursor })).rejects.toMatchObject({
      code: 'validation_failed',
    });
  }
});

test('searches run one by one; beyond those that may wait it is 503', async () => {
  const { fixture } = shared;
  const search = async (at: number): Promise<string> =>
    await fixture.codes.list(1, { filter: { search: `${at}` }, limit: 5 }).then(
      () => 'answered',
      (error: Failure) => `${error.code} ${error.retryAfterSeconds}`,
    );
  const ends = await Promise.all(Array.from({ length: 70 }, async (_, at) => await search(at)));
  expect(ends.filter((end) => end === 'answered')).toHaveLength(64);
  expect(ends.filter((end) => end === 'overloaded 1')).toHaveLength(6);
  expect(await search(1)).toBe('answered');
});
