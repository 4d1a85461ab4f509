/** A question that is answered from raw scans, and its answer. */
import type { CodeNo, WorkspaceNo } from '../../../model/numbers.ts';
import type { Sketch } from '../../../model/sketch/sketch.ts';
import type { Stretch } from '../../../model/zones/local-range.ts';
import type { Counted } from '../../../store/scans/scans.ts';
import type { Rollup } from '../../rollup.ts';
import type { ScanFilter } from '../filter.ts';

export interface RawQuery {
  /** Whose it is: it has one query at a time. */
  readonly workspaceNo?: WorkspaceNo | undefined;
  /** Ascending; absent = all of the workspace. One of the two is there. */
  readonly codes?: Uint32Array | undefined;
  /** Whole quarters of an hour; ascending, none overlaps another. */
  readonly spans: readonly Stretch[];
  readonly filter: ScanFilter;
  /** Whether people's scans are told apart by route: those of one code alone can be. */
  readonly of: Counted;
  /** Cities and referer hosts; the rest is `other`. */
  readonly namesMax: number;
}

export interface RawAnswer {
  /** Of what matches. */
  readonly rollup: Rollup;
  readonly sketch: Sketch;
  /** Scans that match, of each span, by quarter of an hour from its beginning. */
  readonly quarters: readonly Float64Array[];
  /** Scans that match. */
  readonly codes: ReadonlyMap<CodeNo, number>;
  /** Scans of each span, whether they match or not: fewer than the rollups have, where blocks have expired. */
  readonly all: readonly number[];
}

export interface RawScanCounter {
  /**
   * @param onProgress told now and then which share of the blocks is done, 0 to 1
   * @throws Failure overloaded, data_damaged
   */
  run(
    query: RawQuery,
    onProgress?: (share: number) => void,
    signal?: AbortSignal,
  ): Promise<RawAnswer>;
}
