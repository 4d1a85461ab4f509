/** Selects scans by their counted values, each in the word that is a breakdown's key. */
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
  /** Routes of one code, 0 to 58: labels differ between codes. */
  readonly routes?: readonly number[] | undefined;
}

export const isEmptyFilter = (filter: ScanFilter): boolean =>
  Object.values(filter).every((value) => value === undefined);
