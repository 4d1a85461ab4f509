import type { DueEntry, DueTable } from '../../src/store/due-table.ts';

/** All timers of a table, oldest first. */
export const timersOf = <K extends Array<string | number>>(
  table: DueTable<K>,
): Array<DueEntry<K>> => table.due(2 ** 52, 1_000_000);
