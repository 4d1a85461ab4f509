/**
 * What do analytics cost over a year of a busy code?
 *
 * One code with 10 million scans: 27,400 a day, from 50,000 visitors each day of which half come back.
 * The summaries are built as checkpoints build them; the last days are still in the head.
 * Two workspaces have as many, in the year that a summary is of and in the one before: one in UTC, one in a time zone.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Bench } from 'tinybench';
import type { Codes } from '../../src/product/codes/codes.ts';
import { openScanQueries } from '../../src/engine/analytics/queries.ts';
import { countryNumber } from '../../src/model/scan.ts';
import { Dimension } from '../../src/engine/counting/rollup.ts';
import { calendarOf } from '../../src/model/zones/calendar.ts';
import type { LocalRange } from '../../src/model/zones/local-range.ts';
import { type Day, type Piece, quartersPerDay } from '../../src/engine/counting/days/day.ts';
import { ZoneCuts } from '../../src/engine/counting/days/zone-cuts.ts';
import type { ScanAnalytics } from '../../src/engine/analytics/analytics.ts';
import { Summaries } from '../../src/engine/counting/summaries.ts';
import { openScanStore, type ScanStore, workspaceCounter } from '../../src/store/scans/scans.ts';
import { checkSummary, countCodes, createCodes, openCodes, summaryOf } from '../workspace-year.ts';

export const question = 'What do analytics over a year of a code with 10 M scans cost?';

export interface Row {
  readonly name: string;
  readonly nanosecondsPerOperation: number;
  readonly note?: string;
}

const codeNo = 1;
/** Its workspace has a time zone: its days are cut. */
const zonedCodeNo = 2;
const zone = 'America/New_York';
const zonedWorkspace = { workspaceNo: 2, zone, sinceDay: 0, before: zone };
const firstDay = 20_454; // 1 January 2026
const namesMax = 100;
const visitorsPerDay = 50_000;
/** A year of a summary begins and ends so many days within a month; there are scans as long before and after. */
const daysIntoMonth = 15;

/** Scans of a day, evenly over its quarters of an hour; the first has what is over. */
function countDay(day: Day, scans: number): void {
  const perQuarter = Math.floor(scans / quartersPerDay);
  for (const piece of day.pieces) {
    const quarters = piece.endQuarter - piece.fromQuarter;
    const rest = piece.index === 0 ? scans - perQuarter * quartersPerDay : 0;
    countPiece(piece, perQuarter, rest);
    const counted = quarters * perQuarter + rest;
    if (piece.rollup.scans !== counted) throw new Error('Wrong number of scans in a piece');
  }
}

/** A piece's scans in one go: visitors by an odd step through a year's pool, half of them new each day. */
function countPiece(piece: Piece, perQuarter: number, rest: number): void {
  const { rollup, sketch, fromQuarter, endQuarter } = piece;
  const scans = (endQuarter - fromQuarter) * perQuarter + rest;
  const from = piece.day * (visitorsPerDay / 2);
  for (let scan = 0; scan < scans; scan++) {
    const visitor = from + ((scan * 7_919) % visitorsPerDay);
    const high = Math.imul(visitor ^ 0x5bd1e995, 0x9e3779b1);
    const mixed = Math.imul(high ^ (high >>> 15), 0x85ebca6b);
    sketch.add((mixed ^ (mixed >>> 13)) >>> 0, Math.imul(visitor, 0xc2b2ae35) >>> 0);
  }
  rollup.scans = scans;
  for (const [dimension, values] of [
    [Dimension.platform, 3],
    [Dimension.device, 4],
    [Dimension.os, 7],
    [Dimension.browser, 12],
  ] as const) {
    for (let value = 0; value < values; value++) {
      const share = Math.floor(scans / values);
      rollup.count(dimension, value, value === 0 ? scans - share * (values - 1) : share);
    }
  }
  for (let quarter = fromQuarter; quarter < endQuarter; quarter++) {
    rollup.count(Dimension.quarter, quarter, perQuarter + (quarter === fromQuarter ? rest : 0));
  }
  const share = Math.floor(scans / 60);
  for (let country = 0; country < 60; country++) {
    const code = String.fromCharCode(65 + (country % 26), 65 + Math.floor(country / 26));
    rollup.count(
      Dimension.country,
      countryNumber(code),
      country === 0 ? scans - share * 59 : share,
    );
  }
  for (let name = 0; name < namesMax; name++) {
    rollup.countName(Dimension.city, `City ${name}, DE`, Math.floor(scans / namesMax));
    rollup.countName(Dimension.referer, `r${name}.example`, Math.floor(scans / namesMax));
  }
}

interface Size {
  readonly days: number;
  readonly scansPerDay: number;
  /** All of them scanned every day. */
  readonly codesPerWorkspace: number;
}

const quickSize: Size = { days: 62, scansPerDay: 480, codesPerWorkspace: 50 };
const wholeSize: Size = { days: 365, scansPerDay: 27_400, codesPerWorkspace: 500 };

interface Counted {
  readonly workspaceNo: number;
  readonly counter: number;
  readonly from: number;
  readonly days: number;
  readonly scansPerDay: number;
  /** Scanned in equal parts; absent = not counted by code. */
  readonly codeNos?: readonly number[];
}

function build(store: ScanStore, counted: Counted): void {
  const { workspaceNo, counter, from, days, scansPerDay, codeNos } = counted;
  const summaries = new Summaries(store, namesMax, new ZoneCuts([zonedWorkspace]));
  for (let index = 0; index < days; index++) {
    const day = summaries.emptyDay(from + index, workspaceNo);
    countDay(day, scansPerDay);
    store.environment.transactionSync(() => {
      if (codeNos !== undefined) countCodes(store, workspaceNo, codeNos, day);
      const total = days * scansPerDay;
      if (index < days - 1) summaries.closeDay(counter, day);
      else summaries.putSummary(counter, { total, newestBlock: 0, newestDay: day });
    });
  }
}

/** Summaries of two workspaces over a range of days, with the one before. */
async function addSummaries(
  bench: Bench,
  store: ScanStore,
  codes: Codes,
  { days, scansPerDay, codesPerWorkspace }: Size,
): Promise<void> {
  const fromDay = firstDay + daysIntoMonth;
  const range = { fromDay, toDay: fromDay + days - 1 };
  const spare = 2 * daysIntoMonth;
  const scans = openScanQueries(store, (codeNo) => codes.findScanned(codeNo));
  for (const [workspaceNo, name, of] of [
    [1, 'summary of a workspace', range],
    [zonedWorkspace.workspaceNo, 'in a zone, summary', { ...range, calendar: calendarOf(zone)! }],
  ] as const) {
    const owner = { userId: 'usr_1', workspaceId: 'ws_1', workspaceNo, role: 'owner' } as const;
    const codeNos = await createCodes(codes, owner, codesPerWorkspace);
    const counter = workspaceCounter(workspaceNo);
    const counted = { from: fromDay - days - spare, days: 2 * (days + spare), scansPerDay };
    build(store, { workspaceNo, counter, ...counted, codeNos });
    const ask = summaryOf(codes, scans, owner, of);
    checkSummary(await ask(), days * scansPerDay);
    bench.add(name, async () => void (await ask()));
  }
}

/** Days of New York, where days are cut, and where only their quarters are known: these have no totals without raw scans. */
function addZoned(
  bench: Bench,
  analytics: Pick<ScanAnalytics, keyof ScanAnalytics>,
  range: LocalRange,
): void {
  const zoned = { code: zonedCodeNo };
  const before = { ...range, fromDay: range.fromDay - 1, toDay: range.fromDay - 1 };
  bench.add('in a zone, analytics with new and returning scanners', async () => {
    await analytics.totalsWithScanners(zoned, range);
  });
  bench.add('in a zone, analytics', async () => void (await analytics.totals(zoned, range)));
  bench.add('in a zone, analytics of a day', async () => {
    await analytics.totals(zoned, before);
  });
  for (const interval of ['day', 'week', 'month'] as const) {
    bench.add(`in a zone, time series by ${interval}`, async () => {
      await analytics.series(zoned, range, interval);
    });
  }
  for (const by of ['country', 'city', 'os', 'hour', 'hour_of_week'] as const) {
    bench.add(`in a zone, by ${by}`, async () => {
      await analytics.breakdown(zoned, range, by);
    });
  }
  bench.add('in another zone, time series by day', async () => {
    await analytics.series({ code: codeNo }, range, 'day');
  });
}

/** The median call of each case. */
export async function run(options: { readonly quick: boolean }): Promise<Row[]> {
  const size = options.quick ? quickSize : wholeSize;
  const { days, scansPerDay } = size;
  const folder = mkdtempSync(join(tmpdir(), 'quietzone-bench-'));
  const store = openScanStore(join(folder, 'scans.mdb'), 'create');
  for (const no of [codeNo, zonedCodeNo]) {
    build(store, { workspaceNo: no, counter: no, from: firstDay, days, scansPerDay });
  }
  const { analytics } = openScanQueries(store, () => ({ id: 'qr_1' }));
  const subject = { code: codeNo };
  const last = firstDay + days - 1;
  const all = { fromDay: firstDay, toDay: last };
  const edges = { fromDay: firstDay + 15, toDay: last - 15 };
  const week = { fromDay: last - 6, toDay: last };
  const { totalScans, uniqueScanners, devices } = await analytics.totals(subject, all);
  const platforms = devices.ios + devices.android + devices.other;
  if (
    totalScans !== days * scansPerDay ||
    platforms !== totalScans ||
    uniqueScanners < scansPerDay
  ) {
    throw new Error(`Wrong answer: ${totalScans} scans, ${platforms} of devices`);
  }
  const bench = new Bench(
    options.quick ? { time: 1, iterations: 2, warmup: false } : { time: 3_000 },
  );
  bench.add('analytics, all days', async () => void (await analytics.totals(subject, all)));
  bench.add('analytics, edges inside months', async () => {
    await analytics.totals(subject, edges);
  });
  bench.add('analytics, the last 7 days', async () => {
    await analytics.totals(subject, week);
  });
  bench.add('time series by day, all days', async () => {
    await analytics.series(subject, all, 'day');
  });
  addZoned(bench, analytics, { ...edges, calendar: calendarOf(zone)! });
  bench.add('lifetime scans', () => void analytics.lifetimeScans(codeNo));
  const { codes, close } = openCodes(folder);
  await addSummaries(bench, store, codes, size);
  await bench.run();
  await close();
  await store.environment.close();
  rmSync(folder, { recursive: true });
  return bench.tasks.map(({ name, result }): Row => {
    if (result.state !== 'completed') throw new Error(`Cannot measure ${name}: ${result.state}`);
    const { p50, p99 } = result.latency;
    const note = `p50 ${p50.toFixed(3)} ms, p99 ${p99.toFixed(3)} ms; ${uniqueScanners} scanners`;
    return { name: `${name}, ${totalScans} scans`, nanosecondsPerOperation: p50 * 1e6, note };
  });
}
