/**
 * The codes of a workspace with the most scans in a range, from the counts that the engine keeps by code
 * and day (code-counts.ts) and the blocks since.
 *
 * The counts are walked a chunk of 4,096 codes at a time, each in one snapshot, in slices that yield to
 * the event loop: a chunk costs its months and edge days, about 5 µs each and 50 ns a code in them.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { DayRange } from '../../model/day.ts';
import { monthSpan, type ScanStore } from '../../store/scans/scans.ts';
import { chunkOf, chunkOfKey, countKey, readCounts } from '../code-counts.ts';
import type { CodeScans } from './analytics.ts';
import { isWithin, type Ranges, spansOf, type Spans } from './range.ts';
import { firstDayOf } from '../summaries.ts';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';

/** Codes and records of one slice: about 2 ms. */
const sliceMax = 20_000;
const recordCost = 100;

export interface TopCodesRequest extends DayRange {
  readonly workspaceNo: WorkspaceNo;
  readonly limit: number;
  /** Asked of each code that would get into the list: deleted codes stay out. */
  readonly isListed: (codeNo: CodeNo) => boolean;
}

export class TopCodes {
  readonly #store: ScanStore;
  readonly #ranges: Ranges;

  constructor(store: ScanStore, ranges: Ranges) {
    this.#store = store;
    this.#ranges = ranges;
  }

  /** Most scans first, ties by age of the code. */
  async find(request: TopCodesRequest): Promise<CodeScans[]> {
    const { workspaceNo } = request;
    const spans = spansOf(request);
    const best = new Best(request);
    const seen = new Set<number>();
    let recent = this.#recent(workspaceNo, spans);
    let cost = 0;
    for (let chunk = this.#nextChunk(workspaceNo, 0); chunk !== undefined;) {
      seen.add(chunk);
      const counts = new Map(recent.get(chunk));
      cost += recordCost * this.#addChunk(workspaceNo, chunk, spans, counts) + counts.size;
      best.offer(counts);
      if (cost >= sliceMax) {
        await yieldToEventLoop();
        cost = 0;
        recent = this.#recent(workspaceNo, spans);
      }
      chunk = this.#nextChunk(workspaceNo, chunk + 1);
    }
    for (const [chunk, counts] of recent) if (!seen.has(chunk)) best.offer(counts);
    return best.rows();
  }

  /** Scans since the last checkpoint, by chunk and code, of the newest commit. */
  #recent(workspaceNo: WorkspaceNo, spans: Spans): Map<number, Map<number, number>> {
    const chunks = new Map<number, Map<number, number>>();
    this.#ranges.refresh();
    this.#ranges.recent.eachGroup(workspaceNo, (block, group) => {
      const codeNo = block.codeNo(group);
      let scans = 0;
      const end = block.first(group) + block.count(group);
      for (let entry = block.first(group); entry < end; entry++) {
        if (block.isScan(entry) && isWithin(block.day(entry), spans)) scans++;
      }
      if (scans === 0) return;
      const counts = chunks.get(chunkOf(codeNo)) ?? new Map<number, number>();
      counts.set(codeNo, (counts.get(codeNo) ?? 0) + scans);
      chunks.set(chunkOf(codeNo), counts);
    });
    return chunks;
  }

  #nextChunk(workspaceNo: WorkspaceNo, from: number): number | undefined {
    const range = {
      start: countKey(workspaceNo, from, 0),
      end: countKey(workspaceNo + 1, 0, 0),
      limit: 1,
    };
    for (const key of this.#store.codeCounts.keys(range)) return chunkOfKey(key);
    return undefined;
  }

  /** @returns records read */
  #addChunk(
    workspaceNo: WorkspaceNo,
    chunk: number,
    { fromDay, toDay, firstMonth, endMonth }: Spans,
    counts: Map<number, number>,
  ): number {
    let records = 1;
    const add = (from: number, end: number): void => {
      if (from >= end) return;
      const start = countKey(workspaceNo, chunk, from);
      const range = { start, end: countKey(workspaceNo, chunk, end) };
      for (const { value } of this.#store.codeCounts.range(range)) {
        readCounts(value, chunk, counts);
        records++;
      }
    };
    if (firstMonth < endMonth) {
      add(fromDay, firstDayOf(firstMonth));
      add(monthSpan(firstMonth), monthSpan(endMonth));
      add(firstDayOf(endMonth), toDay + 1);
    } else {
      add(fromDay, toDay + 1);
    }
    return records;
  }
}

/** The codes with the most scans of all that are offered. */
class Best {
  readonly #request: TopCodesRequest;
  readonly #rows: CodeScans[] = [];

  constructor(request: TopCodesRequest) {
    this.#request = request;
  }

  offer(counts: ReadonlyMap<number, number>): void {
    const { limit, isListed } = this.#request;
    for (const [codeNo, scans] of counts) {
      const row = { codeNo, scans };
      const last = this.#rows[limit - 1];
      if (last !== undefined && order(row, last) >= 0) continue;
      if (!isListed(codeNo)) continue;
      const at = this.#rows.findIndex((other) => order(row, other) < 0);
      this.#rows.splice(at === -1 ? this.#rows.length : at, 0, row);
      this.#rows.length = Math.min(this.#rows.length, limit);
    }
  }

  rows(): CodeScans[] {
    return this.#rows;
  }
}

const order = (one: CodeScans, other: CodeScans): number =>
  other.scans - one.scans || one.codeNo - other.codeNo;
