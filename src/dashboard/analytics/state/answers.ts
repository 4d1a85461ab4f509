/** The fields of the API's analytics that these pages read, alike for workspace, campaign and code. */

/** Absent from an answer that does not have it; null where it cannot be told, within its error, or not with a filter. */
type Count = number | null | undefined;

export interface Totals {
  readonly totalScans: number;
  readonly uniqueScanners: number;
  readonly newScanners?: Count;
  readonly returningScanners?: Count;
  /** Standard error of the two, in scanners. */
  readonly error?: Count;
  readonly previous?: Compared & {
    /** False when counting began within its days; absent = it did not. */
    readonly complete?: boolean;
  };
  readonly change?: Change;
}

/** Days that are compared. */
export interface Compared {
  readonly from: string;
  readonly to: string;
  /** Until when its scans are compared, `2026-10-28T01:45:00+01:00`; absent = its days are whole. */
  readonly until?: string;
}

/** As fractions; null from nothing. */
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
  /** Of a code or a campaign, whose key is an id. */
  readonly name?: string | null;
}

export interface Breakdown {
  readonly data: readonly Row[];
}
