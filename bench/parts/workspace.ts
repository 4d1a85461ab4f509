/**
 * What does the dashboard of a workspace with 100,000 codes wait for?
 *
 * 500 of the codes are scanned every day for two months, the rest never. Lists come with the scans of each
 * item, as the API sends them. Numbers come from the sums that the engine keeps; beside them stands what
 * they would cost from the codes one by one, and what keeping them costs a scan. A search reads every code.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Bench } from 'tinybench';
import { openCampaigns } from '../../src/product/campaigns/open-campaigns.ts';
import { Codes } from '../../src/product/codes/codes.ts';
import type { CodeFilter } from '../../src/product/codes/search/listing.ts';
import { partitionCount } from '../../src/model/code.ts';
import { dayMs } from '../../src/model/day.ts';
import type { Actor } from '../../src/model/workspace.ts';
import { ScanBlock } from '../../src/engine/counting/block.ts';
import { CodeActor } from '../../src/engine/counting/code-actor.ts';
import { openScanQueries, type ScanQueries } from '../../src/engine/analytics/queries.ts';
import { countryNumber } from '../../src/model/scan.ts';
import { Summaries } from '../../src/engine/counting/summaries.ts';
import { type Scan, setBlockSequence, Window } from '../../src/engine/counting/window.ts';
import { WorkspaceSums } from '../../src/engine/counting/workspace-sums.ts';
import { openManagement } from '../../src/store/management/management.ts';
import { codesOptions } from '../codes.ts';
import {
  newestSequence,
  openScanStore,
  putCheckpoints,
  type ScanStore,
} from '../../src/store/scans/scans.ts';
import { systemClock } from '../../src/platform/system-clock.ts';

export const question = 'What do lists and summaries of a workspace of 100,000 codes cost?';

interface Row {
  readonly name: string;
  readonly nanosecondsPerOperation: number;
  readonly note?: string;
}

interface Size {
  readonly codeCount: number;
  /** Codes with scans: every step-th. */
  readonly active: number;
  readonly days: number;
}

const whole: Size = { codeCount: 100_000, active: 500, days: 60 };
const tiny: Size = { codeCount: 1_000, active: 20, days: 40 };
const scansPerDay = 8;
const firstDay = 20_635; // 1 July 2026
const pageLimit = 20;
const wave = 1_000;
const namesMax = 100;
const partitions = Array.from({ length: partitionCount }, (_, partition) => partition);
const actor: Actor = {
  userId: 'usr_00000000000000000000',
  workspaceId: 'ws_00000000000000000000',
  workspaceNo: 1,
  role: 'owner',
};

export async function run(options: { readonly quick: boolean }): Promise<Row[]> {
  const size = options.quick ? tiny : whole;
  const folder = mkdtempSync(join(tmpdir(), 'quietzone-bench-'));
  const management = openManagement(join(folder, 'management.mdb'), 'create');
  const scans = openScanStore(join(folder, 'scans.mdb'), 'create');
  try {
    const queries = openScanQueries(scans, (codeNo) => codes.findScanned(codeNo));
    const parts = codesOptions(management);
    const codes = new Codes(parts);
    const members = await fill(codes, size.codeCount);
    const campaigns = openCampaigns({
      ...parts,
      codes,
      scans: queries.analytics,
    });
    const draft = { name: 'Summer', startDay: firstDay, qrCodeIds: members };
    const campaign = await campaigns.campaigns.create(actor, draft);
    const kept = countScans(scans, size);
    return [
      kept,
      ...(await listRows({ codes, queries, campaignId: campaign.id }, size, options.quick)),
      ...(await searchRows(codes, options.quick)),
      ...(await numberRows({ codes, queries }, size, options.quick)),
    ];
  } finally {
    await management.close();
    await scans.environment.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @returns ids of the first 500, for a campaign */
async function fill(codes: Codes, count: number): Promise<string[]> {
  const members: string[] = [];
  for (let made = 0; made < count; made += wave) {
    const drafts = Array.from({ length: Math.min(wave, count - made) }, (_, at) => ({
      target: `https://shop.example.com/products/${made + at}?utm_source=qr`,
      name: `Poster ${made + at}`,
      dynamic: (made + at) % 10 !== 0,
      tags: (made + at) % 2 === 0 ? ['even'] : ['odd', `row-${(made + at) % 50}`],
    }));
    const created = await Promise.all(
      drafts.map(async (draft) => await codes.create(actor, draft)),
    );
    if (made === 0) members.push(...created.slice(0, 500).map(({ id }) => id));
  }
  return members;
}

/** Days of scans into blocks, summaries and sums, as a shard does it. @returns what the sums cost a scan */
function countScans(store: ScanStore, { codeCount, active, days }: Size): Row {
  const summaries = new Summaries(store, namesMax);
  const step = Math.floor(codeCount / active);
  const actors = new Map<number, CodeActor>();
  for (let index = 0; index < active; index++) {
    const codeNo = index * step + 1;
    actors.set(codeNo, new CodeActor(codeNo, summaries));
  }
  const sums = new WorkspaceSums({ store, shard: 0, shards: 1, partitions });
  const window = new Window();
  let spentMs = 0;
  for (let day = 0; day < days; day++) {
    const block = dayBlock(window, [...actors.keys()], firstDay + day);
    store.environment.transactionSync(() => commit(store, block));
    const counted = new ScanBlock(block);
    for (let group = 0; group < counted.groups; group++) {
      actors.get(counted.codeNo(group))?.take(counted, group);
    }
    const startedMs = systemClock.monotonicMs();
    sums.follow();
    sums.count();
    spentMs += systemClock.monotonicMs() - startedMs;
    store.environment.transactionSync(() => {
      for (const one of actors.values()) one.save();
      const savedMs = systemClock.monotonicMs();
      sums.save();
      spentMs += systemClock.monotonicMs() - savedMs;
      putCheckpoints(store, partitions, newestSequence(store));
    });
    for (const one of actors.values()) one.settle();
    sums.settle();
  }
  const scans = active * days * scansPerDay;
  return {
    name: 'keep the workspace’s sums, a scan',
    nanosecondsPerOperation: (spentMs * 1e6) / scans,
    note: `${scans.toLocaleString('en')} scans, saved every ${(active * scansPerDay).toLocaleString('en')}`,
  };
}

function dayBlock(window: Window, codeNos: readonly number[], day: number): Buffer {
  window.clear();
  for (const codeNo of codeNos) {
    for (let index = 0; index < scansPerDay; index++) window.add(scanAt(codeNo, index, day));
  }
  return window.close(0, () => 0);
}

function scanAt(codeNo: number, index: number, day: number): Scan {
  const visitor = codeNo * 31 + index + day * 7;
  return {
    codeNo,
    workspaceNo: actor.workspaceNo,
    timeMs: day * dayMs + index * 3_600_000,
    journal: 0,
    position: (day * 1_000_000 + codeNo * 10 + index) * 8,
    visitorHigh: Math.imul(visitor, 0x9e3779b1) >>> 0,
    visitorLow: Math.imul(visitor, 0x85ebca6b) >>> 0,
    country: countryNumber(index % 3 === 0 ? 'US' : 'DE'),
    city: `City ${(codeNo + index) % 400}, DE`,
    referer: index % 4 === 0 ? 'https://www.example.org/' : '',
    device: 1,
    platform: (index % 2) + 1,
    os: 1,
    browser: 2,
    bot: 0,
    route: 0,
  };
}

function commit(store: ScanStore, bytes: Buffer): void {
  const next = newestSequence(store) + 1;
  setBlockSequence(bytes, next);
  store.blocks.put(next, bytes);
  store.meta.put('sequence', next);
}

interface Modules {
  readonly codes: Codes;
  readonly queries: ScanQueries;
}

async function listRows(
  { codes, queries, campaignId }: Modules & { readonly campaignId: string },
  { codeCount }: Size,
  quick: boolean,
): Promise<Row[]> {
  const list = async (filter: CodeFilter, at: { page?: number; cursor?: string } = {}) => {
    const page = await codes.list(actor.workspaceNo, { filter, limit: pageLimit, ...at });
    for (const { no } of page.data) queries.analytics.lifetimeScans(no);
    return page;
  };
  const expect = async (filter: CodeFilter, total: number): Promise<void> => {
    const found = (await list(filter)).total;
    if (found !== total) throw new Error(`Cannot bench: total ${found}, expected ${total}`);
  };
  await expect({}, codeCount);
  await expect({ dynamic: false }, codeCount / 10);
  await expect({ tag: 'even' }, codeCount / 2);
  await expect({ campaignId }, 500);
  const deep = await list({}, { page: codeCount / pageLimit - 2 });
  const cursor = deep.nextCursor ?? '';
  const bench = newBench(quick)
    .add('list: first page', async () => void (await list({})))
    .add('list: by type', async () => void (await list({ type: 'url' })))
    .add('list: by tag', async () => void (await list({ tag: 'even' })))
    .add('list: by campaign', async () => void (await list({ campaignId })))
    .add('list: by campaign and tag', async () => void (await list({ campaignId, tag: 'even' })))
    .add('list: last page by number', async () => {
      await list({}, { page: codeCount / pageLimit });
    })
    .add('list: deep page by cursor', async () => void (await list({}, { cursor })));
  return rowsOf(await bench.run());
}

/** First pages of searches whose total is not known: a day that excludes nothing makes each another one. */
async function searchRows(codes: Codes, quick: boolean): Promise<Row[]> {
  let fresh = 0;
  const search = async (filter: CodeFilter): Promise<number> => {
    fresh = (fresh + 1) % firstDay;
    const request = { filter: { ...filter, fromDay: fresh }, limit: pageLimit };
    return (await codes.list(actor.workspaceNo, request)).total;
  };
  const found = await search({ search: 'products/77' });
  if (found !== (quick ? 11 : 1_111)) throw new Error(`Cannot bench: ${found} found`);
  const bench = newBench(quick)
    .add('search: found in few', async () => void (await search({ search: `ducts/${fresh}` })))
    .add('search: two words', async () => void (await search({ search: `ster ${fresh}` })))
    .add('search: found in all', async () => void (await search({ search: 'example.com' })))
    .add('search: found in none', async () => void (await search({ search: `none${fresh}` })))
    .add('search: 1 letter', async () => void (await search({ search: letter(fresh) })))
    .add('search: 2 letters', async () => {
      await search({ search: letter(fresh) + letter(fresh * 7) });
    })
    .add('search: found in all, of a tag', async () => {
      await search({ search: 'example.com', tag: 'even' });
    });
  return rowsOf(await bench.run());
}

function letter(number: number): string {
  return String.fromCharCode(0x61 + (number % 26));
}

async function numberRows(
  { codes, queries }: Modules,
  { active, codeCount, days }: Size,
  quick: boolean,
): Promise<Row[]> {
  const lastDay = firstDay + days - 1;
  const range = { fromDay: lastDay - 29, toDay: lastDay };
  const before = { fromDay: lastDay - 59, toDay: lastDay - 30 };
  const codeNos = Array.from({ length: codeCount }, (_, index) => index + 1);
  const { workspaceNo } = actor;
  const top = { ...range, workspaceNo, limit: 10 };
  const subject = { workspace: workspaceNo };
  const { analytics, topCodes } = queries;
  const isListed = (codeNo: number): boolean => codes.findByNo(codeNo)?.deletedAtMs === undefined;
  const sum = await analytics.totals(subject, range);
  const union = await analytics.totals({ codes: codeNos }, range);
  const best = await topCodes.find({ ...top, isListed });
  if (sum.totalScans !== active * 30 * scansPerDay || union.totalScans !== sum.totalScans) {
    throw new Error(`Wrong answer: ${sum.totalScans} and ${union.totalScans} scans`);
  }
  if (sum.uniqueScanners !== union.uniqueScanners || best.length !== 10) {
    throw new Error(`Wrong answer: ${sum.uniqueScanners} and ${union.uniqueScanners} scanners`);
  }
  const bench = newBench(quick)
    .add('summary, 30 days and the 30 before', async () => {
      await analytics.totals(subject, range);
      await analytics.series(subject, range, 'day');
      await analytics.totals(subject, before);
      await topCodes.find({ ...top, isListed });
    })
    .add('top codes alone', async () => void (await topCodes.find({ ...top, isListed })))
    .add('breakdown by city', async () => {
      await analytics.breakdown(subject, range, 'city');
    });
  const rows = rowsOf(await bench.run());
  const naive = newBench(true).add('totals from the codes one by one', async () => {
    await analytics.totals({ codes: codeNos }, range);
  });
  return [...rows, ...rowsOf(await naive.run())];
}

function newBench(quick: boolean): Bench {
  return new Bench(
    quick ? { time: 1, iterations: 2, warmup: false } : { time: 1_000, warmupTime: 100 },
  );
}

function rowsOf(tasks: Awaited<ReturnType<Bench['run']>>): Row[] {
  return tasks.map(({ name, result }) => {
    if (!('latency' in result)) throw new Error(`Cannot bench ${name}: it did not complete`);
    const { p50, p99 } = result.latency;
    return { name, nanosecondsPerOperation: p50 * 1e6, note: `p99 ${p99.toFixed(2)} ms` };
  });
}
