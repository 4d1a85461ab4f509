/** Searches in tables whose numeric keys ascend with time: the newest, or a time by log2(n) reads without an index. */
import { readOr } from '../model/failure.ts';
import type { Table } from './environment.ts';

/** The highest number (below `end` if given); 0 in an empty table. */
export function newestNumber(table: Pick<Table<number, unknown>, 'keys'>, end?: number): number {
  const range = { reverse: true, limit: 1, ...(end !== undefined && { start: end - 1 }) };
  for (const key of table.keys(range)) return key;
  return 0;
}

/**
 * The first number in [from, to) whose value is reached; `to` without one. Exact if every value after a reached one
 * is reached too. A missing number is not reached; for a damaged value the number before it decides.
 */
export function firstReached<T>(
  table: Table<number, T>,
  { from, to }: { readonly from: number; readonly to: number },
  isReached: (value: T) => boolean,
): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (isReachedAt(table, middle, low, isReached)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Reads `number` or, while values are damaged, the numbers before it, down to `from`. */
function isReachedAt<T>(
  table: Table<number, T>,
  number: number,
  from: number,
  isReached: (value: T) => boolean,
): boolean {
  for (let at = number; at >= from; at--) {
    const reached = readOr(() => isReachedNow(table.get(at), isReached), 'damaged');
    if (reached !== 'damaged') return reached;
  }
  return false;
}

const isReachedNow = <T>(value: T | undefined, isReached: (value: T) => boolean): boolean =>
  value !== undefined && isReached(value);
