/** The fields of the API's analytics that these pages read, the same for workspace, campaign and code. */

/** Absent = not in this answer; null = unknown: smaller than its error, or not available with a filter. */
type Count = number | null | undefined;

export interface Totals {
  readonly totalScans: number;
  readonly uniqueScanners: number;
  readonly newScanners?: Count;
  readonly returningScanners?: Count;
  /** Standard error of both numbers, in scanners. */
  readonly error?: Count;
  readonly previous?: Compared & {
    /** False when counting began within its days; absent = it did not. */
    readonly complete?: boolean;
  };
  readonly change?: Change;
}

/** The compared days. */
export interface Compared {
  readonly from: string;
  readonly to: string;
  /** End of the compared time, `2026-10-28T01:45:00+01:00`; absent = whole days. */
  readonly until?: string;
}

/** As fractions; null = the earlier number is 0. */
export interface Change {
  readonly totalScans: number | null;
  readonly uniqueScanners: number | null;
}

export interface Point {
  readonly start: string;
  readonly scans: number;
}

export interface Series extends Compared {
  readonly data: readonly Point[];
  readonly previous?: Compared & { readonly data: readonly Point[] };
  readonly change?: Change;
}

export interface Row {
  readonly key: string;
  readonly scans: number;
  /** The name of a code or campaign, whose key is an id. */
  readonly name?: string | null;
}

export interface Breakdown {
  readonly data: readonly Row[];
}
