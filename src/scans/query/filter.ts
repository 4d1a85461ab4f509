/** What scans are asked for by what was counted of them; each by the word that a breakdown has as its key. */
export interface ScanFilter {
  /** Two letters. */
  readonly country?: string | undefined;
  /** With its country, "Chicago, US"; empty = unknown. */
  readonly city?: string | undefined;
  readonly device?: string | undefined;
  readonly os?: string | undefined;
  readonly browser?: string | undefined;
  /** A host; empty = none. */
  readonly referer?: string | undefined;
  /** Numbers of a code's label, 0 to 58; scans of several codes cannot be told apart by it. */
  readonly routes?: readonly number[] | undefined;
}

export const isEmptyFilter = (filter: ScanFilter): boolean =>
  Object.values(filter).every((value) => value === undefined);
