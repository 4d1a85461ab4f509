/**
 * Removes the numbers of expired codes: summary, days, months, sketch chunks and counts by code. The shard that owns a code's
 * partition removes a bounded number of keys at each checkpoint, so that no window waits: ten busy years have 60,000.
 * Progress is only in the store, so after a crash there is just more to remove. Raw scans stay until their blocks expire;
 * without the summary no query finds them.
 */
import type { ExpiredCode } from '../../model/code.ts';
import { readOr } from '../../model/failure.ts';
import type { Table } from '../../store/environment.ts';
import { chunkKey, monthSpan, type ScanStore, spanKey, spanOf } from '../../store/scans/scans.ts';
import { removeCount } from './code-counts.ts';
import { monthOf, type Summaries } from './summaries.ts';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';

/** Keys that one step removes: 1 to 2 ms. */
const keysMax = 500;
/** Cost of a day or month in keys: its record of counts, 16 KB at most, is rewritten. */
const spanKeys = 10;
/** Waiting codes; the caller asks again for more. */
const waitingMax = 10_000;
const spanEnd = 0xffff;

export class CodeExpiry {
  readonly #store: ScanStore;
  readonly #summaries: Summaries;
  /** Workspace by code. */
  readonly #waiting = new Map<number, number>();
  /** Codes that the open transaction has removed completely. */
  #finished: number[] = [];
  #done: number[] = [];

  constructor(store: ScanStore, summaries: Summaries) {
    this.#store = store;
    this.#summaries = summaries;
  }

  get isIdle(): boolean {
    return this.#waiting.size === 0;
  }

  get codeNos(): Iterable<CodeNo> {
    return this.#waiting.keys();
  }

  add(codes: readonly ExpiredCode[]): void {
    for (const { codeNo, workspaceNo } of codes) {
      if (this.#waiting.size < waitingMax) this.#waiting.set(codeNo, workspaceNo);
    }
  }

  /** One step, inside a transaction; call `settle` once it has committed. */
  step(): void {
    this.#finished = [];
    let left = keysMax;
    for (const [codeNo, workspaceNo] of this.#waiting) {
      left -= this.#remove(codeNo, workspaceNo, left);
      if (left <= 0) return;
      this.#finished.push(codeNo);
    }
  }

  settle(): void {
    for (const codeNo of this.#finished) this.#waiting.delete(codeNo);
    this.#done.push(...this.#finished);
    this.#finished = [];
  }

  takeDone(): number[] {
    return this.#done.splice(0);
  }

  /** Undefined when the summary is damaged: that day's counts then keep a code that no list shows. */
  #newestDayOf(codeNo: CodeNo): number | undefined {
    return readOr(() => this.#summaries.newestPieces(codeNo)?.[0]?.day, undefined);
  }

  /** @returns the cost in keys; `limit` or more when keys may remain */
  #remove(codeNo: CodeNo, workspaceNo: WorkspaceNo, limit: number): number {
    const { chunks, days, months, summaries, frozen } = this.#store;
    const spans = { start: spanKey(codeNo, 0), end: spanKey(codeNo, spanEnd) };
    const pieces = { start: chunkKey(codeNo, 0, 0), end: chunkKey(codeNo, spanEnd, 0) };
    const uncount = (span: number): void => removeCount(this.#store, workspaceNo, codeNo, span);
    let cost = removeRange(chunks, pieces, limit).length;
    const spansLeft = (): number => Math.ceil(Math.max(0, limit - cost) / spanKeys);
    for (const key of removeRange(days, spans, spansLeft())) {
      uncount(spanOf(key));
      cost += spanKeys;
    }
    for (const key of removeRange(months, spans, spansLeft())) {
      uncount(monthSpan(spanOf(key)));
      cost += spanKeys;
    }
    if (cost >= limit) return cost;
    if (!summaries.has(codeNo)) return cost;
    const day = this.#newestDayOf(codeNo);
    if (day !== undefined) {
      uncount(day);
      uncount(monthSpan(monthOf(day)));
    }
    summaries.remove(codeNo);
    frozen.remove(codeNo);
    return cost + spanKeys;
  }
}

function removeRange(
  table: Table<Uint8Array, Uint8Array>,
  range: { readonly start: Uint8Array; readonly end: Uint8Array },
  limit: number,
): Uint8Array[] {
  if (limit <= 0) return [];
  const keys = [...table.keys({ ...range, limit })];
  for (const key of keys) table.remove(key);
  return keys;
}
