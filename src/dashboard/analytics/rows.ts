/** What the parts of the analytics have in common: the rows of a breakdown, and a filter by the key of one. */
export interface Row {
  readonly key: string;
  readonly scans: number;
}

export interface FilterProps {
  /** Key of the row that is filtered by. */
  readonly selected?: string | undefined;
  /** Filters by a key; undefined takes the filter away. Absent where nothing can be filtered. */
  readonly onSelect?: ((key: string | undefined) => void) | undefined;
}

export const sumOf = (rows: readonly Row[]): number =>
  rows.reduce((total, { scans }) => total + scans, 0);
