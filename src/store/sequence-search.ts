/** Finding a time in a table whose keys are numbers given in the order of time: log2 reads, no index. */
import type { Table } from './environment.ts';

/**
 * The first number in [from, to) whose value has been reached; `to` without one. Exact while each value after a
 * reached one is reached too. A number without a value, as one that was removed, is not reached.
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
    const value = table.get(middle);
    if (value !== undefined && isReached(value)) high = middle;
    else low = middle + 1;
  }
  return low;
}
