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
  /** Ascending, none overlaps another; without one nothing is read. */
  readonly spans: readonly Stretch[];
  /**
   * Scans that the records have of each span, of the same codes, whether they match or not. Reading ends when they are
   * found, and goes on with all blocks that are kept where they are not.
   */
  readonly expected?: readonly number[] | undefined;
  /** All blocks that are kept are read: bots and people in vain are asked for, of whom nothing is expected. */
  readonly readsAll?: boolean | undefined;
  /** The last block that counts, of the snapshot of the caller's other numbers; absent = the newest. */
  readonly toSequence?: number | undefined;
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
  /** Blocks that could not be read. What they had is in no number here, and may have been of any time. */
  readonly damagedBlocks: number;
}

export interface RawScanCounter {
  /**
   * @param onProgress told now and then which share of the blocks is done, 0 to 1
   * @throws Failure overloaded, data_damaged, validation_failed (more than eleven years); the signal's reason
   */
  run(
    query: RawQuery,
    onProgress?: (share: number) => void,
    signal?: AbortSignal,
  ): Promise<RawAnswer>;
}
