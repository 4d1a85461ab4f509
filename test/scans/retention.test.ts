/**
 * The last of a deleted code, on real stores, shards and codes: after 90 days no table holds a
 * key of it, whatever dies on the way; its neighbours keep every number, and its short code stays taken.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { describe, expect, test, onTestFinished } from 'vitest';
import { openCampaigns } from '../../src/campaigns/open-campaigns.ts';
import { CodeRetention } from '../../src/codes/code-retention.ts';
import { dayMs } from '../../src/model/day.ts';
import type { Failure } from '../../src/model/failure.ts';
import { createIdSource } from '../../src/model/ids.ts';
import { readCounts } from '../../src/scans/code-counts.ts';
import { type ExpiredCode, partitionOf, type QrCodeRecord } from '../../src/model/code.ts';
import type { Management } from '../../src/store/management/management.ts';
import type { Table } from '../../src/store/environment.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { actor, openCodes, type CodesFixture } from '../codes/codes-fixture.ts';
import { EngineHarness, type ScanInput, scanOf } from './engine-harness.ts';
import { getRandomValues } from 'node:crypto';

type Setup = Awaited<ReturnType<typeof setUp>>;

/** Two codes in a campaign with scans over three months, one of them busy; then one is deleted. */
async function setUp() {
  const fixture = await openCodes();
  const store = fixture.store;
  const engine = new EngineHarness({
    codeOf: (no) => fixture.codes.findScanned(no),
  });
  onTestFinished(async () => await engine.close());
  engine.startShards(2);
  // The first code has the number of the workspace and of the campaign: it would hide what is left.
  await makeCode(fixture);
  const [doomed, kept] = [await makeCode(fixture), await makeCode(fixture)];
  await fillManagement(fixture, engine, [doomed, kept]);
  const begin = Math.floor(fixture.clock.now() / dayMs);
  for (let day = begin; day < begin + 60; day++) {
    engine.nowMs = day * dayMs;
    engine.scan(0, engine.nowMs, visits(doomed, day === begin + 3 ? 300 : 2, day));
    engine.scan(0, engine.nowMs, visits(kept, 3, day));
    engine.settle();
  }
  for (const index of engine.shards.keys()) engine.checkpoint(index);
  fixture.clock.move(60 * dayMs);
  const deleted = await fixture.codes.delete(actor, doomed.id);
  const asked: ExpiredCode[] = [];
  const retention = new CodeRetention({
    store,
    memberships: fixture.codes.memberships,
    clock: fixture.clock,
    removeNumbers: (expired) => {
      asked.push(...expired);
      for (const [index, shard] of engine.shards.entries()) {
        shard.expiry.add(expired.filter(({ codeNo }) => ownerOf(engine, codeNo) === index));
      }
    },
    log: createLog('debug', { write: () => undefined }),
  });
  return { fixture, engine, retention, asked, deleted, kept };
}

const totalsOf = async (engine: EngineHarness, { no }: QrCodeRecord) =>
  await engine.queries.analytics.totals({ code: no }, { fromDay: 0, toDay: 99_999 });

const ownerOf = (engine: EngineHarness, codeNo: number): number =>
  partitionOf(codeNo) % engine.shards.length;

async function makeCode(fixture: CodesFixture): Promise<QrCodeRecord> {
  return await fixture.codes.create(actor, { target: 'https://example.com/', tags: ['t'] });
}

async function fillManagement(
  fixture: CodesFixture,
  engine: EngineHarness,
  made: readonly QrCodeRecord[],
): Promise<void> {
  const { clock, outbox, codes, store } = fixture;
  const ids = createIdSource(clock, getRandomValues);
  const scans = engine.queries.analytics;
  const parts = { store, outbox, ids, clock, codes, scans };
  const campaigns = openCampaigns(parts);
  const qrCodeIds = made.map(({ id }) => id);
  await campaigns.campaigns.create(actor, { name: 'c', startDay: 0, qrCodeIds });
  for (const qrCodeId of qrCodeIds) {
    await campaigns.conversions.record(actor, { qrCodeId, value: 1, externalId: undefined });
  }
}

function visits({ no, workspaceNo }: QrCodeRecord, count: number, day: number): ScanInput[] {
  return Array.from({ length: count }, (_, at) =>
    scanOf(no, { workspaceNo, address: Uint8Array.of(10, day & 255, at >> 8, at & 255) }),
  );
}

/** Cycles of all shards; what they report done is removed. */
async function work({ engine, retention }: Setup, cycles: number): Promise<void> {
  for (let cycle = 0; cycle < cycles; cycle++) {
    for (const [index, shard] of engine.shards.entries()) {
      engine.cycle(index);
      const done = shard.expiry.takeDone();
      if (done.length > 0) retention.numbersRemoved(done);
    }
    await yieldToEventLoop();
  }
}

/** How many keys of a code each table of numbers has. */
function numbersOf({ engine }: Setup, codeNo: number): Record<string, number> {
  engine.store.environment.refresh();
  const { summaries, days, months, chunks } = engine.store;
  const isOwn = (key: Uint8Array): boolean => Buffer.from(key).readUInt32BE(0) === codeNo;
  const count = (table: Table<Uint8Array, Uint8Array>): number =>
    [...table.keys({})].filter(isOwn).length;
  const counts = { days: count(days), months: count(months), chunks: count(chunks) };
  return { summaries: summaries.has(codeNo) ? 1 : 0, ...counts };
}

/** Every place of the management environment that names a code by number or id, by table. */
function tracesOf(store: Management, { no, id }: QrCodeRecord): string[] {
  const found: string[] = [];
  const collect = (
    name: string,
    table:
      | Pick<Table<number, unknown>, 'range'>
      | Pick<Table<string, unknown>, 'range'>
      | Pick<Table<[number, number], unknown>, 'range'>,
  ): void => {
    for (const { key, value } of table.range({})) {
      const text = JSON.stringify([key, value]);
      const parts: unknown[] = Array.isArray(key) ? key : [key];
      if (text.includes(id) || parts.includes(no)) found.push(name);
    }
  };
  const { campaigns: c } = store;
  collect('codes', store.codes);
  collect('code_ids', store.codeIds);
  collect('deleted_codes', store.deletedCodes);
  collect('campaign_codes', c.campaignCodes);
  collect('code_campaigns', c.codeCampaigns);
  collect('conversion_days', c.conversionDays);
  for (const key of store.codeTerms.keys({})) {
    if (Buffer.from(key).readUInt32BE(key.length - 4) === no) found.push('code_terms');
  }
  return [...new Set(found)];
}

describe('retention', () => {
  test('nothing goes before 90 days, nothing is left after', async () => {
    const it = await setUp();
    const { fixture, engine, retention, deleted, kept } = it;
    const store = fixture.store;
    const before = await totalsOf(engine, kept);
    const full = numbersOf(it, deleted.no);
    expect(full).toMatchObject({ summaries: 1, months: 3 });
    expect(full.days).toBe(59);
    expect(full.chunks).toBeGreaterThan(16);
    fixture.clock.move(90 * dayMs - 1);
    await retention.tick();
    expect(it.asked).toEqual([]);
    expect(fixture.codes.findKept(1, deleted.id)).toBeDefined();
    fixture.clock.move(1);
    expect(fixture.codes.findKept(1, deleted.id)).toBeUndefined();
    engine.nowMs = fixture.clock.now();
    await retention.tick();
    await work(it, 20);
    await retention.close();
    expect(numbersOf(it, deleted.no)).toEqual({ summaries: 0, days: 0, months: 0, chunks: 0 });
    expect(tracesOf(store, deleted)).toEqual([]);
    expect((await totalsOf(engine, deleted)).totalScans).toBe(0);
    expect(await totalsOf(engine, kept)).toEqual(before);
    expect(tracesOf(store, kept)).toContain('conversion_days');
    expect(countsBy(it)).toEqual([kept.no]);
    const slug = deleted.shortCode ?? '';
    expect(store.shortCodes.get(slug)).toBe(deleted.no);
    const again = fixture.codes.create(actor, { target: 'https://example.com/', slug });
    expect(await again.catch(({ code }: Failure) => code)).toBe('slug_taken');
    await fixture.restart();
    expect(fixture.links.deleted.has(slug)).toBe(true);
  });

  test('continues where it was when shards, disk or process fail midway', async () => {
    const it = await setUp();
    const { fixture, engine, retention, deleted, kept } = it;
    const before = await totalsOf(engine, kept);
    fixture.clock.move(90 * dayMs);
    engine.nowMs = fixture.clock.now();
    await retention.tick();
    const owner = ownerOf(engine, deleted.no);
    engine.failAfter = 0;
    engine.cycle(owner);
    engine.failAfter = Number.MAX_SAFE_INTEGER;
    expect(numbersOf(it, deleted.no)).toMatchObject({ summaries: 1, days: 59 });
    engine.cycle(owner);
    const midway = numbersOf(it, deleted.no);
    expect(midway.summaries).toBe(1);
    expect(midway.days).toBeLessThan(59);
    // The shard dies with what it had to say; the next tick asks its successor.
    engine.startShards(3);
    await work(it, 3);
    expect(fixture.store.codes.has(deleted.no)).toBe(true);
    await retention.tick();
    await work(it, 10);
    await retention.close();
    expect(numbersOf(it, deleted.no)).toEqual({ summaries: 0, days: 0, months: 0, chunks: 0 });
    expect(tracesOf(fixture.store, deleted)).toEqual([]);
    expect(await totalsOf(engine, kept)).toEqual(before);
  });

  test('one step removes a bounded number of keys, and windows go on between', async () => {
    const it = await setUp();
    const { engine, deleted, kept } = it;
    const day = Math.floor(engine.nowMs / dayMs) + 1;
    // Five busy years more than any window may wait for.
    engine.store.environment.transactionSync(() => {
      for (let at = 0; at < 2_000; at++) {
        const key = Buffer.alloc(6);
        key.writeUInt32BE(deleted.no, 0);
        key.writeUInt16BE(at, 4);
        engine.store.days.put(key, Buffer.alloc(8));
      }
    });
    const owner = ownerOf(engine, deleted.no);
    engine.shards[owner]!.expiry.add([{ codeNo: deleted.no, workspaceNo: 1 }]);
    const left: number[] = [];
    for (let cycle = 0; cycle < 200 && !engine.shards[owner]!.expiry.isIdle; cycle++) {
      if (cycle < 20) engine.scan(0, day * dayMs + cycle, visits(kept, 1, day));
      for (const index of engine.shards.keys()) engine.cycle(index);
      left.push(Object.values(numbersOf(it, deleted.no)).reduce((sum, count) => sum + count, 0));
    }
    const steps = left.map((now, at) => (left[at - 1] ?? left[0]!) - now);
    expect(Math.max(...steps)).toBeLessThanOrEqual(500);
    expect(left.at(-1)).toBe(0);
    const range = { fromDay: day, toDay: day };
    const { totalScans } = await engine.queries.analytics.totals({ code: kept.no }, range);
    expect(totalScans).toBe(20);
  });
});

/** Codes that the workspaces' counts by code still name. */
function countsBy({ engine, kept, deleted }: Setup): number[] {
  const named = new Set<number>();
  for (const { value } of engine.store.codeCounts.range({})) {
    const counts = readCounts(value, 0, new Map<number, number>());
    for (const no of [kept.no, deleted.no]) if (counts.has(no)) named.add(no);
  }
  return [...named].sort((a, b) => a - b);
}
