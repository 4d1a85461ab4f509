/** Codes by the thousand: batches that stand on their own, requests that go on where they stopped, files. */
import { describe, expect, it } from 'vitest';
import type { BulkRequest } from '../../../src/product/codes/bulk/bulk-requests.ts';
import type { ImportDraft } from '../../../src/product/codes/bulk/code-import.ts';
import type { CodeDraft, CreateOutcome } from '../../../src/product/codes/code-creation.ts';
import { LinkRefresher } from '../../../src/product/codes/links/link-refresher.ts';
import { noLinkTable } from '../../../src/product/codes/links/link-table.ts';
import { linkChangesKept } from '../../../src/store/management/link-changes.ts';
import { dayMs } from '../../../src/model/day.ts';
import { Failure } from '../../../src/model/failure.ts';
import { actor, openCodes, type CodesFixture, stranger } from './codes-fixture.ts';

const targetOf = (index: number): string => `https://example.com/${index}`;
const draftOf = (index: number): CodeDraft => ({ target: targetOf(index) });
const lineOf = (index: number, made: CreateOutcome): string =>
  `${index} ${made instanceof Failure ? made.code : made.id}`;

function requestOf(rows: number, more: Partial<BulkRequest> = {}): BulkRequest {
  return { rows, draftOf, lineOf, idempotency: undefined, ...more };
}

const eventsOf = (fixture: CodesFixture): string[] =>
  fixture.outbox.after(0, 100_000).map(({ kind }) => kind);

async function codeCount(fixture: CodesFixture): Promise<number> {
  return (await fixture.codes.list(actor.workspaceNo, { filter: {}, limit: 1 })).total;
}

describe('a bulk request', () => {
  const idempotency = { name: 'k', fingerprint: 'body' };

  it('batches at the same time leave every count right', async () => {
    const fixture = await openCodes();
    const batch = (from: number) => Array.from({ length: 30 }, (_, at) => draftOf(from + at));
    await Promise.all([0, 30, 60, 90].map((from) => fixture.codes.createMany(actor, batch(from))));
    const counts = [await codeCount(fixture), fixture.links.live.size, eventsOf(fixture).length];
    expect(counts).toEqual([120, 120, 120]);
  });

  it('the key of another workspace is another key', async () => {
    const fixture = await openCodes();
    await fixture.codes.bulk.run(actor, requestOf(3, { idempotency }));
    const other = requestOf(3, { idempotency: { name: 'k', fingerprint: 'other' } });
    expect(await fixture.codes.bulk.run(stranger, other)).toMatchObject({ created: 3 });
  });

  it('continues after the rows that a crash has left', async () => {
    const fixture = await openCodes();
    const before: string[] = [];
    const cut = requestOf(230, {
      idempotency,
      draftOf: (index) => {
        if (index === 100) throw new Error('killed');
        return draftOf(index);
      },
      lineOf: (index, made) => {
        before.push(lineOf(index, made));
        return lineOf(index, made);
      },
    });
    await expect(fixture.codes.bulk.run(actor, cut)).rejects.toThrow('killed');
    expect(await codeCount(fixture)).toBe(100);
    await fixture.restart();
    const { lines, ...sums } = await fixture.codes.bulk.run(actor, requestOf(230, { idempotency }));
    expect(sums).toEqual({ created: 230, failed: 0, isCut: false });
    expect(lines.slice(0, 100)).toEqual(before);
    expect(lines.map((line) => Number.parseInt(line, 10))).toEqual([...Array(230).keys()]);
    expect([await codeCount(fixture), eventsOf(fixture).length]).toEqual([230, 230]);
  });

  it('expires after a day, with every line, and may be sent again', async () => {
    const fixture = await openCodes();
    await fixture.codes.bulk.run(actor, requestOf(120, { idempotency }));
    const storedLines = (): string[] =>
      [...fixture.store.bulk.answers.range({})].flatMap(({ value }) => value.split('\n'));
    fixture.clock.move(dayMs);
    await fixture.codes.bulk.expire();
    expect(storedLines()).toHaveLength(120);
    fixture.clock.move(dayMs);
    const { lines } = await fixture.codes.bulk.run(actor, requestOf(10, { idempotency }));
    expect(storedLines()).toEqual(lines);
    await fixture.codes.bulk.expire();
    expect(storedLines()).toEqual(lines);
    fixture.clock.move(2 * dayMs);
    await fixture.codes.bulk.expire();
    const { requests, answers, expiry } = fixture.store.bulk;
    const left = [...requests.keys({}), ...answers.keys({}), ...expiry.due(Infinity, 1)];
    expect(left).toEqual([]);
  });

  it('when the store takes no more, says which rows are left, and continues with them later', async () => {
    const fixture = await openCodes();
    const createMany = fixture.codes.createMany.bind(fixture.codes);
    let batches = 0;
    fixture.codes.createMany = async (...given) => {
      batches += 1;
      if (batches === 2) throw new Failure('storage_full', 'full');
      return await createMany(...given);
    };
    const cut = await fixture.codes.bulk.run(actor, requestOf(120, { idempotency }));
    expect(cut).toMatchObject({ created: 50, failed: 70, isCut: true });
    expect(cut.lines[119]).toBe('119 storage_full');
    const whole = await fixture.codes.bulk.run(actor, requestOf(120, { idempotency }));
    expect(whole).toMatchObject({ created: 120, failed: 0, isCut: false });
    expect(whole.lines.slice(0, 50)).toEqual(cut.lines.slice(0, 50));
    expect(await codeCount(fixture)).toBe(120);
  });
});

it('the import of a file knows how far it has come, also after a restart, and why its last rows failed', async () => {
  const fixture = await openCodes();
  const rowOf = (...codes: ImportDraft['codes']): ImportDraft => ({ codes, lost: [] });
  const one = await fixture.codes.imports.batch(actor, 'file', 0, [
    rowOf(draftOf(0)),
    rowOf(),
    rowOf({ target: 'nonsense' }, { ...draftOf(2), slug: 'Mine' }),
    { codes: [draftOf(3)], lost: ['an address'] },
    rowOf(new Failure('invalid_json', 'x'), { ...draftOf(4), slug: 'mine' }),
  ]);
  expect(one.reasons).toEqual([
    [null],
    [],
    [{ code: 'invalid_url', message: expect.stringMatching(/^target: /) }, null],
    [null],
    [
      { code: 'invalid_json', message: 'x' },
      { code: 'slug_taken', message: expect.stringContaining('mine differs from Mine') },
    ],
  ]);
  expect(one).toMatchObject({ rows: 5, created: 1, partial: 2, skipped: 1 });
  await fixture.restart();
  const { imports } = fixture.codes;
  expect(imports.record(actor, 'file')).toEqual(one);
  await imports.batch(actor, 'file', 5, [rowOf(draftOf(1))]);
  const finished = await imports.finish(actor, 'file', 6);
  expect(finished).toMatchObject({ rows: 6, created: 2, finishedAtMs: expect.any(Number) });
  expect(imports.record(actor, 'file')).toEqual(finished);
  expect(imports.record(actor, 'another').rows).toBe(0);
});

it('of two imports of a file at the same time one fails, and nothing is doubled', async () => {
  const fixture = await openCodes();
  const batch = () =>
    fixture.codes.imports.batch(actor, 'file', 0, [{ codes: [draftOf(0)], lost: [] }]);
  const runs = await Promise.allSettled([batch(), batch()]);
  const conflict = { status: 'rejected', reason: expect.objectContaining({ code: 'conflict' }) };
  expect(runs).toEqual([expect.objectContaining({ status: 'fulfilled' }), conflict]);
  expect(await codeCount(fixture)).toBe(1);
});

describe('the changes of another process', () => {
  const drafts = (count: number) => Array.from({ length: count }, (_, at) => draftOf(at));
  /** And one that shares the store and not the table, as a command beside the service has it. */
  async function openBeside() {
    const fixture = await openCodes();
    const { store, codes, links } = fixture;
    return {
      store,
      codes,
      links,
      other: fixture.open({ links: noLinkTable }),
      refresher: new LinkRefresher(store, codes.links),
      keys: () => [...links.live.keys()].sort(),
      numbered: () => [...store.bulk.linkChanges.keys({ start: 0 })],
    };
  }

  it('reach the link table: new links, new targets and deletions', async () => {
    const { other, refresher, links, keys, numbered } = await openBeside();
    const [made] = await other.createMany(actor, [
      { target: targetOf(1), slug: 'one' },
      { target: targetOf(2), slug: 'two', scanLimit: 5 },
      { target: 'static', type: 'text' },
    ]);
    expect(links.live.size).toBe(0);
    await refresher.refresh();
    expect(keys()).toEqual(['ONE', 'TWO']);
    expect(links.live.get('TWO')?.scansLeft).toBe(5);
    if (made === undefined || made instanceof Failure) throw new Error('not made');
    await other.change(actor, made.id, { target: targetOf(9) });
    await refresher.refresh();
    expect(links.live.get('ONE')?.target).toBe(targetOf(9));
    await other.delete(actor, made.id);
    await refresher.refresh();
    expect([...links.deleted]).toEqual(['ONE']);
    expect(numbered()).toEqual([1, 2, 3, 4]);
  });

  it('are followed by the thousand, and those from before the start are not read', async () => {
    const { store, codes, other, links, numbered } = await openBeside();
    await other.createMany(actor, drafts(700));
    const refresher = new LinkRefresher(store, codes.links);
    await other.createMany(actor, drafts(1_300));
    expect(numbered()).toHaveLength(2_000);
    await refresher.refresh();
    expect([links.live.size, refresher.seen]).toEqual([1_300, 2_000]);
  });

  it('are published though their number was drawn first by a change that failed', async () => {
    const { codes, other, refresher, keys, numbered } = await openBeside();
    const failing = codes.create(actor, { target: targetOf(1), slug: 'one' }, () => {
      throw new Failure('conflict', 'Failed');
    });
    await expect(failing).rejects.toMatchObject({ code: 'conflict' });
    await other.createMany(actor, [{ target: targetOf(2), slug: 'two' }]);
    await codes.create(actor, { target: targetOf(3), slug: 'three' });
    expect(numbered()).toEqual([1, 2]);
    await refresher.refresh();
    expect(keys()).toEqual(['THREE', 'TWO']);
  });

  it('are all published where a number is missing', async () => {
    const { store, other, refresher, links } = await openBeside();
    await other.createMany(actor, drafts(3));
    await store.environment.transaction(() => store.bulk.linkChanges.remove(2));
    await refresher.refresh();
    expect([links.live.size, refresher.seen]).toEqual([3, 3]);
  });

  it('are in the table when a refresh resolves that began after them, however many overlap', async () => {
    const { other, refresher, links } = await openBeside();
    await other.createMany(actor, drafts(1_200));
    const first = refresher.refresh();
    await Promise.resolve();
    const [late] = await other.createMany(actor, [{ target: targetOf(1), slug: 'late' }]);
    expect(late).toMatchObject({ shortCode: 'late' });
    await Promise.all([refresher.refresh(), refresher.refresh()]);
    expect(links.live.has('LATE')).toBe(true);
    await first;
  });

  it('are kept by number, the newest 100,000', async () => {
    const { store, codes, numbered } = await openBeside();
    const { environment, bulk, meta } = store;
    await environment.transaction(() => {
      for (let number = 1; number <= 300; number++) bulk.linkChanges.put(number, 1);
      meta.put('next:link', linkChangesKept + 1);
    });
    await codes.createMany(actor, drafts(64));
    expect(numbered()[0]).toBe(65);
    expect(numbered().at(-1)).toBe(linkChangesKept + 64);
  });
});
