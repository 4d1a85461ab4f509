/**
 * Searches in memory find what the plain walk finds: whatever is made, changed and deleted between two of
 * them, by which core, in whatever letters; and their memory stays under its bound.
 */
import fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { noLinkTable } from '../../src/codes/links/link-table.ts';
import { type CodeFilter, CodeListing, type CodePage } from '../../src/codes/search/listing.ts';
import { SearchColumns } from '../../src/codes/search/search-columns.ts';
import { moveTerms } from '../../src/codes/search/terms.ts';
import { dayMs, dayOf } from '../../src/model/day.ts';
import { Failure } from '../../src/model/failure.ts';
import type { Actor } from '../../src/model/workspace.ts';
import { packCode, unpackCode } from '../../src/store/management/code-codec.ts';
import { endOf } from '../../src/store/management/code-keys.ts';
import { openManagement } from '../../src/store/management/management.ts';
import { actor, type CodesFixture, openCodes, stranger } from './codes-fixture.ts';
import { runs } from '../seconds/runs.ts';

const search = { bytesMax: 10_000_000, walkedCodesMax: 0 };
/** Letters whose lower case is longer, depends on what follows or is shared; and what parts the fields. */
const texts =
  'İSTANBUL,Straße ẞ,ΟΔΥΣΣΕΥΣ,ΑΣ,Σ,Ǆ ﬁ \u212a,é e\u0301,😀 Poster,a\u0000b,qr_0,QR_x spring,Spring Sale,xx'.split(
    ',',
  );
const parts =
  'i̇,i,ss,ς,σ,ας,ασ,ǆ,k,\ud83d,\ude00,\u0000,b\u0000,m/1,qr_,QR_0,example.com,g s,x,\u0000\u0000,form,"tag:,all:,none'.split(
    ',',
  );
const needles = [...texts, ...parts];
const tags = ['a', 'B"', '"tag:a', 'form:url', 'ä\u0000'];

const text = fc.constantFrom(...texts);
const tagList = fc.uniqueArray(fc.constantFrom(...tags), { maxLength: 3 });
const draft = fc.record({
  target: fc.nat(30).map((at) => `https://example.com/${at}`),
  dynamic: fc.boolean(),
  name: fc.option(text, { nil: undefined }),
  externalId: fc.option(text, { nil: undefined }),
  tags: tagList,
});
const which = fc.nat(1_000);
const where = fc.constantFrom<'here' | 'beside'>('here', 'beside');
const steps = fc.oneof(
  fc.record({
    does: fc.constant('create' as const),
    where,
    drafts: fc.array(draft, { maxLength: 5 }),
  }),
  fc.record({
    does: fc.constant('change' as const),
    where,
    which,
    name: fc.option(text),
    tags: tagList,
  }),
  fc.record({ does: fc.constant('delete' as const), where, which }),
  fc.record({ does: fc.constant('move' as const), byMs: fc.integer({ min: -dayMs, max: dayMs }) }),
  fc.record({ does: fc.constant('restart' as const) }),
);
type Step = typeof steps extends fc.Arbitrary<infer S> ? S : never;
const filters = fc.record({
  search: fc.constantFrom(...needles),
  tag: fc.constantFrom(undefined, undefined, ...tags),
  type: fc.constantFrom(undefined, 'url' as const, 'text' as const),
  dynamic: fc.constantFrom(undefined, undefined, true, false),
});

/** Live codes of a workspace, by number. */
function liveIds(fixture: CodesFixture, { workspaceNo }: Actor): string[] {
  fixture.store.environment.refresh();
  return [...fixture.store.codes.range({})]
    .map(({ key, value }) => unpackCode(key, value))
    .filter((code) => code.workspaceNo === workspaceNo && code.deletedAtMs === undefined)
    .map(({ id }) => id);
}

/** `beside`: as another core of a cluster does it, of whose changes this one has only the store. */
async function take(fixture: CodesFixture, who: Actor, step: Step): Promise<void> {
  if (step.does === 'move') return fixture.clock.move(step.byMs);
  if (step.does === 'restart') return await fixture.restart();
  const codes =
    step.where === 'here' ? fixture.codes : fixture.open({ links: noLinkTable, search });
  if (step.does === 'create') return void (await codes.createMany(who, step.drafts));
  const ids = liveIds(fixture, who);
  const id = ids[step.which % Math.max(1, ids.length)];
  if (id === undefined) return;
  if (step.does === 'delete') await codes.delete(who, id);
  else await codes.change(who, id, { name: step.name, tags: step.tags });
}

/** Pages by number and by cursor until the last. */
async function pagesOf(
  listing: Pick<CodeListing, 'page'>,
  workspaceNo: number,
  filter: CodeFilter,
  limit: number,
): Promise<CodePage[]> {
  const pages = [await listing.page(workspaceNo, { filter, limit, page: 2 })];
  for (let cursor: string | undefined; ;) {
    const request = { filter, limit, ...(cursor === undefined ? {} : { cursor }) };
    const page = await listing.page(workspaceNo, request);
    pages.push(page);
    cursor = page.nextCursor;
    if (cursor === undefined) return pages;
  }
}

it('find what a walk finds after any changes, here and on another core', async () => {
  const fixture = await openCodes({ search });
  let workspaceNo = 100;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(steps, filters, fc.nat(23)), { minLength: 1, maxLength: 12 }),
      fc.integer({ min: 1, max: 7 }),
      async (walk, limit) => {
        const who = { ...actor, workspaceNo: ++workspaceNo };
        for (const [step, filter, idLength] of walk) {
          await take(fixture, who, step);
          const [id] = liveIds(fixture, who);
          const listing = { page: fixture.codes.list.bind(fixture.codes) };
          const walked = new CodeListing({
            ...fixture.app.base,
            store: fixture.store,
            scansOf: () => 0,
          });
          const fromDay = dayOf(fixture.clock.now());
          const all: CodeFilter[] = [filter, { ...filter, fromDay }, { search: filter.search }];
          if (id !== undefined) all.push({ search: id.slice(0, idLength).toUpperCase() });
          for (const one of all) {
            const found = await pagesOf(listing, workspaceNo, one, limit);
            expect(found).toEqual(await pagesOf(walked, workspaceNo, one, limit));
          }
        }
      },
    ),
    { numRuns: runs(30) },
  );
});

const drafts = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ target: `https://example.com/${at}`, tags: ['a'] }));

it('is the store of this moment even when codes change while it is built, slice by slice', async () => {
  const fixture = await openCodes({ search });
  const { store } = fixture;
  await fixture.codes.createMany(actor, drafts(1_200));
  const ids = liveIds(fixture, actor);
  const columns = new SearchColumns(store, search.bytesMax);
  const building = columns.find(1);
  await Promise.all([
    ...ids.slice(0, 300).map(async (id) => await fixture.codes.delete(actor, id)),
    ...ids.slice(900).map(async (id) => await fixture.codes.change(actor, id, { name: 'Found' })),
    fixture.codes.createMany(actor, drafts(300)),
  ]);
  await building;
  const column = await columns.find(1);
  let found = 0;
  await column?.walk(
    { words: ['found'], terms: [], oldest: { createdAtMs: 0, no: 0 }, newest: endOf(2 ** 47) },
    () => (found++, 'go on'),
  );
  expect([column?.live, found]).toEqual([1_200, 300]);
  const anew = await new SearchColumns(store, search.bytesMax).find(1);
  expect(column?.bytes).toBe(anew?.bytes);
});

it('memory is bounded: the least recently searched go, and what is too large alone is walked', async () => {
  const fixture = await openCodes();
  const { store } = fixture;
  const third = { ...actor, workspaceNo: 3 };
  for (const who of [actor, stranger, third]) await fixture.codes.createMany(who, drafts(300));
  const { bytes = 0 } = (await new SearchColumns(store, search.bytesMax).find(1)) ?? {};
  const two = new SearchColumns(store, bytes * 2.5);
  const [first, second] = [await two.find(1), await two.find(2)];
  expect(await two.find(1)).toBe(first);
  expect(await two.find(3)).toBeDefined();
  expect(await two.find(1)).toBe(first);
  expect(await two.find(2)).not.toBe(second);
  const none = new SearchColumns(store, bytes * 0.9);
  expect([await none.find(1), await none.find(2)]).toEqual([undefined, undefined]);
  // Half of it fits, and is found to.
  for (const id of liveIds(fixture, actor).slice(100)) await fixture.codes.delete(actor, id);
  expect((await none.find(1))?.live).toBe(100);
  expect(await new SearchColumns(store, 0).find(1)).toBeUndefined();
});

it('takes what is made while the clock stands behind, and what another handle has just committed', async () => {
  const fixture = await openCodes();
  const { store } = fixture;
  const columns = new SearchColumns(store, search.bytesMax);
  await fixture.codes.createMany(actor, drafts(3));
  const column = await columns.find(1);
  fixture.clock.set(fixture.clock.now() - dayMs);
  const [made] = await fixture.codes.createMany(actor, drafts(2));
  expect(await columns.find(1)).toBe(column);
  expect(column?.live).toBe(5);
  if (made === undefined || made instanceof Failure) throw new Error('not made');
  const other = openManagement(fixture.app.base.folder.managementFile);
  onTestFinished(async () => await other.close());
  // A snapshot is open when the other commits, and the event loop does not turn before the search.
  expect(store.codes.has(made.no)).toBe(true);
  other.environment.transactionSync(() => {
    other.codes.put(made.no, packCode({ ...made, deletedAtMs: 1 }));
    moveTerms(other, made, undefined);
  });
  expect((await columns.find(1))?.live).toBe(4);
});

it('is made anew when more was edited since than is numbered', async () => {
  const fixture = await openCodes();
  const { store } = fixture;
  const code = await fixture.codes.create(actor, { target: 'https://example.com/' });
  const columns = new SearchColumns(store, search.bytesMax);
  const column = await columns.find(1);
  await fixture.codes.change(actor, code.id, { name: 'Lost in the ring' });
  await store.environment.transaction(() => {
    store.meta.put('next:edit', 70_000);
    store.codeEdits.put(1, [65_537, 9, 0, 0]);
  });
  const again = await columns.find(1);
  expect(again).not.toBe(column);
  expect([again?.live, column?.live]).toEqual([1, 1]);
  expect(again?.bytes).toBeGreaterThan(column?.bytes ?? Infinity);
});
