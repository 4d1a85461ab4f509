/** A query over raw scans, its answer, and the memory through which it is canceled. */
import type { CodeNo, WorkspaceNo } from '../../../model/numbers.ts';
import type { Sketch } from '../../../model/sketch/sketch.ts';
import type { TimeRange } from '../../../model/zones/local-range.ts';
import type { CounterKind } from '../../../store/scans/scans.ts';
import type { Rollup } from '../../counting/rollup.ts';
import type { ScanFilter } from '../filter.ts';

export interface RawQuery extends TimeRange {
  /** Runs one query at a time. */
  readonly workspaceNo?: WorkspaceNo | undefined;
  /** Ascending; absent = all of the workspace. At least one of `workspaceNo` and `codes` is set. */
  readonly codes?: Uint32Array | undefined;
  /** Scans of the range in the records of the same codes, without the filter: reading ends when they are found. */
  readonly expected?: number | undefined;
  /** For bots and visits without a redirect, which have no expected number. */
  readonly readsAll?: boolean | undefined;
  readonly filter: ScanFilter;
  /** Whether to count people's routes: only for one code. */
  readonly of: CounterKind;
}

export interface RawAnswer {
  readonly rollup: Rollup;
  readonly sketch: Sketch;
  /** Matching scans by quarter of an hour from `fromMs`. */
  readonly quarters: Float64Array;
  readonly codes: ReadonlyMap<CodeNo, number>;
  /** Scans of the range, without the filter: fewer than in the rollups when blocks have expired. */
  readonly all: number;
  /** Unreadable blocks. Their scans, of any time, are in no number here. */
  readonly damagedBlocks: number;
}

export interface RawScanCounter {
  /** @throws Failure overloaded, data_damaged, validation_failed (more than eleven years); Error when canceled */
  run(query: RawQuery): Promise<RawAnswer>;
}

/** Memory shared by the two threads of a query. */
export class RawControl {
  readonly shared: SharedArrayBuffer;
  readonly #words: Int32Array;

  constructor(shared: SharedArrayBuffer = new SharedArrayBuffer(4)) {
    this.shared = shared;
    this.#words = new Int32Array(shared);
  }

  cancel(): void {
    Atomics.store(this.#words, 0, 1);
  }
  get isCanceled(): boolean {
    return Atomics.load(this.#words, 0) === 1;
  }
}
