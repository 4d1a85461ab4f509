/** Shared by the parts of the analytics: the rows of a breakdown, and a filter by a row's key. */
export interface Row {
  readonly key: string;
  readonly scans: number;
}

export interface FilterProps {
  /** Key of the row that the page filters by. */
  readonly selected?: string | undefined;
  /** Filters by a key; undefined removes the filter. Absent if the page has no such filter. */
  readonly onSelect?: ((key: string | undefined) => void) | undefined;
}

export const sumOf = (rows: readonly Row[]): number =>
  rows.reduce((total, { scans }) => total + scans, 0);
