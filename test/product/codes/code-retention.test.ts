/**
 * The last of deleted codes, on real stores, shards and codes: after 90 days no table holds a key of one, whatever dies on
 * the way; its neighbors keep every number, and its short code stays taken. Each core of a cluster removes the numbers from
 * a store of its own, the leader the records later.
 */
import { getRandomValues } from 'node:crypto';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { openCampaigns } from '../../../src/product/campaigns/open-campaigns.ts';
import { CodeRetention, recordsLaterMs } from '../../../src/product/codes/code-retention.ts';
import { type ExpiredCode, partitionOf, type QrCodeRecord } from '../../../src/model/code.ts';
import { dayMs } from '../../../src/model/day.ts';
import type { Failure } from '../../../src/model/failure.ts';
import { createIdSource } from '../../../src/model/ids.ts';
import type { CodeNo } from '../../../src/model/numbers.ts';
import { readCounts } from '../../../src/engine/counting/code-counts.ts';
import type { Table } from '../../../src/store/environment.ts';
import type { Management } from '../../../src/store/management/management.ts';
import { createLog } from '../../../src/platform/log.ts';
import { EngineHarness, scanOf } from '../../engine/counting/engine-harness.ts';
import { actor, openCodes, type CodesFixture } from './codes-fixture.ts';

const target = 'https://example.com/';
const log = createLog('silent', { write: () => undefined });
const removed = { summaries: 0, days: 0, months: 0, chunks: 0 };

/** The scans of one machine, or of a core that leads or not. */
class Core {
  readonly engine: EngineHarness;
  readonly retention: CodeRetention;
  readonly asked: CodeNo[] = [];

  constructor({ store, clock, codes }: CodesFixture, shards: number, isLeading?: boolean) {
    this.engine = new EngineHarness({ codeOf: (no) => codes.findScanned(no) });
    this.engine.startShards(shards);
    this.retention = new CodeRetention({
      store,
      memberships: codes.memberships,
      ...(isLeading === undefined ? {} : { isLeading: () => isLeading }),
      clock,
      log,
      removeNumbers: (expired) => this.#remove(expired),
    });
    onTestFinished(async () => {
      await this.retention.close();
      await this.engine.close();
    });
  }

  ownerOf(codeNo: number): number {
    return partitionOf(codeNo) % this.engine.shards.length;
  }

  #remove(expired: readonly ExpiredCode[]): void {
    this.asked.push(...expired.map(({ codeNo }) => codeNo));
    for (const [index, shard] of this.engine.shards.entries()) {
      shard.expiry.add(expired.filter(({ codeNo }) => this.ownerOf(codeNo) === index));
    }
  }

  /** One by each visitor. */
  scan({ no, workspaceNo }: QrCodeRecord, count: number, timeMs: number): void {
    const visits = Array.from({ length: count }, (_, at) => {
      const address = Uint8Array.of(10, Math.floor(timeMs / dayMs) & 255, at >> 8, at & 255);
      return scanOf(no, { workspaceNo, address });
    });
    this.engine.scan(0, timeMs, visits);
  }

  /** Cycles of all shards; what they report done is removed. */
  async cycle(cycles: number): Promise<void> {
    for (let cycle = 0; cycle < cycles; cycle++) {
      for (const [index, shard] of this.engine.shards.entries()) {
        this.engine.cycle(index);
        const done = shard.expiry.takeDone();
        if (done.length > 0) this.retention.numbersRemoved(done);
      }
      await yieldToEventLoop();
    }
  }

  async work(): Promise<void> {
    await this.retention.tick();
    await this.cycle(20);
    await this.retention.tick();
  }

  /** How many keys of a code each table of numbers has. */
  numbersOf(codeNo: CodeNo): typeof removed {
    this.engine.store.environment.refresh();
    const { summaries, days, months, chunks } = this.engine.store;
    const isOwn = (key: Uint8Array): boolean => Buffer.from(key).readUInt32BE(0) === codeNo;
    const count = (table: Table<Uint8Array, Uint8Array>): number =>
      [...table.keys({})].filter(isOwn).length;
    const counts = { days: count(days), months: count(months), chunks: count(chunks) };
    return { summaries: summaries.has(codeNo) ? 1 : 0, ...counts };
  }

  has(codeNo: CodeNo): boolean {
    const { summaries, days } = this.numbersOf(codeNo);
    return summaries + days > 0;
  }

  async totalsOf({ no }: QrCodeRecord) {
    return await this.engine.queries.analytics.totals({ code: no }, { fromDay: 0, toDay: 99_999 });
  }
}

/** Two codes in a campaign with scans over three months, one of them busy; then one is deleted. */
async function openOne() {
  const fixture = await openCodes();
  const core = new Core(fixture, 2);
  const make = () => fixture.codes.create(actor, { target, tags: ['t'] });
  // The first code has the number of the workspace and of the campaign: it would hide what is left.
  await make();
  const [doomed, kept] = [await make(), await make()];
  await fillManagement(fixture, core.engine, [doomed, kept]);
  const begin = Math.floor(fixture.clock.now() / dayMs);
  for (let day = begin; day < begin + 60; day++) {
    core.engine.nowMs = day * dayMs;
    core.scan(doomed, day === begin + 3 ? 300 : 2, day * dayMs);
    core.scan(kept, 3, day * dayMs);
    core.engine.settle();
  }
  for (const index of core.engine.shards.keys()) core.engine.checkpoint(index);
  fixture.clock.move(60 * dayMs);
  const deleted = await fixture.codes.delete(actor, doomed.id);
  const { engine, retention } = core;
  return { fixture, core, engine, retention, deleted, kept };
}

async function fillManagement(
  { clock, outbox, codes, store }: CodesFixture,
  engine: EngineHarness,
  made: readonly QrCodeRecord[],
): Promise<void> {
  const ids = createIdSource(clock, getRandomValues);
  const scans = engine.queries.analytics;
  const { campaigns, conversions } = openCampaigns({ store, outbox, ids, clock, codes, scans });
  const qrCodeIds = made.map(({ id }) => id);
  await campaigns.create(actor, { name: 'c', startDay: 0, qrCodeIds });
  for (const qrCodeId of qrCodeIds) {
    await conversions.record(actor, { qrCodeId, value: 1, externalId: undefined });
  }
}

/** Every place of the management environment that names a code by number or id, by table. */
function tracesOf(store: Management, { no, id }: QrCodeRecord): string[] {
  const { campaignCodes, codeCampaigns, conversionDays } = store.campaigns;
  const { codes, codeIds, deletedCodes, codeTerms } = store;
  const tables = { codes, codeIds, deletedCodes, campaignCodes, codeCampaigns, conversionDays };
  const found = Object.entries(tables).flatMap(([name, table]) => {
    const names = (key: unknown, value: unknown): boolean =>
      JSON.stringify([key, value]).includes(id) || [key].flat().includes(no);
    return [...table.range({})].some(({ key, value }) => names(key, value)) ? [name] : [];
  });
  const terms = [...codeTerms.keys({})].map((key) => Buffer.from(key));
  const isNamed = terms.some((key) => key.readUInt32BE(key.length - 4) === no);
  return isNamed ? [...found, 'codeTerms'] : found;
}

/** Codes that the workspaces' counts by code still name. */
function countsBy({ engine }: Core, ...codes: readonly QrCodeRecord[]): number[] {
  const named = new Set<number>();
  for (const { value } of engine.store.codeCounts.range({})) {
    const counts = readCounts(value, 0, new Map<number, number>());
    for (const { no } of codes) if (counts.has(no)) named.add(no);
  }
  return [...named];
}

test('keeps all of it for 90 days, and removes all of it then', async () => {
  const { fixture, core, engine, retention, deleted, kept } = await openOne();
  const { store, clock, codes } = fixture;
  const before = await core.totalsOf(kept);
  const full = core.numbersOf(deleted.no);
  expect(full).toMatchObject({ summaries: 1, months: 3 });
  expect(full.days).toBe(59);
  expect(full.chunks).toBeGreaterThan(16);
  clock.move(90 * dayMs - 1);
  await retention.tick();
  expect(core.asked).toEqual([]);
  expect(codes.findKept(1, deleted.id)).toBeDefined();
  clock.move(1);
  expect(codes.findKept(1, deleted.id)).toBeUndefined();
  engine.nowMs = clock.now();
  await retention.tick();
  await core.cycle(20);
  await retention.close();
  expect(core.numbersOf(deleted.no)).toEqual(removed);
  expect(tracesOf(store, deleted)).toEqual([]);
  expect((await core.totalsOf(deleted)).totalScans).toBe(0);
  expect(await core.totalsOf(kept)).toEqual(before);
  expect(tracesOf(store, kept)).toContain('conversionDays');
  expect(countsBy(core, kept, deleted)).toEqual([kept.no]);
  const slug = deleted.shortCode ?? '';
  expect(store.shortCodes.get(slug)).toBe(deleted.no);
  const again = codes.create(actor, { target, slug });
  expect(await again.catch(({ code }: Failure) => code)).toBe('slug_taken');
  await fixture.restart();
  expect(fixture.links.deleted.has(slug)).toBe(true);
});

test('continues where it was when shards, disk or process fail midway', async () => {
  const { fixture, core, engine, retention, deleted, kept } = await openOne();
  const before = await core.totalsOf(kept);
  fixture.clock.move(90 * dayMs);
  engine.nowMs = fixture.clock.now();
  await retention.tick();
  const owner = core.ownerOf(deleted.no);
  engine.failAfter = 0;
  engine.cycle(owner);
  engine.failAfter = Number.MAX_SAFE_INTEGER;
  expect(core.numbersOf(deleted.no)).toMatchObject({ summaries: 1, days: 59 });
  engine.cycle(owner);
  const midway = core.numbersOf(deleted.no);
  expect(midway.summaries).toBe(1);
  expect(midway.days).toBeLessThan(59);
  // The shard dies with what it had to say; the next tick asks its successor.
  engine.startShards(3);
  await core.cycle(3);
  expect(fixture.store.codes.has(deleted.no)).toBe(true);
  await retention.tick();
  await core.cycle(10);
  await retention.close();
  expect(core.numbersOf(deleted.no)).toEqual(removed);
  expect(tracesOf(fixture.store, deleted)).toEqual([]);
  expect(await core.totalsOf(kept)).toEqual(before);
});

test('one step removes a bounded number of keys, and windows go on between', async () => {
  const { core, engine, deleted, kept } = await openOne();
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
  const { expiry } = engine.shards[core.ownerOf(deleted.no)]!;
  expiry.add([{ codeNo: deleted.no, workspaceNo: 1 }]);
  const left: number[] = [];
  for (let cycle = 0; cycle < 200 && !expiry.isIdle; cycle++) {
    if (cycle < 20) core.scan(kept, 1, day * dayMs + cycle);
    for (const index of engine.shards.keys()) engine.cycle(index);
    left.push(Object.values(core.numbersOf(deleted.no)).reduce((sum, count) => sum + count, 0));
  }
  const steps = left.map((now, at) => (left[at - 1] ?? left[0]!) - now);
  expect(Math.max(...steps)).toBeLessThanOrEqual(500);
  expect(left.at(-1)).toBe(0);
  const range = { fromDay: day, toDay: day };
  const { totalScans } = await engine.queries.analytics.totals({ code: kept.no }, range);
  expect(totalScans).toBe(20);
});

/** Two cores that have counted the same scans of four codes; then three of them are deleted. */
async function openPair() {
  const fixture = await openCodes();
  const { store, clock, codes } = fixture;
  const cores = [new Core(fixture, 2, true), new Core(fixture, 3, false)] as const;
  const made: QrCodeRecord[] = [];
  while (made.length < 4) made.push(await codes.create(actor, { target }));
  const first = Math.floor(clock.now() / dayMs);
  for (const core of cores) {
    for (let day = first; day < first + 5; day++) {
      core.engine.nowMs = day * dayMs;
      for (const code of made) core.scan(code, 1, day * dayMs);
      core.engine.settle();
    }
    for (const index of core.engine.shards.keys()) core.engine.checkpoint(index);
  }
  clock.move(10 * dayMs);
  const [kept, ...doomed] = made.map(({ no }) => no);
  for (const { id } of made.slice(1)) {
    await codes.delete(actor, id);
    clock.move(1_000);
  }
  const pass = (ms: number): void => {
    clock.move(ms);
    for (const { engine } of cores) engine.nowMs = clock.now();
  };
  return { store, cores, kept: kept!, doomed, pass };
}

test('every core removes them once, after 90 days; the records go later', async () => {
  const { store, cores, kept, doomed, pass } = await openPair();
  const [leader, standby] = cores;
  pass(89 * dayMs);
  for (const core of cores) await core.work();
  expect(leader.asked).toEqual([]);
  pass(dayMs);
  for (const core of cores) {
    expect(doomed.map((no) => core.has(no))).toEqual([true, true, true]);
    await core.work();
    expect(doomed.map((no) => core.has(no))).toEqual([false, false, false]);
    expect(core.has(kept)).toBe(true);
    // The position stands behind them.
    await core.work();
    expect(core.asked).toEqual(doomed);
  }
  expect(doomed.every((no) => store.codes.has(no))).toBe(true);
  pass(recordsLaterMs);
  await standby.work();
  expect(doomed.every((no) => store.codes.has(no))).toBe(true);
  await leader.work();
  expect(doomed.some((no) => store.codes.has(no))).toBe(false);
  expect([...store.deletedCodes.keys({})]).toEqual([]);
});

test('a core that was away for a week, or whose shards died with what they were asked', async () => {
  const { cores, doomed, pass } = await openPair();
  const [leader, standby] = cores;
  pass(90 * dayMs - 2_500);
  await standby.work();
  expect(doomed.map((no) => standby.has(no))).toEqual([false, true, true]);
  pass(7 * dayMs);
  await leader.work();
  await standby.retention.tick();
  standby.engine.startShards(2);
  await standby.work();
  expect(doomed.map((no) => standby.has(no))).toEqual([false, false, false]);
  expect(standby.asked).toEqual([doomed[0], doomed[1], doomed[2], doomed[1], doomed[2]]);
});
