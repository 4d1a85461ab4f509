/**
 * One flipped bit in any record of the engine's store: every number that is answered afterwards is the right one or a
 * refusal, no shard ends, and the other codes are counted on. `QZ_FLIPS` = records of each table, default 1.
 */
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dayMs, type DayRange } from '../../../src/model/day.ts';
import { isDamage } from '../../../src/model/failure.ts';
import { seedsOfToday } from '../../seconds/runs.ts';
import { temporaryFolder } from '../../store/temporary-management.ts';
import { StoredBytes } from '../../support/stored-bytes.ts';
import {
  EngineHarness,
  type HarnessOptions,
  type ScanFact,
  type ScanInput,
  scanOf,
} from './engine-harness.ts';
import {
  analyticsOf,
  breakdownOf,
  isPerson,
  scansByCode,
  timeseriesOf,
  topOf,
  within,
} from './plain-model.ts';

/** Of the records and bits that are flipped. */
const flipSeed = seedsOfToday(1)[0]!;
const flips = Number(process.env['QZ_FLIPS'] ?? 1);
const today = 20_730;
const codes = Array.from({ length: 10 }, (_, at) => at + 1);
/** Has so many visitors in a day that their sketch lies in chunks. */
const busyCode = 3;
const workspaceOf = (codeNo: number): number => 1 + (codeNo % 2);
const ranges: readonly DayRange[] = [
  { fromDay: 0, toDay: 60_000 },
  { fromDay: today, toDay: today },
  { fromDay: today - 40, toDay: today - 1 },
  { fromDay: today - 2, toDay: today + 1 },
];
const options: HarnessOptions = {
  journals: 2,
  segmentBytesMax: 4_000,
  rawRetentionDays: 400,
};

let random = 12;
/** Park and Miller's. */
const draw = (below: number): number => (random = (random * 48_271) % 2_147_483_647) % below;

const agents = ['Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X)', 'curl/8.1', ''];
function inputOf(codeNo: number): ScanInput {
  const visitor = draw(codeNo === busyCode ? 250 : 20);
  return scanOf(codeNo, {
    workspaceNo: workspaceOf(codeNo),
    agent: agents[draw(agents.length)]!,
    referer: draw(3) === 0 ? 'http://shop.example:8080/' : '',
    address: Uint8Array.of(192, 0, 2, visitor),
  });
}

const moreScans = codes.map(inputOf);

let template: EngineHarness;
let targets: ReadonlyArray<{ readonly table: string; readonly key: Buffer }>;

/** Days of two months with their checkpoints, then blocks without one, then unread scans. */
beforeAll(async () => {
  template = new EngineHarness(options);
  template.startShards(2);
  for (const day of [today - 40, today - 39, today - 3, today - 2, today - 1, today]) {
    template.nowMs = day * dayMs + 40_000_000;
    for (let journal = 0; journal < 2; journal++) {
      const busy = Array.from(
        { length: day === today - 1 || day === today ? 90 : 2 },
        () => busyCode,
      );
      template.scan(journal, template.nowMs, [...codes, ...busy].map(inputOf));
      template.settle();
    }
    for (const shard of [0, 1, 0]) template.checkpoint(shard);
  }
  for (let window = 0; window < 4; window++) {
    template.scan(window % 2, ++template.nowMs, codes.slice(window).map(inputOf));
    template.settle();
  }
  template.scan(0, ++template.nowMs, codes.map(inputOf));
  random = flipSeed;
  const stored = new StoredBytes(join(template.folder, 'scans.mdb'));
  targets = stored.tables.flatMap((table) => {
    const keys = stored.keys(table);
    const isAll = keys.length <= flips;
    const chosen = isAll ? keys : Array.from({ length: flips }, () => keys[draw(keys.length)]!);
    return chosen.map((key) => ({ table, key }));
  });
  await stored.close();
});
afterAll(async () => await template.close());

/** Right answers by question and number of scans, which are the same whatever is damaged. */
const rightAnswers = new Map<string, string>();

type Question = readonly [of: string, what: string, ask: () => unknown, right: () => unknown];

/** The numbers of every code and workspace, and what was journaled of them. */
function* questionsTo(engine: EngineHarness): Generator<Question> {
  const { analytics, topCodes } = engine.queries;
  for (const code of codes) {
    const own = engine.facts.filter((fact) => fact.codeNo === code);
    const people = (): number => own.filter(isPerson).length;
    const name = `code ${code}`;
    yield [name, 'lifetime', () => analytics.lifetimeScans(code), people];
    for (const [at, range] of ranges.entries()) {
      const facts = (): ScanFact[] => within(own, range);
      const os = (): unknown => analytics.breakdown({ code }, range, 'os');
      yield [
        name,
        `totals ${at}`,
        () => analytics.totals({ code }, range),
        () => analyticsOf(facts()),
      ];
      yield [name, `breakdown ${at}`, os, () => breakdownOf(facts(), 'os')];
    }
    const { fromDay, toDay } = ranges[3]!;
    const series = (): unknown => analytics.series({ code }, ranges[3]!, 'day');
    yield [name, 'series', series, () => timeseriesOf(own, fromDay, toDay, 24)];
    yield [`raw ${name}`, 'count', () => rawCount(engine, code), people];
  }
  for (const workspace of [1, 2]) {
    const own = engine.facts.filter((fact) => fact.workspaceNo === workspace);
    const name = `workspace ${workspace}`;
    for (const [at, range] of ranges.entries()) {
      const facts = (): ScanFact[] => within(own, range);
      const totals = (): unknown => analytics.totals({ workspace }, range);
      const request = { ...range, workspaceNo: workspace, limit: 3, isListed: () => true };
      const top = (): unknown => topOf(scansByCode(facts(), codes), 3);
      yield [name, `totals ${at}`, totals, () => analyticsOf(facts())];
      yield [`top of ${name}`, `${at}`, () => topCodes.find(request), top];
    }
  }
}

/** @returns whose numbers were refused; none is wrong */
async function refusedIn(engine: EngineHarness): Promise<string[]> {
  const refused = new Set<string>();
  for (const [name, what, ask, right] of questionsTo(engine)) {
    const found = await Promise.resolve().then(ask).catch(refusal);
    const key = `${name} ${what} ${engine.facts.length}`;
    const answer = rightAnswers.get(key) ?? JSON.stringify(right());
    rightAnswers.set(key, answer);
    if (found === 'refused') refused.add(name);
    else expect(JSON.stringify(found), key).toBe(answer);
  }
  return [...refused];
}

function refusal(error: unknown): 'refused' {
  if (isDamage(error)) return 'refused';
  throw error;
}

function rawCount({ queries: { raw } }: EngineHarness, codeNo: number): number {
  const filter = { codeNo, bots: 'without', ...ranges[0]! } as const;
  let count = 0;
  for (let place = raw.begin(filter); place !== undefined;) {
    const { scans, next } = raw.step(filter, place, 100);
    count += scans.length;
    place = next;
  }
  return count;
}

/** Starts on a copy of the template with one bit flipped, asks for everything, counts on, and asks again. */
async function startDamaged(table: string, key: Buffer, of = template) {
  const folder = temporaryFolder();
  cpSync(of.folder, folder, { recursive: true });
  rmSync(join(folder, 'scans.mdb-lock'), { force: true });
  const stored = new StoredBytes(join(folder, 'scans.mdb'));
  stored.flip(table, key, draw(2 ** 30));
  await stored.close();
  const engine = new EngineHarness({ ...options, folder });
  engine.facts.push(...of.facts);
  engine.nowMs = of.nowMs + 1;
  engine.startShards(2);
  engine.settle();
  const lost = engine.shards.some((shard) => shard.figures().lostBlocks > 0);
  if (lost) return { engine, lost, refused: [] };
  if (table === 'blocks') {
    // Until the checkpoint a damaged block is between the summaries and now: nothing is answered over it.
    await refusedIn(engine);
    for (const shard of [0, 1]) engine.checkpoint(shard);
  }
  const refused = await refusedIn(engine);
  engine.nowMs += dayMs;
  for (const journal of [0, 1]) engine.scan(journal, engine.nowMs, moreScans);
  engine.settle();
  for (const shard of [0, 1, 0, 1]) engine.checkpoint(shard);
  refused.push(...(await refusedIn(engine)));
  engine.startShards(3);
  engine.settle();
  refused.push(...(await refusedIn(engine)));
  expect(engine.failures).toBe(0);
  return { engine, lost, refused: [...new Set(refused)] };
}

/** Whose numbers a damaged record of the table may take with it. */
const refusable: Readonly<Record<string, RegExp>> = {
  summaries: /^(raw )?code \d+$|^workspace \d$/,
  days: /^(raw )?code \d+$|^workspace \d$/,
  chunks: /^(raw )?code \d+$|^workspace \d$/,
  blocks: /^raw code/,
  code_counts: /^top of workspace/,
};

describe(`one flipped bit, seed ${flipSeed}`, () => {
  it('in a block before its checkpoint: its scans are read again from the journals', async () => {
    const crashed = new EngineHarness(options);
    crashed.startShards(2);
    for (let window = 0; window < 4; window++) {
      crashed.scan(window % 2, (crashed.nowMs = today * dayMs + window), codes.map(inputOf));
      for (const shard of [0, 1]) crashed.cycle(shard);
    }
    for (const journal of [0, 1]) crashed.rotate(journal);
    await crashed.pruneJournals();
    const before = new StoredBytes(join(crashed.folder, 'scans.mdb'));
    const keys = before.keys('blocks');
    await before.close();
    expect(keys.length).toBeGreaterThan(6);
    for (const key of keys) {
      const { engine, lost, refused } = await startDamaged('blocks', key, crashed);
      expect(lost).toBe(false);
      expect(refused.filter((name) => !name.startsWith('raw'))).toEqual([]);
      await engine.close();
    }
    await crashed.close();
  });

  it('in any record leaves every number right or refused, and counting continues', async () => {
    const tables = new Set<string>();
    for (const { table, key } of targets) {
      const { engine, lost, refused } = await startDamaged(table, key);
      tables.add(table);
      // The scans of a block that was in no summary yet are lost, and said to be.
      if (lost) expect(table).toBe('blocks');
      const wrong = refused.filter((name) => refusable[table]?.test(name) !== true);
      expect([table, key.toString('hex'), wrong]).toEqual([table, key.toString('hex'), []]);
      const numbers = refused.filter((name) => /^(code|workspace)/.test(name));
      expect(
        numbers.length,
        `${table} ${key.toString('hex')}: ${numbers.join()}`,
      ).toBeLessThanOrEqual(1);
      await engine.close();
    }
    expect(tables.size).toBe(12);
  });
});
