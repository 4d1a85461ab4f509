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
  /** Of the days compared with. */
  readonly previous?: {
    readonly totalScans?: Count;
    readonly uniqueScanners?: Count;
    /** False when counting began within them; absent = it did not. */
    readonly complete?: boolean;
  };
}

export interface Point {
  readonly start: string;
  readonly scans: number;
}

export interface Series {
  readonly data: readonly Point[];
  readonly previous?: { readonly data: readonly Point[] };
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

export const sumOf = (rows: ReadonlyArray<{ readonly scans: number }>): number =>
  rows.reduce((sum, { scans }) => sum + scans, 0);

/** A fraction; null from nothing. Undefined where one of the two is not known. */
export function changeOf(now: Count, before: Count): number | null | undefined {
  if (typeof now !== 'number' || typeof before !== 'number') return undefined;
  return before === 0 ? null : now / before - 1;
}
