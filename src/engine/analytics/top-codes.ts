/**
 * The codes of a workspace with the most scans in a range, from the counts by code and day (code-counts.ts) and the blocks
 * since. Reads one chunk of 4,096 codes at a time, each in one snapshot, in slices that yield to the event loop. A chunk costs
 * its months and edge days, about 5 µs each and 50 ns a code.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { monthSpan, type ScanStore, workspaceCounter } from '../../store/scans/scans.ts';
import {
  chunkOf,
  chunkOfKey,
  codesPerChunk,
  countKey,
  eachCount,
  firstOfChunk,
  quartersOf,
  spanOfKey,
} from '../counting/code-counts.ts';
import { timesOfQuarters } from '../counting/days/day.ts';
import { type CodeScans, mostScansFirst } from './subject.ts';
import type { LocalRange } from '../../model/zones/local-range.ts';
import type { Ranges } from './range.ts';
import { isWithin, overlapOf, type Spans, spansOf } from './spans.ts';
import { firstDayOf } from '../counting/summaries.ts';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';

/** Cost of one slice, in codes: about 2 ms. */
const sliceMax = 20_000;
const recordCost = 100;

export interface TopCodesRequest extends LocalRange {
  readonly workspaceNo: WorkspaceNo;
  readonly limit: number;
  /** Called for each code that would get into the list: deleted codes stay out. */
  readonly isListed: (codeNo: CodeNo) => boolean;
}

export class TopCodes {
  readonly #store: ScanStore;
  readonly #ranges: Ranges;

  constructor(store: ScanStore, ranges: Ranges) {
    this.#store = store;
    this.#ranges = ranges;
  }

  /** Most scans first, ties by age of the code. @throws Failure validation_failed */
  async find(request: TopCodesRequest): Promise<CodeScans[]> {
    const best = new Best(request);
    await this.eachChunk(request, (counts) => best.offer(counts));
    return best.rows();
  }

  /** Visits the scans of all codes with some in a range, 4,096 codes at a time. @throws Failure validation_failed */
  async eachChunk(
    request: LocalRange & { readonly workspaceNo: WorkspaceNo },
    visit: (counts: ReadonlyMap<number, number>) => void,
  ): Promise<void> {
    const { workspaceNo } = request;
    const spans = spansOf(request);
    const seen = new Set<number>();
    let recent = this.#recent(workspaceNo, spans);
    let cost = 0;
    for (let chunk = this.#nextChunk(workspaceNo, 0); chunk !== undefined;) {
      seen.add(chunk);
      const counts = new Map(recent.get(chunk));
      const { records, partly } = this.#addChunk(workspaceNo, chunk, spans, counts);
      cost += recordCost * records + counts.size;
      await this.#recount(partly, spans, counts);
      visit(counts);
      // Other reads ran meanwhile: stored counts may now include recent ones.
      if (cost >= sliceMax || partly.size > 0) {
        await yieldToEventLoop();
        cost = 0;
        recent = this.#recent(workspaceNo, spans);
      }
      chunk = this.#nextChunk(workspaceNo, chunk + 1);
    }
    for (const [chunk, counts] of recent) if (!seen.has(chunk)) visit(counts);
  }

  /** Counts codes from their own records: those of the workspace are not cut at the range's edge. */
  async #recount(
    codes: ReadonlySet<CodeNo>,
    spans: Spans,
    counts: Map<CodeNo, number>,
  ): Promise<void> {
    let cost = 0;
    for (const codeNo of codes) {
      const [scans, records] = this.#ranges.scans(codeNo, spans);
      if (scans > 0) counts.set(codeNo, scans);
      else counts.delete(codeNo);
      cost += recordCost * (1 + records);
      if (cost < sliceMax) continue;
      await yieldToEventLoop();
      cost = 0;
      this.#ranges.refresh();
    }
  }

  /** Scans since the last checkpoint, at the newest commit: by chunk, then by code. */
  #recent(workspaceNo: WorkspaceNo, spans: Spans): Map<number, Map<CodeNo, number>> {
    this.#ranges.refresh();
    const recent = new Map<number, Map<CodeNo, number>>();
    this.#ranges.recent.each(workspaceCounter(workspaceNo), (block, entry, group) => {
      if (!block.isScan(entry) || !isWithin(block.timeMs(entry), spans)) return;
      const codeNo = block.codeNo(group);
      const counts = recent.get(chunkOf(codeNo)) ?? new Map<CodeNo, number>();
      counts.set(codeNo, (counts.get(codeNo) ?? 0) + 1);
      recent.set(chunkOf(codeNo), counts);
    });
    return recent;
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

  /** @returns records read, and the codes of partly covered records */
  #addChunk(
    workspaceNo: WorkspaceNo,
    chunk: number,
    spans: Spans,
    counts: Map<number, number>,
  ): { readonly records: number; readonly partly: Set<number> } {
    const { fromDay, endDay, firstMonth, endMonth, edgeDays } = spans;
    const sums = new ChunkSums(chunk);
    const partly = new Set<CodeNo>();
    let records = 1;
    const add = (from: number, end: number): void => {
      if (from >= end) return;
      const start = countKey(workspaceNo, chunk, from);
      const range = { start, end: countKey(workspaceNo, chunk, end) };
      for (const { key, value } of this.#store.codeCounts.range(range)) {
        records++;
        const overlap = edgeDays.includes(from)
          ? overlapOf(timesOfQuarters(spanOfKey(key), quartersOf(value)), spans)
          : 'inside';
        if (overlap === 'inside') sums.add(value);
        else if (overlap === 'partly') {
          eachCount(value, (index) => partly.add(firstOfChunk(chunk) + index));
        }
      }
    };
    for (const day of edgeDays) add(day, day + 1);
    if (firstMonth < endMonth) {
      add(fromDay, firstDayOf(firstMonth));
      add(monthSpan(firstMonth), monthSpan(endMonth));
      add(firstDayOf(endMonth), endDay);
    } else {
      add(fromDay, endDay);
    }
    sums.addTo(counts);
    return { records, partly };
  }
}

/** Scans by code of a chunk, from many records: a third of a map's time. */
class ChunkSums {
  readonly #first: number;
  readonly #scans = new Float64Array(codesPerChunk);
  readonly #seen: number[] = [];

  constructor(chunk: number) {
    this.#first = firstOfChunk(chunk);
  }

  add(bytes: Uint8Array): void {
    eachCount(bytes, (index, scans) => {
      if (this.#scans[index] === 0) this.#seen.push(index);
      this.#scans[index]! += scans;
    });
  }

  addTo(counts: Map<number, number>): void {
    for (const index of this.#seen) {
      const codeNo = this.#first + index;
      counts.set(codeNo, (counts.get(codeNo) ?? 0) + this.#scans[index]!);
    }
  }
}

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
      if (last !== undefined && mostScansFirst(row, last) >= 0) continue;
      if (!isListed(codeNo)) continue;
      const at = this.#rows.findIndex((other) => mostScansFirst(row, other) < 0);
      this.#rows.splice(at === -1 ? this.#rows.length : at, 0, row);
      this.#rows.length = Math.min(this.#rows.length, limit);
    }
  }

  rows(): CodeScans[] {
    return this.#rows;
  }
}
