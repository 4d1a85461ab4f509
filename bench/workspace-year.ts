/**
 * A workspace with two years of scans, and its summary as the API asks for it: the route itself is called, with the words of a
 * query, and what it answers is JSON. The codes are real ones, all scanned every day.
 */
import { join } from 'node:path';
import { workspaceAnalyticsRoutes } from '../src/api/analytics/workspace-analytics.ts';
import { Codes } from '../src/product/codes/codes.ts';
import { dayMs, formatDay } from '../src/model/day.ts';
import type { WorkspaceNo } from '../src/model/numbers.ts';
import type { Actor } from '../src/model/workspace.ts';
import type { LocalRange } from '../src/model/zones/local-range.ts';
import { addCounts, countScans, type PieceCounts } from '../src/engine/counting/code-counts.ts';
import type { Day } from '../src/engine/counting/days/day.ts';
import type { ScanQueries } from '../src/engine/analytics/queries.ts';
import { openManagement } from '../src/store/management/management.ts';
import type { ScanStore } from '../src/store/scans/scans.ts';
import { systemClock } from '../src/platform/system-clock.ts';
import { codesOptions } from './codes.ts';

const topCodes = 10;

/** @returns what closes it */
export function openCodes(folder: string): {
  readonly codes: Codes;
  readonly close: () => Promise<void>;
} {
  const store = openManagement(join(folder, 'management.mdb'), 'create');
  const codes = new Codes(codesOptions(store));
  return { codes, close: () => store.close() };
}

/** @returns the numbers of the codes */
export async function createCodes(codes: Codes, owner: Actor, count: number): Promise<number[]> {
  const drafts = Array.from({ length: count }, (_, at) => ({
    target: `https://shop.example.com/products/${at}`,
    name: `Poster ${at}`,
  }));
  const created = await Promise.all(drafts.map(async (draft) => await codes.create(owner, draft)));
  return created.map(({ no }) => no);
}

/** Each code has its share of a day's pieces. Inside a transaction. */
export function countCodes(
  store: ScanStore,
  workspaceNo: WorkspaceNo,
  codeNos: readonly number[],
  { pieces }: Day,
): void {
  const counts: PieceCounts = new Map();
  for (const piece of pieces) {
    const share = Math.floor(piece.rollup.scans / codeNos.length);
    codeNos.forEach((codeNo, at) =>
      countScans(counts, piece, codeNo, Math.max(1, share - (at % 50))),
    );
  }
  addCounts(store, workspaceNo, counts);
}

/** The summary of a range in the zone of the workspace and of the days before it, asked for when the range is over in every zone. */
export function summaryOf(
  codes: Codes,
  scans: ScanQueries,
  owner: Actor,
  { fromDay, toDay, calendar }: LocalRange,
): () => Promise<string> {
  const zone = calendar?.zone ?? 'UTC';
  const clock = { ...systemClock, now: () => (toDay + 2) * dayMs };
  const zoneOf = () => ({ timezone: zone });
  const routes = workspaceAnalyticsRoutes({ codes, scans, clock, zoneOf });
  const route = routes.find(({ operationId }) => operationId === 'getSummary')!;
  const query = `from=${formatDay(fromDay)}&to=${formatDay(toDay)}&timezone=workspace&compare=previous`;
  const call = {
    actor: owner,
    session: undefined,
    clientAddress: '',
    params: {},
    query,
    contentType: undefined,
    body: () => Promise.reject(new Error('No body')),
    chunks: () => {
      throw new Error('No body');
    },
    header: () => undefined,
    keep: () => undefined,
  };
  return async () => {
    const { body } = await route.run(call);
    if (typeof body !== 'string') throw new Error('Wrong answer: expected JSON');
    return body;
  };
}

/** @param scans of days of 24 hours: where clocks change, a range has an hour more or less @throws Error */
export function checkSummary(body: string, scans: number): void {
  const found = JSON.parse(body);
  const inDays = found.scansPerDay.reduce((sum: number, day: CountedDay) => sum + day.scans, 0);
  const isNear = (count: number): boolean => Math.abs(count / scans - 1) < 0.01;
  if (!isNear(found.totalScans) || inDays !== found.totalScans) {
    throw new Error(`Wrong answer: ${found.totalScans} and ${inDays} scans`);
  }
  if (!isNear(found.previous.totalScans) || !found.previous.complete) {
    throw new Error(`Wrong answer: ${found.previous.totalScans} scans in the period before`);
  }
  if (found.topCodes.length !== topCodes)
    throw new Error(`Wrong answer: ${found.topCodes.length} codes`);
}

interface CountedDay {
  readonly scans: number;
}
